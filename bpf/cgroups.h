/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
#pragma once

/*
 * Checks whether a thread is in a control group of the scope, or below one. Included by common.h.
 * The ancestors of a control group never change, and its id is not reused. So the ancestors are
 * walked once for each group and the answer is cached. Groups are added to the scope, but never
 * removed: the answer "in" is final, while "not in" is valid until the reader adds a group that
 * already has threads, or groups below it. Programs get the ids of the groups, not their depths: a
 * depth depends on the cgroup namespace.
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

#define CGROUP_IS_IN (~0u)

/* Ids of checked groups: CGROUP_IS_IN, or the edition of the scope that does not have them. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 4096);
	__type(key, __u64);
	__type(value, __u32);
} sonda_cgroups_seen SEC(".maps");

/* The edition of the scope: the reader increments it after it has added a group. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u32);
} sonda_cgroups_edition SEC(".maps");

/* Reads the edition of the scope, before the scope itself, so that an answer from an older edition
 * is never stored as a newer one. */
static __always_inline __u32 read_scope_edition(void)
{
	__u32 zero = 0, *edition = bpf_map_lookup_elem(&sonda_cgroups_edition, &zero);

	return edition ? *(volatile __u32 *)edition : 0;
}

/* Returns 1 or 0 if the answer for the group is known, else -1. */
static __always_inline int find_cached_answer(__u64 id, __u32 edition)
{
	__u32 *known = bpf_map_lookup_elem(&sonda_cgroups_seen, &id);

	if (!known)
		return -1;
	return *known == CGROUP_IS_IN ? 1 : *known == edition ? 0 : -1;
}

static __always_inline int cache_answer(__u64 id, __u32 edition, int is_in)
{
	__u32 answer = is_in ? CGROUP_IS_IN : edition;

	bpf_map_update_elem(&sonda_cgroups_seen, &id, &answer, BPF_ANY);
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

/* Returns true for a group below one of the scope's. A function of its own: its variables would not
 * fit on the stack of every caller. */
static __noinline int is_below_cgroups(struct cgroup *c, int level)
{
	__u64 above;

	for (int i = 0; i < CGROUP_LEVELS; i++) {
		if (i > level)
			break;
		above = cgroup_id_at(c, i);
		if (bpf_map_lookup_elem(&sonda_cgroups, &above))
			return 1;
	}
	return 0;
}

static __always_inline int is_task_in_cgroups(struct task_struct *t)
{
	struct cgroup *c = t->cgroups->dfl_cgrp;
	__u32 edition = read_scope_edition();
	__u64 id = c->kn->id;
	int known = find_cached_answer(id, edition);

	return known >= 0 ? known : cache_answer(id, edition, is_below_cgroups(c, c->level));
}

#ifndef SONDA_NO_BTF
static __always_inline int is_current_in_cgroups(void)
{
	struct task_struct *t = (struct task_struct *)bpf_get_current_task();
	__u32 edition = read_scope_edition();
	struct cgroup *c;
	__u64 id;
	int known;

	if (settings.switches & SONDA_TYPED_CURRENT)
		return is_task_in_cgroups(bpf_get_current_task_btf());
	c = BPF_CORE_READ(t, cgroups, dfl_cgrp);
	id = BPF_CORE_READ(c, kn, id);
	known = find_cached_answer(id, edition);
	if (known >= 0)
		return known;
	return cache_answer(id, edition, is_below_cgroups(c, BPF_CORE_READ(c, level)));
}

/* Like is_current_in_cgroups(), for programs that may interrupt others: they cache no answer,
 * because the LRU has locks. They run too rarely for the walk to matter. */
static __always_inline int is_interrupted_in_cgroups(void)
{
	struct task_struct *t = (struct task_struct *)bpf_get_current_task();
	struct cgroup *c = BPF_CORE_READ(t, cgroups, dfl_cgrp);

	return is_below_cgroups(c, BPF_CORE_READ(c, level));
}
#else
/* Like is_current_in_cgroups() above, without BTF: fields cannot be read, so helpers return the
 * ids. Linux 5.10 lacks these helpers for programs that may interrupt others. */
static __always_inline int is_current_in_cgroups(void)
{
	__u64 id = bpf_get_current_cgroup_id(), above;
	__u32 edition = read_scope_edition();
	int known = find_cached_answer(id, edition);

	if (known >= 0)
		return known;
	for (int i = 0; i < CGROUP_LEVELS; i++) {
		above = bpf_get_current_ancestor_cgroup_id(i);
		if (!above)
			break;
		if (bpf_map_lookup_elem(&sonda_cgroups, &above))
			return cache_answer(id, edition, 1);
	}
	return cache_answer(id, edition, 0);
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

/* Adds a new group whose name is in the scope to the scope, before it has a thread. */
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
