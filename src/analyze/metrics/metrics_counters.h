/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "analyze/metrics/metrics_list.h"

/*
 * Which metric a counter track belongs to, by its name and its place. The names are those of
 * linux.ebpf_counters and linux.cgroup_stats (docs/reference/ebpf-tracks.txt, counters.md), and
 * untrusted.
 */

enum counter_place { /* the group that contains the track */
		     PLACE_NONE, /* of no interest */
		     PLACE_EBPF, /* the root of linux.ebpf_counters */
		     PLACE_CPU,
		     PLACE_BLOCK, /* contains disks */
		     PLACE_DISK,
		     PLACE_NETWORK,
		     PLACE_REASONS, /* of dropped packets */
		     PLACE_MEMORY,
		     PLACE_LOCKS,
		     PLACE_COST,
		     PLACE_CGROUP,
		     PLACE_THREAD,
};

/* How the values of a track change its metric. */
enum counter_effect {
	EFFECT_NONE,
	EFFECT_GROWTH, /* a total since the session began; several totals may form one series */
	EFFECT_TOTAL, /* a total of the kernel */
	EFFECT_CPU_TIME, /* the same, by which subjects are chosen; without a series */
	EFFECT_GAUGE,
	EFFECT_GAUGE_SUM, /* one of several that are added up */
	EFFECT_PERCENT, /* of a CPU: its integral is a total */
	EFFECT_FAULTS, /* all page faults, from which major ones are subtracted */
	EFFECT_MAJOR_FAULTS,
};

#define COUNTER_LABEL_SIZE 64

struct counter_meaning {
	enum counter_effect effect;
	enum metric_id metric;
	uint32_t factor; /* the metric's value for 1 of the track */
	char labels[2][COUNTER_LABEL_SIZE]; /* "": none; the device of PLACE_DISK is left "" */
};

/* Returns the meaning of a counter track by its name, which is NUL-terminated, and the place of its
 * group; EFFECT_NONE: the track is of no interest. */
struct counter_meaning counter_find_meaning(enum counter_place place, const char *name);
/* Returns the place of the tracks below a group. */
enum counter_place counter_find_place(enum counter_place place, const char *group);
