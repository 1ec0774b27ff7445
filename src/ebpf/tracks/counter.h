/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/histogram.h"
#include "client/counters/tracks.h"
#include "ebpf/engine/family.h"

/*
 * Percentiles of a period, from two readings of a histogram that only grows (bpf/histogram.h has its
 * format). The answer is the middle of a bucket: at most 1.6 % from the exact one, which is the
 * smallest value that so many of all are not above (nearest rank).
 */

/* The first value of a bucket, and of the one after it; buckets are below SONDA_HIST_BUCKETS. */
uint64_t histogram_begin_of(uint32_t bucket);
uint64_t histogram_end_of(uint32_t bucket);

/* What was added to now since last, which becomes now; both are of SONDA_HIST_BUCKETS. The number of
 * values that were added. */
uint64_t histogram_take(const struct sonda_hist *now, struct sonda_hist *last,
			struct sonda_hist *ret_added);
/* Adds the counts of one to those of another, such as of several CPUs. */
void histogram_merge(struct sonda_hist *into, const struct sonda_hist *h);

/* Of n values, the one that percent (above 0, up to 100) of them are not above. 0 where n is 0. max is
 * the largest of the values, or 0: unknown. */
uint64_t histogram_percentile(const struct sonda_hist *h, uint64_t n, double percent, uint64_t max);

/* The maximum of a period that is over, by its generation; 0: nothing happened in it. */
uint64_t histogram_max(const struct sonda_max *m, uint64_t generation);
/* The least that the largest of the values can have been; 0: there are none. For maxima of programs
 * that do not wait for each other: of two at one moment the smaller may have been kept. */
uint64_t histogram_max_floor(const struct sonda_hist *h);

/*
 * Counters that most families have. Names and descriptions are literals: borrowed for as long as the
 * track is there.
 */

uint32_t ebpf_add_group(const struct ebpf_run *r, uint32_t parent, const char *name);
/* What it counted since the recording began. */
uint32_t ebpf_add_total(const struct ebpf_run *r, uint32_t parent, const char *name,
			const char *description, enum track_unit unit);
/* How long something took in all, in ns, and how often it was. */
struct ebpf_timed {
	uint32_t time, count;
};
struct ebpf_timed ebpf_add_timed(const struct ebpf_run *r, uint32_t parent, const char *time_name,
				 const char *count_name, const char *description);
void ebpf_set_timed(const struct ebpf_run *r, const struct ebpf_timed *t, uint64_t ns,
		    uint64_t count);
void ebpf_remove_timed(const struct ebpf_run *r, const struct ebpf_timed *t);

/* What could not be counted, since the recording began: *track is TRACK_ROOT until there is any, which
 * is told then. The description says what. */
void ebpf_set_lost(const struct ebpf_run *r, uint32_t *track, const char *name,
		   const char *description, uint64_t lost);
