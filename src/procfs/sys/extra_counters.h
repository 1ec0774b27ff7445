/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/text/span.h"
#include "client/counters/tracks.h"
#include "client/transport/writer.h"

/*
 * Kernel counters without an id in SysStats. They are emitted as counter tracks, in a group for
 * each file. Values are collected while a SysStats packet is open and written after it is closed.
 * Zero-initialise; before extra_counters_init() all functions are no-ops.
 */

#define EXTRA_COUNTERS_MAX 32768
#define EXTRA_COUNTER_NONE UINT32_MAX

struct extra_counter {
	uint32_t track;
	uint32_t group; /* handle of its group; the name is unique in the group */
	char *name; /* owned */
	int64_t value;
	double fraction; /* used in place of value if is_double */
	bool is_double;
};

struct extra_counters {
	struct tracks *tracks; /* owned */
	struct extra_counter *all; /* owned */
	size_t n, cap;
	uint32_t *fresh; /* owned; counters set since the last write; it has room for all */
	size_t n_fresh, fresh_cap;
};

/* Returns 0 or -ENOMEM. */
int extra_counters_init(struct extra_counters *x, const char *source, struct writer *w);
void extra_counters_deinit(struct extra_counters *x);

/* Returns the group of a file, such as "vmstat". */
uint32_t extra_counters_add_group(struct extra_counters *x, const char *name);
/* Returns a group in a group, such as a disk or a CPU. description: of a track_spec. */
uint32_t extra_counters_add_subgroup(struct extra_counters *x, uint32_t group, const char *name,
				     const char *description);
uint32_t extra_counters_add_cpu(struct extra_counters *x, uint32_t group, uint32_t cpu);
/*
 * Returns the counter of that name in the group. It is created if it is new, with the unit,
 * unit_name, unit_multiplier and total of kind. Returns EXTRA_COUNTER_NONE above the limit.
 */
uint32_t extra_counters_find_or_add(struct extra_counters *x, uint32_t group, struct span name,
				    const struct track_spec *kind);
/* Sets the value. Call it at most once for each counter between two writes. */
void extra_counters_set(struct extra_counters *x, uint32_t counter, int64_t value);
/*
 * Adds a counter at the first call, and sets it. *slot identifies the counter for later calls and
 * is 0 at first. The name must be new in its group. Returns false above the limit of counters, or
 * if memory runs out.
 */
bool extra_counters_set_in_slot(struct extra_counters *x, uint32_t *slot, uint32_t group,
				struct span name, const struct track_spec *kind, int64_t value);
void extra_counters_set_double(struct extra_counters *x, uint32_t counter, double value);
/* Writes the values that were set, with that timestamp. No packet may be open. */
void extra_counters_write(struct extra_counters *x, uint64_t boot_ns);
