/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "client/counters/tracks.h"
#include "config/data_source_config.pb-c.h"
#include "client/counters/counter_number.h"
#include "procfs/counters/counter_files.h"
#include "client/counters/counter_poll.h"

/* What linux.cgroup_stats is asked to record: which groups, which files, which numbers. */

struct cgroup_choice {
	struct counter_patterns roots; /* without slashes at either end; "": the hierarchy's root */
	struct counter_patterns files;
	struct counter_patterns counters;
	unsigned levels; /* of the deepest root */
	uint32_t max_depth; /* below a root */
};

/* c may be NULL: the default. 0 or -ENOMEM; deinit in either case. */
int cgroup_choice_init(struct cgroup_choice *ch, const Pb__CgroupStatsConfig *c);
void cgroup_choice_deinit(struct cgroup_choice *ch);

/* Is it the root of a subtree that is recorded? path: "system.slice/x.service", "" for the root. */
bool cgroup_choice_is_root(const struct cgroup_choice *ch, const char *path);

/* Is a number wanted, and what is it? shown: "memory.stat anon", "memory.current". */
bool cgroup_choice_counter(const struct cgroup_choice *ch, const char *shown,
			   struct track_spec *ret_spec);

/*
 * The control groups that there are, as far down as something is recorded: found anew in each pass,
 * each with the files that are read of it. A group's track stands under its parent's.
 */

/* At a time; further ones are left out and counted as failed. */
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
	char *path; /* owned; from the root, "" for that */
	const char *name; /* the path's last part */
	uint64_t inode; /* another one: another group of the same name */
	uint32_t track;
	uint32_t depth;
	uint32_t below; /* levels below the root of a subtree that is recorded, if it is */
	uint32_t found_in; /* the last pass that found it */
	bool recorded;
	struct cgroup_file files[]; /* one for each of the choice */
};

struct cgroup_tree {
	const struct cgroup_choice *choice; /* borrowed, as is poll */
	struct counter_poll *poll;
	int fd; /* of the hierarchy's root; owned */
	struct cgroup *root; /* owned */
	struct cgroup_list
		lost; /* owned; groups that have gone, with all in them, until they end */
	uint32_t n;
	bool said_crowded;
	bool said_unlisted;
};

/* path: the hierarchy's root. 0 or -errno; deinit in either case. */
int cgroup_tree_init(struct cgroup_tree *t, const struct cgroup_choice *choice,
		     struct counter_poll *poll, const char *path);
void cgroup_tree_deinit(struct cgroup_tree *t);

/* Looks for the groups in g: new ones are added, those that have gone are lost. */
void cgroup_tree_list(struct cgroup_tree *t, struct cgroup *g);
/* What is lost ends, piece by piece: true, there is more, which must be before anything else. */
#define CGROUP_DROP_PIECE 16
bool cgroup_tree_drop(struct cgroup_tree *t);
/* The next one behind g, parents before children; NULL: g was the last. */
struct cgroup *cgroup_tree_next(struct cgroup *g);
