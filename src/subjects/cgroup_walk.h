/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <dirent.h>
#include <stdbool.h>
#include <stdint.h>

/* The hierarchies of control groups of this machine, and a walk over one of them. Only directories
 * are opened; a name is a group by the type of its entry. */
#define CGROUP_WALK_DEPTH 64 /* deeper groups are left out */
#define CGROUP_PATH_MAX 4096 /* with a NUL; groups with longer paths are left out */

struct cgroup_mount {
	char path[256]; /* where it is mounted */
	bool is_v2;
	const char *threads; /* the file with a group's threads */
};

/* Finds the n-th hierarchy: 0 is version 2, in fs/cgroup or in fs/cgroup/unified; then come those
 * of version 1 that a manager or a runtime makes groups in, systemd's first. Returns false if there
 * is none; with n = 0 there may still be others. */
bool cgroup_mount_find(const char *sys_root, unsigned n, struct cgroup_mount *ret);
#define CGROUP_MOUNTS_MAX 6

struct cgroup_walk {
	struct {
		DIR *dir;
		uint64_t id;
		size_t len; /* of its path */
	} levels[CGROUP_WALK_DEPTH]; /* owned: the open directories, the root first */
	unsigned n;
	char path[CGROUP_PATH_MAX]; /* of the last group: "/" is the root */
	uint64_t id, parent; /* of the last group: inodes; the root has no parent: 0 */
	unsigned left_out; /* groups that exceed a limit */
	bool is_begun;
};

/* Begins a walk. dir: of the hierarchy, or of a group in it, which is then "/". Returns 0 or
 * -errno. */
int cgroup_walk_begin(struct cgroup_walk *w, const char *dir);
/* Goes on to the next group, parents before children. Returns false after the last one. */
bool cgroup_walk_next(struct cgroup_walk *w);
/* Returns the descriptor of the last group's directory, which stays open until the next step; -1 if
 * there is none. */
int cgroup_walk_fd(const struct cgroup_walk *w);
/* Ends the walk, complete or not. May be called again. */
void cgroup_walk_end(struct cgroup_walk *w);
