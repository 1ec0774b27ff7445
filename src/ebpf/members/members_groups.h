/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "base/core/hash_table.h"
#include "subjects/cgroup_names.h"

struct event_base;

/*
 * The control groups of version 2 that threads are in, and what is to be written about them. Their
 * paths and names are those of subjects/cgroup_names.h, which gets the groups from the programs'
 * records and from a walk. A group is written when its path is known, and again when its container
 * has names.
 *
 * A group leaves the table once it was removed and has been written.
 */
#define MEMBER_GROUPS_MAX 65536 /* further ones are refused, as are the rows of their threads */

TAILQ_HEAD(member_group_list, group_entry);

struct group_entry {
	uint64_t id; /* key */
	UT_hash_handle hh;
	UT_hash_handle hh_path; /* only with a path; of groups with the same path, the newest */
	const char *path; /* borrowed from the names; NULL: unknown */
	TAILQ_ENTRY(group_entry) unwritten; /* with is_unwritten */
	bool is_unwritten, is_removed;
	uint32_t packet, index; /* its index in group_ids of that packet (members_packets.h) */
};

struct member_groups {
	struct cgroup_names *names; /* owned; NULL: no memory */
	struct group_entry *by_id, *by_path; /* owned by by_id */
	struct member_group_list unwritten; /* to be written to the trace */
	uint64_t refused; /* groups above the limit */
	bool is_walking;
	bool has_unknown; /* a group without a path was referenced since the last walk began */
};

/* Allocates the table of names. loop: for names that come later; borrowed, may be NULL. Returns 0
 * or -errno. Call deinit in either case. */
int member_groups_init(struct member_groups *g, const char *sys_root, struct event_base *loop);
void member_groups_deinit(struct member_groups *g);

/* Returns the group; adds it without a path if it is new. NULL: too many groups, or no memory. */
struct group_entry *member_groups_get(struct member_groups *g, uint64_t id);
/* Returns the group with the path, or NULL. */
struct group_entry *member_groups_find(struct member_groups *g, const char *path);
/* Adds a group. path: as the kernel wrote it into a record. */
void member_groups_add(struct member_groups *g, uint64_t id, uint64_t parent, const char *path);
/* Marks a group as removed. Its entry is freed when it has been written. */
void member_groups_remove(struct member_groups *g, uint64_t id);

/* Starts a walk over all groups that exist. */
void member_groups_begin_walk(struct member_groups *g);
/* Adds a group of the walk. Returns false at its end, and if there is none. */
bool member_groups_walk_step(struct member_groups *g);
/* Returns false if names of containers are still being read. */
bool member_groups_are_named(const struct member_groups *g);

/* Marks all groups as unwritten. */
void member_groups_mark_all_unwritten(struct member_groups *g);
/* Returns the next group that is to be written, or NULL. */
struct group_entry *member_groups_next_unwritten(const struct member_groups *g);
/* The group was written. It may be freed. */
void member_groups_mark_written(struct member_groups *g, struct group_entry *e);
