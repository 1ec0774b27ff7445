/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "procfs/counters/cgroup_choice.h"
#include "procfs/counters/counter_files.h"
#include "client/counters/counter_poll.h"

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
