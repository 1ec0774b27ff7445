/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "base/text/span.h"
#include "client/counters/counter_number.h"
#include "client/counters/polled_source.h"
#include "procfs/counters/cgroup_choice.h"
#include "procfs/counters/counter_files.h"

/*
 * Parses a file of a control group, in any of the formats:
 *
 *	4096                                        name ""         memory.current
 *	anon 4096                                   "anon"          memory.stat, cpu.stat
 *	254:0 rbytes=4096 wbytes=0                  "254:0 rbytes"  io.stat, memory.numa_stat
 *	some avg10=0.12 avg60=0.00 total=8          "some avg10"    pressure
 *
 * Words without a number ("max", an idle device) are skipped. Calls fn for every number. Returns 0,
 * or -EBADMSG if a part in another format was skipped.
 *
 * Format: Documentation/admin-guide/cgroup-v2.rst, "Format" and "Interface Files".
 */
int cgroup_text_parse(struct span text, counter_number_fn fn, void *ctx);

/*
 * The existing control groups, down to the deepest recorded level, each with its open files. Each
 * pass lists them again. The track of a group is below that of its parent.
 */

/* Limit of groups at one time; further groups are skipped and counted as errors. */
#define CGROUPS_MAX 8192
#define CGROUP_DEPTH_MAX 32

struct cgroup_file {
	struct counter_file file;
	struct counter_tracks tracks;
};

TAILQ_HEAD(cgroup_list, cgroup);

struct cgroup {
	struct cgroup *parent; /* NULL: the root */
	struct cgroup_list children;
	TAILQ_ENTRY(cgroup) sibling;
	char *path; /* owned; from the root of the hierarchy, which is "" */
	const char *name; /* last component of path */
	uint64_t inode; /* identifies the group: a group of the same name may replace it */
	uint32_t track;
	uint32_t depth;
	uint32_t below; /* levels below the root of its recorded subtree */
	uint32_t found_in; /* the last pass that found it */
	bool recorded;
	struct cgroup_file files[]; /* one for each file of the choice */
};

struct cgroup_tree {
	const struct cgroup_choice *choice; /* borrowed, as is poll */
	struct polled_source *poll;
	int fd; /* owned; directory of the root of the hierarchy */
	struct cgroup *root; /* owned */
	struct cgroup_list
		lost; /* owned; removed groups and their children, until they are freed */
	uint32_t n;
	bool limit_logged;
	bool list_error_logged;
};

/* Opens the root of the hierarchy, path. Returns 0 or -errno. Call deinit in either case. */
int cgroup_tree_init(struct cgroup_tree *t, const struct cgroup_choice *choice,
		     struct polled_source *poll, const char *path);
void cgroup_tree_deinit(struct cgroup_tree *t);

/* Lists the children of g: adds new ones and moves removed ones to lost. No-op if no descendant of
 * g may be recorded. */
void cgroup_tree_list_children(struct cgroup_tree *t, struct cgroup *g);
/* Frees removed groups, in pieces. Returns true while there are more; call it again before anything
 * else. */
#define CGROUP_DROP_PIECE 16
bool cgroup_tree_free_lost(struct cgroup_tree *t);
/* Returns the next group after g, parents before children; NULL after the last. */
struct cgroup *cgroup_tree_next(struct cgroup *g);
