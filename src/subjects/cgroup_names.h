/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "subjects/cgroup_path.h"
#include "subjects/cgroup_walk.h"

struct event_base;

/*
 * The control groups of this machine with what is known about them: one row for each group, from
 * its path (cgroup_path.h) and from the files of the container runtimes (name_reader.h).
 *
 *	cgroup_names_new(&options, &n)
 *	while (cgroup_names_walk_step(n))         the groups that exist; or all at once in a coroutine
 *		...
 *	cgroup_names_add(n, id, ...)         a group that was made later
 *	     ... options.named(ctx, row)     once for each group, when its names are known, or are not
 *	                                     to be found
 *
 * A container's names are read once. Files appear after the group, so what was not found is read
 * again once, after a second.
 */
#define CGROUP_NAMES_MAX 65536 /* groups; further ones are left out */

struct cgroup_row {
	uint64_t id; /* inode; in version 2 also the id in BPF programs and kernel events */
	uint64_t parent; /* 0: the root, or unknown */
	const char *path; /* below the mount, "/" is the root: bytes, not necessarily UTF-8 */
	enum cgroup_kind kind;
	enum cgroup_runtime runtime;
	/* Valid names of at most 256 bytes (UTF-8 without control characters); "": unknown. */
	const char *container; /* id, or the name if the runtime has no ids */
	const char *name; /* of the container or machine */
	const char *image;
	const char *pod;
	const char *namespace; /* of the pod, or of containerd */
	const char *pod_uid;
	const char *unit;
	const char *invocation; /* id of this run of the unit: 32 hexadecimal digits */
	bool is_named; /* nothing is being read for it any more */
};

struct cgroup_names_options {
	struct event_base *loop; /* borrowed; NULL: no second reading, answers come in _wait() */
	const struct cgroup_mount *mount; /* copied */
	void (*named)(void *ctx, const struct cgroup_row *row); /* NULL: not called */
	void *ctx;
};

struct cgroup_names;

/* Returns 0 or -errno. Without the processes of name_reader.h rows contain only what their paths
 * reveal. */
int cgroup_names_new(const struct cgroup_names_options *o, struct cgroup_names **ret);
void cgroup_names_free(struct cgroup_names *n);

/* Adds the next group of the tree that has no row. Returns false after the last one; the next call
 * walks again. */
bool cgroup_names_walk_step(struct cgroup_names *n);
/* Adds a group. Returns its row, which may be an existing one; or NULL if memory or rows run
 * out. */
const struct cgroup_row *cgroup_names_add(struct cgroup_names *n, uint64_t id, uint64_t parent,
					  const char *path);
/* Waits until all names are read, for at most `ms`; files are not read a second time. Call it in a
 * coroutine; the loop keeps running. Returns false on a timeout. */
bool cgroup_names_wait(struct cgroup_names *n, unsigned ms);

const struct cgroup_row *cgroup_names_find(const struct cgroup_names *n, uint64_t id);
/* Visits the rows in the order in which they were added; NULL: the first. Returns NULL at the
 * end. */
const struct cgroup_row *cgroup_names_next(const struct cgroup_names *n,
					   const struct cgroup_row *row);
/* Returns how many groups were left out. */
unsigned cgroup_names_count_left_out(const struct cgroup_names *n);
