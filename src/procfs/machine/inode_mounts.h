/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

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
