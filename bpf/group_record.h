/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
#pragma once

/* Records of control groups of version 2 (struct member_group), for the programs that write them. */

#include "lost.h"
#include "members.h"

/* The stack of a program has 512 bytes. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct member_group);
} scratch SEC(".maps");

static __always_inline int is_version_2(struct cgroup *c)
{
	return c->root->hierarchy_id == 0;
}

/* Returns a record without a path; NULL: the group is none of version 2. */
static __always_inline struct member_group *group_record_begin(struct cgroup *c, __u32 type)
{
	__u32 zero = 0;
	struct member_group *g;

	if (!is_version_2(c))
		return NULL;
	g = bpf_map_lookup_elem(&scratch, &zero);
	if (!g)
		return NULL;
	g->type = type;
	g->unused = 0;
	g->group = c->kn->id;
	g->parent = 0;
	return g;
}

/* Adds the parent and the path. Returns the size of the record. */
static __always_inline __u64 group_record_add_path(struct member_group *g, struct cgroup *c,
						   const char *path)
{
	__u64 n;

	if (c->level > 0)
		g->parent = cgroup_id_at(c, c->level - 1);
	n = bpf_probe_read_kernel_str(g->path, MEMBERS_PATH, path);
	/* The mask is for the verifier. */
	n = (n - 1) & (MEMBERS_PATH - 1);
	return offsetof(struct member_group, path) + n + 1;
}
