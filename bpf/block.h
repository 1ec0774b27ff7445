/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
#pragma once

#include "histogram.h"

/* The family "block": what block.bpf.c counts and src/ebpf/families/block.c reads. */

#define BLOCK_DISK_NAME 32 /* DISK_NAME_LEN of the kernel */

/* Indices in sonda_settings.fields: three fields of each of the five events, then fields of one
 * event. */
enum block_event { BLOCK_INSERT, BLOCK_ISSUE, BLOCK_REQUEUE, BLOCK_MERGE, BLOCK_COMPLETE };
#define BLOCK_DEV(event) ((event)*3)
#define BLOCK_SECTOR(event) ((event)*3 + 1)
#define BLOCK_RWBS(event) ((event)*3 + 2)
#define BLOCK_BYTES 15 /* of block/block_rq_issue */
#define BLOCK_DONE 16 /* of block/block_rq_complete; in sectors of 512 bytes */
#define BLOCK_ERROR 17

enum block_op {
	BLOCK_READ,
	BLOCK_WRITE,
	BLOCK_DISCARD, /* also secure erase and write zeroes: no data is transferred */
	BLOCK_FLUSH,
	BLOCK_OPS,
};

/* The hash "disks", one element per disk and operation. */
struct block_key {
	__u32 disk; /* major << 20 | minor, as in the kernel */
	__u32 op; /* enum block_op */
};

struct block_disk {
	char name[BLOCK_DISK_NAME]; /* empty if records lack it */
	__u64 begun, ended; /* requests */
	__u64 bytes;
	struct sonda_max latency_max; /* ns */
	struct sonda_hist latency; /* ns, from the issue to the driver to the completion */
	__u64 latency_ns; /* sum of them */
};

/* The hash "processes", by tgid. */
struct block_process {
	__u64 begun, ended; /* requests */
	__u64 read, written; /* bytes */
	__u64 alive; /* a time of CLOCK_BOOTTIME at which the process existed */
};

/* The single value of the per-CPU array "lost": what was not counted because a map was full. */
struct block_lost {
	__u64 requests, disks, processes;
};

#define BLOCK_DISKS_MAX 256
