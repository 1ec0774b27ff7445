/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
#pragma once

/*
 * Checks whether a thread is in a control group of the scope, or below one. Included by common.h.
 * The ancestors of a control group never change, and its id is not reused. So the ancestors are
 * walked once for each group and the answer is cached. Programs get the ids of the groups, not
 * their depths: a depth depends on the cgroup namespace.
 */

#include "cgroup_name_hash.h"

#define CGROUP_LEVELS 32 /* deeper groups are not matched */
#define CGROUP_PATH_MAX 1024 /* as long as the paths of the kernel's own events */

/* Ids of the control groups in the config. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, __u64);
	__type(value, __u8);
} sonda_cgroups SEC(".maps");

/* Ids of checked groups, and whether they are in the scope. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 4096);
	__type(key, __u64);
	__type(value, __u8);
} sonda_cgroups_seen SEC(".maps");

static __always_inline int keep_answer(__u64 id, __u8 is_in)
{
	bpf_map_update_elem(&sonda_cgroups_seen, &id, &is_in, BPF_ANY);
	return is_in;
}

static __always_inline __u64 cgroup_id_at(struct cgroup *c, __u32 level)
{
	struct cgroup___before_6_1 *old = (void *)c;
	struct cgroup *at = NULL;
	__u64 id = 0;

	if (bpf_core_field_exists(c->ancestors)) {
		bpf_probe_read_kernel(&at, sizeof(at),
				      (void *)c + bpf_core_field_offset(c->ancestors) +
					      level * sizeof(at));
		return BPF_CORE_READ(at, kn, id);
	}
	bpf_probe_read_kernel(&id, sizeof(id),
			      (void *)c + bpf_core_field_offset(old->ancestor_ids) +
				      level * sizeof(id));
	return id;
}

/* A function of its own: its variables would not fit on the stack of every caller. */
static __noinline int find_above(struct cgroup *c, __u64 id, int level)
{
	__u64 above;

	for (int i = 0; i < CGROUP_LEVELS; i++) {
		if (i > level)
			break;
		above = cgroup_id_at(c, i);
		if (bpf_map_lookup_elem(&sonda_cgroups, &above))
			return keep_answer(id, 1);
	}
	return keep_answer(id, 0);
}

static __always_inline int is_task_in_cgroups(struct task_struct *t)
{
	struct cgroup *c = t->cgroups->dfl_cgrp;
	__u64 id = c->kn->id;
	__u8 *known = bpf_map_lookup_elem(&sonda_cgroups_seen, &id);

	return known ? *known : find_above(c, id, c->level);
}

#ifndef SONDA_NO_BTF
static __always_inline int is_current_in_cgroups(void)
{
	struct task_struct *t = (struct task_struct *)bpf_get_current_task();
	struct cgroup *c;
	__u8 *known;
	__u64 id;

	if (settings.switches & SONDA_TYPED_CURRENT)
		return is_task_in_cgroups(bpf_get_current_task_btf());
	c = BPF_CORE_READ(t, cgroups, dfl_cgrp);
	id = BPF_CORE_READ(c, kn, id);
	known = bpf_map_lookup_elem(&sonda_cgroups_seen, &id);
	return known ? *known : find_above(c, id, BPF_CORE_READ(c, level));
}
#else
/* Uses helpers, which Linux 5.10 lacks for these programs: without BTF fields cannot be read. */
static __always_inline int is_current_in_cgroups(void)
{
	__u64 id = bpf_get_current_cgroup_id(), above;
	__u8 *known = bpf_map_lookup_elem(&sonda_cgroups_seen, &id);

	if (known)
		return *known;
	for (int i = 0; i < CGROUP_LEVELS; i++) {
		above = bpf_get_current_ancestor_cgroup_id(i);
		if (!above)
			break;
		if (bpf_map_lookup_elem(&sonda_cgroups, &above))
			return keep_answer(id, 1);
	}
	return keep_answer(id, 0);
}
#endif

#ifndef SONDA_NO_BTF
/* Hashes (cgroup_name_hash.h) of the paths, and of the last parts of paths, of groups of the scope. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, __u64);
	__type(value, __u8);
} sonda_awaited SEC(".maps");

/* A new group whose name is in the scope is added before it has a thread. */
SEC("tp_btf/cgroup_mkdir")
int BPF_PROG(on_awaited_group, struct cgroup *c, const char *path)
{
	__u64 whole = CGROUP_HASH_BEGIN, last = CGROUP_HASH_BEGIN, id = c->kn->id;
	const __u8 yes = 1;
	__u8 byte;

	if (c->root->hierarchy_id != 0)
		return 0;
	for (int i = 0; i < CGROUP_PATH_MAX; i++) {
		byte = 0;
		bpf_probe_read_kernel(&byte, sizeof(byte), path + i);
		if (!byte)
			break;
		whole = cgroup_hash_add(whole, byte);
		last = byte == '/' ? CGROUP_HASH_BEGIN : cgroup_hash_add(last, byte);
	}
	if (bpf_map_lookup_elem(&sonda_awaited, &whole) ||
	    bpf_map_lookup_elem(&sonda_awaited, &last))
		bpf_map_update_elem(&sonda_cgroups, &id, &yes, BPF_ANY);
	return 0;
}
#endif
