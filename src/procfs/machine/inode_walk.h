/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <dirent.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/text/str.h"

/*
 * Walks the files below a folder, one a call, without going to another device or through a link.
 * What it holds is bounded by the depth: a folder open on each level. Files may come and go
 * meanwhile.
 */

/* Folders in folders; what is deeper is left out, and counted. */
#define INODE_DEPTH_MAX 64

enum inode_type { INODE_OTHER, INODE_FILE, INODE_DIRECTORY };

struct inode_found {
	uint64_t inode;
	enum inode_type type;
	const char *path; /* borrowed until the next call; NUL-terminated */
	size_t path_len;
};

struct inode_level {
	DIR *dir; /* owned */
	size_t path_len; /* of the folder */
};

/* Zero-initialise. */
struct inode_walk {
	struct inode_level levels[INODE_DEPTH_MAX];
	unsigned depth;
	dev_t device;
	struct strbuf path;
	bool root_due; /* the folder itself was not given yet */
	uint64_t root_inode;
	uint64_t unreadable; /* folders, of all walks */
	uint64_t too_deep; /* likewise */
};

/* root: an absolute path. 0 with walk->device, or -errno. */
int inode_walk_begin(struct inode_walk *w, const char *root);
/* The next step. *ret_found.inode is 0 where it found nothing to tell. False: the walk is over. */
bool inode_walk_step(struct inode_walk *w, struct inode_found *ret_found);
/* Also in the middle. */
void inode_walk_end(struct inode_walk *w);
