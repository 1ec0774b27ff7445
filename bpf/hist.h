/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
#pragma once

#include <linux/types.h>

/*
 * A histogram of a field of any event, or of the time from one event to another, by key: what
 * hist.bpf.c counts and src/ebpf/histograms reads. Programs and reader include this file.
 *
 * Buckets of a histogram by powers of two:
 *
 *	v < 0      bucket 0
 *	v = 0      bucket 1
 *	else       bucket 2 + e, with e the highest bit of v: 2^e <= v < 2^(e + 1)
 *
 * Linear ones have n_steps buckets of equal width, from 1 on; smaller values are in bucket 0,
 * larger ones in bucket n_steps + 1.
 */
#define HIST_BUCKETS 256
#define HIST_LOG2_BUCKETS 66
#define HIST_STEPS_MAX (HIST_BUCKETS - 2)
#define HIST_KEY_SIZE 16 /* bytes of a text with its NUL; a number is in the first 8 */
#define HIST_MATCHES 2 /* fields that both events of a time have */
#define HIST_BEGUN 16384 /* begins that wait for their ends */

enum hist_key_kind {
	HIST_BY_NOTHING,
	HIST_BY_COMM, /* name of the running thread */
	HIST_BY_PID, /* id of its process */
	HIST_BY_TID,
	HIST_BY_CGROUP, /* id of its control group of version 2 */
	HIST_BY_CPU,
	HIST_BY_NUMBER, /* a field */
	HIST_BY_TEXT, /* a field: an array of char */
};

/* A field of an event's record, from its format file. */
struct hist_field {
	__u16 offset;
	__u8 size; /* bytes: 1, 2, 4 or 8; of a text up to HIST_KEY_SIZE */
	__u8 is_signed;
};

/* The section .rodata.hist. */
struct hist_settings {
	struct hist_field value; /* not used for times */
	struct hist_field key; /* of the event, or of the event at which the measured time begins */
	struct hist_field begin[HIST_MATCHES], end[HIST_MATCHES];
	__u32 key_kind; /* enum hist_key_kind */
	__u32 n_matches; /* 0: a time begins and ends on the same thread */
	__u32 n_steps; /* 0: powers of two */
	__u32 unused;
	__s64 min; /* where the first step begins */
	__u64 step; /* width */
};

struct hist_key {
	union {
		__s64 number;
		__u8 text[HIST_KEY_SIZE];
	};
};

/* The values of a key. Sums and counts only grow. */
struct hist_counts {
	__s64 total; /* wraps */
	__u64 buckets[HIST_BUCKETS];
};

/* The only value of the per-CPU array "cpus". */
struct hist_cpu {
	__u64 no_key; /* values that were not counted: no room for their key */
	__u64 no_begin; /* times that were not counted: no room for their begin */
};
