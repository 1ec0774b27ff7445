/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
#pragma once

#include <linux/types.h>

/*
 * For programs of your own that linux.ebpf_counters loads (docs/ebpf-programs.md): what names and
 * types of maps cannot say.
 *
 *	__u64 waited SONDA_UNIT(ns);    behind a field of a map's value; also bytes, count,
 *	                                or any word, such as % or req/s
 *	__u32 depth SONDA_GAUGE;        goes up and down; without it a value only grows
 *
 * Behind the map itself they count for all of its fields. It takes clang 14.
 */
#define SONDA_UNIT(unit) __attribute__((btf_decl_tag("sonda:unit=" #unit)))
#define SONDA_GAUGE __attribute__((btf_decl_tag("sonda:gauge")))

/*
 * What a program puts into a ring buffer "sonda_events": a moment, or a piece of time, on the track
 * of a thread. It is read once a period. What finds no room in the ring is the program's to count.
 */
enum sonda_event_type {
	SONDA_INSTANT = 1,
	SONDA_SLICE = 2,
};

#define SONDA_EVENT_NAME 32
#define SONDA_EVENT_VALUES 4
#define SONDA_VALUE_NAME 16

struct sonda_event {
	__u32 type; /* enum sonda_event_type */
	__u32 tid; /* the thread that it is of, and its process; 0: it is of no thread */
	__u32 tgid;
	__u32 n_values;
	__u64 time; /* when it was or began: ns of bpf_ktime_get_boot_ns() */
	__u64 duration; /* of a slice, ns */
	char name[SONDA_EVENT_NAME]; /* texts end with a NUL where they are shorter */
	struct {
		char name[SONDA_VALUE_NAME];
		__s64 value;
	} values[SONDA_EVENT_VALUES];
};

#define SONDA_EVENT_TEXT 32

/* The same with one more value, which is a text. */
struct sonda_event_text {
	struct sonda_event event;
	char name[SONDA_VALUE_NAME];
	char text[SONDA_EVENT_TEXT];
};
