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
 * Where a device is mounted, from the text of /proc/self/mountinfo.
 *
 * Format: Documentation/filesystems/proc.rst of the kernel, 3.5.
 */

/* Mount points of one device that are named; a machine full of containers has thousands. */
#define INODE_MOUNTS_MAX 64
/* A path as it is escaped there. */
#define INODE_MOUNT_BYTES 16384

/* The device of a mount, by the mount's number (statx(2)): that of its super block, which events
 * have. Where a file system has several volumes (btrfs), stat(2) gives one of the volume instead.
 * False: there is no such mount. */
bool inode_mounts_device(const char *mountinfo, size_t len, uint64_t mount, dev_t *ret_device);
/* The next mount point of the device in *text, which moves behind it: its bytes are in name, without
 * an end. False: no more. */
bool inode_mounts_next(struct span *text, dev_t device, char name[static INODE_MOUNT_BYTES],
		       size_t *ret_len);
/* Adds a field (a string) for each mount point of the device. */
void inode_mounts_encode(struct pb_enc *e, uint32_t field, const char *mountinfo, size_t len,
			 dev_t device);

/* The folders that linux.inode_file_map walks: those that the config names, or those of a device. */

/* Of a config, and of a round. */
#define INODE_ROOTS_MAX 64

struct inode_root {
	char *mount_point; /* owned, as is path */
	char *path; /* the folder to walk */
};

/* Zero-initialise. */
struct inode_roots {
	struct inode_root rows[INODE_ROOTS_MAX];
	unsigned n;
	bool only_these; /* the config names mount points: others are not walked */
};

void inode_roots_deinit(struct inode_roots *r);
/* What the config names; tells what of that cannot be. 0 or -ENOMEM. */
int inode_roots_configure(struct inode_roots *r, const Pb__InodeFileConfig *c);
/* Adds those for a device: where it is mounted, by the text of mountinfo, or what `named` has in
 * place of that. Those that there is no room for are left out. 0 or -ENOMEM. */
int inode_roots_add_device(struct inode_roots *r, const struct inode_roots *named,
			   const char *mountinfo, size_t len, dev_t device);
