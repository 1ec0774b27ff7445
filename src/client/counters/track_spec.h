/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* The content of a TrackDescriptor. */

enum track_kind {
	TRACK_GROUP, /* a named container of other tracks */
	TRACK_PROCESS, /* the group of a process, by pid */
	TRACK_THREAD, /* the group of a thread, by pid and tid */
	TRACK_COUNTER,
};

enum track_unit { TRACK_UNIT_NONE, TRACK_UNIT_NS, TRACK_UNIT_COUNT, TRACK_UNIT_BYTES };

struct track_spec {
	enum track_kind kind;
	uint32_t parent; /* handle of the track that contains the group or counter */
	const char *name; /* copied; control characters become '?'. May be NULL for a process
			   * or thread */
	const char *description; /* one sentence, or NULL. Borrowed until the track ends, as are all
				  * strings below */
	int32_t rank; /* position among its siblings if the parent sorts by rank */
	bool by_rank; /* a group: its children are sorted by rank; else by name */
	/* of a process or thread */
	int32_t pid;
	int32_t tid;
	uint64_t alive_ns; /* a time of CLOCK_BOOTTIME at which it existed; 0: the times of its
			    * values */
	uint64_t incarnation; /* distinguishes processes that reuse a pid, such as the start
			       * time; 0: unknown */
	/* of a counter */
	enum track_unit unit;
	const char *unit_name; /* for example "%" or "req/s"; replaces unit. NULL: unit applies */
	int64_t unit_multiplier; /* readers multiply values by it; 0 means 1 */
	const char *axis; /* siblings with the same axis share their scale, or NULL */
	bool total; /* monotonic: it ends with its last value. Other counters end with 0 */
};

/* Initialises the spec of a counter that only grows; the caller sets its parent. */
#define TRACK_TOTAL(name_, description_, unit_)                                                    \
	{                                                                                          \
		.name = (name_), .description = (description_), .unit = TRACK_UNIT_##unit_,        \
		.total = true                                                                      \
	}
