/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "procfs/sys/sys_poll.h"

/*
 * The columns of /proc/diskstats that DiskStat has no field for, as counter tracks in a group for
 * each disk, with the names of Documentation/block/stat.rst of the kernel.
 */

/* Further ones are left out, as a file that could not be read. */
#define SYS_DISKS_MAX 2048
/* Numbers behind the name; later kernels may have more. */
#define SYS_DISK_COLUMNS 17

struct sys_disk;

/* Zero-initialise. */
struct sys_disks {
	struct sys_disk *all; /* owned */
	size_t n, cap;
	size_t next; /* behind the one that was found last: the kernel keeps their order */
	uint32_t pass;
	uint32_t group;
};

void sys_disks_deinit(struct sys_disks *d);

/* In each pass: first this, then each line, then the end, unless lines may be missing: disks that
 * have gone have nothing in flight from there on. */
void sys_disks_begin(struct sys_disks *d);
/* The n numbers of one disk. 0, -E2BIG or -ENOMEM. */
int sys_disks_set(struct sys_disks *d, struct sys_poll *p, struct span name, const uint64_t *v,
		  size_t n);
void sys_disks_end(struct sys_disks *d, struct sys_poll *p);
