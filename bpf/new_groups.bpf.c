/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * New control groups of version 2, for containers whose names are only in files of the container
 * runtime. The reader identifies a group while its first processes already run. Until then the
 * programs that they execute are only counted: they are missing from the recording of the group.
 */
#include "common.h"

#include "group_record.h"
#include "new_groups.h"

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, NEW_GROUPS_RING);
} new_groups SEC(".maps");

/* Groups that the reader has not yet named, and how many programs were executed in each. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, NEW_GROUPS_UNNAMED);
	__type(key, __u64);
	__type(value, __u64);
} unnamed SEC(".maps");

SEC("tp_btf/cgroup_mkdir")
int BPF_PROG(on_mkdir, struct cgroup *c, const char *path)
{
	struct member_group *g = group_record_begin(c, MEMBER_GROUP);
	__u64 id, none = 0;

	if (!g)
		return 0;
	id = g->group;
	bpf_map_update_elem(&unnamed, &id, &none, BPF_ANY);
	if (bpf_ringbuf_output(&new_groups, g, group_record_add_path(g, c, path),
			       BPF_RB_FORCE_WAKEUP) != 0)
		count_lost();
	return 0;
}

SEC("tp_btf/sched_process_exec")
int BPF_PROG(on_exec, struct task_struct *t)
{
	__u64 id = t->cgroups->dfl_cgrp->kn->id;
	__u64 *n = bpf_map_lookup_elem(&unnamed, &id);

	if (n)
		__sync_fetch_and_add(n, 1);
	return 0;
}
