/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
#pragma once

#include <linux/types.h>

/*
 * For user programs of linux.ebpf_counters (docs/reference/ebpf-programs.md): what names and types of maps
 * cannot express.
 *
 *	__u64 waited SONDA_UNIT(ns);    after a field of the value of a map; also bytes, count,
 *	                                or any word, such as % or req/s
 *	__u32 depth SONDA_GAUGE;        goes up and down; without it a value only grows
 *
 * After a map, SONDA_UNIT and SONDA_GAUGE apply to all of its fields. They need clang 14.
 */
#define SONDA_UNIT(unit) __attribute__((btf_decl_tag("sonda:unit=" #unit)))
#define SONDA_GAUGE __attribute__((btf_decl_tag("sonda:gauge")))

/* An event that a program writes to a ring buffer "sonda_events": an instant or a slice on the
 * track of a thread. The ring is read once a period. Events that find no room in the ring are lost;
 * the program has to count them itself. */
enum sonda_event_type {
	SONDA_INSTANT = 1,
	SONDA_SLICE = 2,
};

#define SONDA_EVENT_NAME 32
#define SONDA_EVENT_VALUES 4
#define SONDA_VALUE_NAME 16

struct sonda_event {
	__u32 type; /* enum sonda_event_type */
	__u32 tid; /* thread of the event, of process tgid; 0: of no thread */
	__u32 tgid;
	__u32 n_values;
	__u64 time; /* time of the instant, or begin of the slice: ns of bpf_ktime_get_boot_ns() */
	__u64 duration; /* duration of a slice, ns */
	char name[SONDA_EVENT_NAME]; /* shorter texts end with a NUL */
	struct {
		char name[SONDA_VALUE_NAME];
		__s64 value;
	} values[SONDA_EVENT_VALUES];
};

#define SONDA_EVENT_TEXT 32

/* An event with one more value, a text: its name and the text. */
struct sonda_event_text {
	struct sonda_event event;
	char name[SONDA_VALUE_NAME];
	char text[SONDA_EVENT_TEXT];
};
