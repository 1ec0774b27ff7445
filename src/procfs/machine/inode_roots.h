/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "config/data_source_config.pb-c.h"

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
