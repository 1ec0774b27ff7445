/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <dirent.h>
#include <sys/types.h>

#include "base/text/str.h"

/*
 * The requested inodes: files that events named by inode. Each is searched once, in the pass that
 * begins after its request:
 *
 *	add --> waiting --pass--> sought --take--> written
 *	                             \--end of the pass--> not found
 */

/* Limit of requests (about 90 bytes each); further ones are dropped. */
#define INODE_REQUESTS_MAX 65536u
/* Limit of devices in one pass. */
#define INODE_DEVICES_MAX 64u

struct inode_requests_entry;

/* Zero-initialise. */
struct inode_requests {
	struct inode_requests_entry *entries; /* owned; a hash table by device and inode */
	size_t waiting;
	size_t sought;
	uint64_t written;
	uint64_t not_there;
	uint64_t dropped; /* requests above the limit */
};

void inode_requests_deinit(struct inode_requests *w);
/* Adds a request; no-op if it exists. */
void inode_requests_add(struct inode_requests *w, uint64_t device, uint64_t inode);
/* Starts a pass with all waiting requests. Returns the number of their devices. */
unsigned inode_requests_begin(struct inode_requests *w,
			      uint64_t ret_devices[static INODE_DEVICES_MAX]);
/* Returns true if the inode is sought in this pass; it counts as written from then on. */
bool inode_requests_take(struct inode_requests *w, uint64_t device, uint64_t inode);
/* Ends a pass: inodes that are still sought are counted in not_there. */
void inode_requests_end(struct inode_requests *w);

/*
 * Walks the files below a directory, one for each call, without entering other devices or following
 * links. It keeps one open directory for each level. Files may be created or removed meanwhile.
 */

/* Limit of nested directories; deeper ones are skipped and counted. */
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
	size_t path_len; /* length of the path of the directory */
};

/* Zero-initialise. */
struct inode_walk {
	struct inode_level levels[INODE_DEPTH_MAX];
	unsigned depth;
	dev_t device;
	struct strbuf path;
	bool root_due; /* the root directory itself was not returned yet */
	uint64_t root_inode;
	uint64_t unreadable; /* directories that could not be read, in all walks */
	uint64_t too_deep; /* directories nested deeper than the limit, in all walks */
};

/* Ends an active walk. root: an absolute path. Returns 0 and sets w->device, or -errno. */
int inode_walk_begin(struct inode_walk *w, const char *root);
/*
 * Runs the next step. ret_found->inode is 0 if it found nothing. Returns false at the end of the
 * walk.
 */
bool inode_walk_step(struct inode_walk *w, struct inode_found *ret_found);
/* Ends a walk, complete or not. */
void inode_walk_end(struct inode_walk *w);
