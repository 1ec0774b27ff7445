/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "base/core/hash_table.h"

/*
 * The control groups of version 2 that exist, by id and by path: those of records of the programs,
 * and those that a walk finds. The walk lists one directory a step. A group whose parent is known
 * has its path below the parent's, so in a cgroup namespace all paths begin at its root.
 *
 * A group leaves the table when it was removed and has been written.
 */
#define MEMBER_GROUPS_MAX 65536 /* further ones are refused, as are the rows of their threads */

TAILQ_HEAD(member_group_list, group_entry);

struct group_entry {
	uint64_t id; /* key */
	UT_hash_handle hh;
	UT_hash_handle hh_path; /* only with a path; of groups with one path the newest */
	uint64_t parent; /* 0: none, or unknown */
	char *path; /* owned; NULL: unknown */
	TAILQ_ENTRY(group_entry) unwritten; /* with is_unwritten */
	TAILQ_ENTRY(group_entry) unlisted; /* with is_unlisted */
	bool is_unwritten, is_unlisted;
	bool is_removed;
	uint32_t packet, index; /* its index in group_ids of that packet (members_packets.h) */
};

struct member_groups {
	int mount; /* owned; -errno: version 2 is not mounted */
	struct group_entry *by_id, *by_path; /* owned by by_id */
	struct member_group_list unwritten; /* to be written to the trace */
	struct member_group_list unlisted; /* directories that the walk has still to list */
	uint64_t refused; /* groups above the limit */
	bool has_unknown; /* a group without a path was referenced since the last walk began */
};

/* Finds the mount point. Never fails: without a mount point, groups have paths by records only. */
void member_groups_init(struct member_groups *g, const char *sys_root);
void member_groups_deinit(struct member_groups *g);

/* Returns the group; adds it without a path if it is new. NULL: too many groups, or no memory. */
struct group_entry *member_groups_get(struct member_groups *g, uint64_t id);
/* Returns the group with the path, or NULL. */
struct group_entry *member_groups_find(struct member_groups *g, const char *path);
/* Adds a group, or its path and parent. path: as the kernel wrote it into a record. */
void member_groups_add(struct member_groups *g, uint64_t id, uint64_t parent, const char *path);
void member_groups_remove(struct member_groups *g, uint64_t id);

/* Starts a walk over all directories. */
void member_groups_walk(struct member_groups *g);
/* Lists one directory. Returns false if there is none left. */
bool member_groups_walk_step(struct member_groups *g);

/* Marks all groups as unwritten. */
void member_groups_write_again(struct member_groups *g);
/* Returns the next group that is unwritten and has a path, or NULL. */
struct group_entry *member_groups_next_unwritten(const struct member_groups *g);
/* The group was written. It may be freed. */
void member_groups_written(struct member_groups *g, struct group_entry *e);
