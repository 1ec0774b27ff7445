/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The files that events have named by number, and which of them have a path yet. Each is looked for
 * once, in the round that begins after it was named:
 *
 *	add --> waiting --round--> sought --take--> told
 *	                             \--end of the round--> not there
 */

/* Of more the paths are not looked for. About 90 bytes each. */
#define INODE_WANTED_MAX 65536u
/* Devices of one round. */
#define INODE_DEVICES_MAX 64u

struct inode_wanted_entry;

/* Zero-initialise. */
struct inode_wanted {
	struct inode_wanted_entry *entries; /* owned; by device and inode */
	size_t waiting;
	size_t sought;
	uint64_t told;
	uint64_t not_there;
	uint64_t dropped; /* for want of room */
};

void inode_wanted_deinit(struct inode_wanted *w);
/* One that is known is left as it is. */
void inode_wanted_add(struct inode_wanted *w, uint64_t device, uint64_t inode);
/* Those that wait are sought now. Gives how many devices they are on. */
unsigned inode_wanted_begin(struct inode_wanted *w, uint64_t ret_devices[static INODE_DEVICES_MAX]);
/* True: it is sought, and is told now. */
bool inode_wanted_take(struct inode_wanted *w, uint64_t device, uint64_t inode);
/* What is still sought is not there. */
void inode_wanted_end(struct inode_wanted *w);
