/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <dirent.h>
#include <sys/types.h>

#include "base/text/str.h"

/*
 * The files that events have named by number, and which of them have a path yet. Each is looked for
 * once, in the round that begins after it was named:
 *
 *	add --> waiting --round--> sought --take--> told
 *	                             \--end of the round--> not there
 */

/* Of more the paths are not looked for. About 90 bytes each. */
#define INODE_REQUESTS_MAX 65536u
/* Devices of one round. */
#define INODE_DEVICES_MAX 64u

struct inode_requests_entry;

/* Zero-initialise. */
struct inode_requests {
	struct inode_requests_entry *entries; /* owned; by device and inode */
	size_t waiting;
	size_t sought;
	uint64_t told;
	uint64_t not_there;
	uint64_t dropped; /* for want of room */
};

void inode_requests_deinit(struct inode_requests *w);
/* One that is known is left as it is. */
void inode_requests_add(struct inode_requests *w, uint64_t device, uint64_t inode);
/* Those that wait are sought now. Gives how many devices they are on. */
unsigned inode_requests_begin(struct inode_requests *w,
			      uint64_t ret_devices[static INODE_DEVICES_MAX]);
/* True: it is sought, and is told now. */
bool inode_requests_take(struct inode_requests *w, uint64_t device, uint64_t inode);
/* What is still sought is not there. */
void inode_requests_end(struct inode_requests *w);

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
