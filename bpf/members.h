/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
#pragma once

#include <linux/types.h>

/* Which thread is in which control group of version 2: what members.bpf.c finds and
 * src/ebpf/members reads. The ring "members" has records of three kinds; the iterator each_member
 * writes struct member_row only. */
#define MEMBERS_RING (1024 * 1024)
#define MEMBERS_PATH 1024 /* as long as the paths of the kernel's own events; a power of two */

enum member_record {
	MEMBER_ROW = 1, /* struct member_row */
	MEMBER_GROUP, /* struct member_group: a new control group */
	MEMBER_GROUP_END, /* struct member_group without a path: it was removed */
};

/* A thread is in the group from that time on. */
struct member_row {
	__u32 type; /* MEMBER_ROW */
	__u32 tgid;
	__u64 time; /* ns of CLOCK_BOOTTIME */
	__u64 group; /* id of the control group */
	__u32 tid; /* 0: all threads of the process */
	__u32 unused;
};

struct member_group {
	__u32 type;
	__u32 unused;
	__u64 group;
	__u64 parent; /* 0: none */
	char path[MEMBERS_PATH]; /* only up to its NUL in the ring; cut if it is longer */
};
