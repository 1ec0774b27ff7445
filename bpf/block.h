/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
#pragma once

#include "histogram.h"

/* The family "block": what block.bpf.c counts and src/ebpf/block.c reads. */

#define BLOCK_DISK_NAME 32 /* DISK_NAME_LEN of the kernel */

enum block_op {
	BLOCK_READ,
	BLOCK_WRITE,
	BLOCK_DISCARD, /* also secure erase and write zeroes: no data goes to the device */
	BLOCK_FLUSH,
	BLOCK_OPS,
};

/* The hash "disks", one element for a disk and operation. */
struct block_key {
	__u32 disk; /* major << 20 | minor, as in the kernel */
	__u32 op; /* enum block_op */
};

struct block_disk {
	char name[BLOCK_DISK_NAME];
	__u64 begun, ended; /* requests */
	__u64 bytes;
	struct sonda_max latency_max; /* ns */
	struct sonda_hist latency; /* ns, from the issue to the driver until it is complete */
};

/* The hash "processes", by tgid. */
struct block_process {
	__u64 begun, ended; /* requests */
	__u64 read, written; /* bytes */
};

/* The only value of the per-CPU array "lost": what there was no room for. */
struct block_lost {
	__u64 requests, disks, processes;
};

#define BLOCK_DISKS_MAX 256
