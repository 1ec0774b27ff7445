/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "config/data_source_config.pb-c.h"

struct pb_enc;
struct span;

/*
 * Finds the mount points of a device in the text of /proc/self/mountinfo.
 *
 * Format: Documentation/filesystems/proc.rst of the kernel, 3.5.
 */

/*
 * Limit of mount points that are written for a device; a machine with many containers has
 * thousands.
 */
#define INODE_MOUNTS_MAX 64
/* Maximum size of an escaped path. */
#define INODE_MOUNT_BYTES 16384

/*
 * Finds the device of a mount by its mount id (statx(2)): that of the super block, as in events.
 * stat(2) returns the device of a subvolume instead if a file system has several (btrfs). Returns
 * false if there is no such mount.
 */
bool inode_mounts_device(const char *mountinfo, size_t len, uint64_t mount, dev_t *ret_device);
/* Writes a string field for each mount point of the device. */
void inode_mounts_encode(struct pb_enc *e, uint32_t field, const char *mountinfo, size_t len,
			 dev_t device);

/* The directories that linux.inode_file_map walks: those of the config, or those of a device. */

/* Limit of directories in a config, and in a pass. */
#define INODE_ROOTS_MAX 64

struct inode_root {
	char *mount_point; /* owned, as is path */
	char *path; /* the directory to walk */
};

/* Zero-initialise. */
struct inode_roots {
	struct inode_root rows[INODE_ROOTS_MAX];
	unsigned n;
	bool only_these; /* only mount points of the config are walked */
};

void inode_roots_deinit(struct inode_roots *r);
/* Takes the directories of the config; logs invalid entries. Returns 0 or -ENOMEM. */
int inode_roots_configure(struct inode_roots *r, const Pb__InodeFileConfig *c);
/*
 * Adds the directories of a device: its mount points in the text of mountinfo, or the directories
 * that `named` has for them. Directories above the limit are dropped. Returns 0 or -ENOMEM.
 */
int inode_roots_add_device(struct inode_roots *r, const struct inode_roots *named,
			   const char *mountinfo, size_t len, dev_t device);
