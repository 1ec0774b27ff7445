/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/histogram.h"
#include "client/counters/tracks.h"
#include "ebpf/engine/family.h"

/*
 * Percentiles of a period, from two reads of a monotonic histogram (format: bpf/histogram.h). The
 * result is the middle of a bucket, at most 1.6 % from the exact percentile (nearest rank).
 */

/* Stores in *ret_added what was added to `now` since `last`, and copies `now` to `last`. Returns
 * the number of values that were added. */
uint64_t histogram_compute_added(const struct sonda_hist *now, struct sonda_hist *last,
				 struct sonda_hist *ret_added);

/* Returns the percentile (above 0, up to 100) of n values; 0 if n is 0. max: the largest of the
 * values; 0: unknown. */
uint64_t histogram_percentile(const struct sonda_hist *h, uint64_t n, double percent, uint64_t max);

/* Returns the maximum of a period that ended, by its generation; 0: there was no value in it. */
uint64_t histogram_max(const struct sonda_max *m, uint64_t generation);
/* Returns the lower bound of the largest value; 0: there are no values. Use it for maxima of
 * programs that do not synchronise: of two concurrent values the smaller may have been kept. */
uint64_t histogram_max_floor(const struct sonda_hist *h);

/*
 * Counters that most families have. Names are copied. Descriptions must be literals: they are
 * borrowed for the life of the track.
 */

uint32_t ebpf_add_group(const struct ebpf_run *r, uint32_t parent, const char *name);
/* Adds a monotonic counter, from the start of the recording. */
uint32_t ebpf_add_total(const struct ebpf_run *r, uint32_t parent, const char *name,
			const char *description, enum track_unit unit);
/* Total time in ns and count of some operation. */
struct ebpf_timed {
	uint32_t time, count;
};
struct ebpf_timed ebpf_add_timed(const struct ebpf_run *r, uint32_t parent, const char *time_name,
				 const char *count_name, const char *description);
void ebpf_set_timed(const struct ebpf_run *r, const struct ebpf_timed *t, uint64_t ns,
		    uint64_t count);
void ebpf_remove_timed(const struct ebpf_run *r, const struct ebpf_timed *t);

/* Sets a counter of lost values since the start of the recording, and reports the number as an
 * error in the trace (ebpf_errors_set_count). *track is TRACK_ROOT until there are any. The
 * description explains the loss. ebpf_set_limited: a limit of the config left the values out. */
void ebpf_set_lost(const struct ebpf_run *r, uint32_t *track, const char *name,
		   const char *description, uint64_t lost);
void ebpf_set_limited(const struct ebpf_run *r, uint32_t *track, const char *name,
		      const char *description, uint64_t left_out);
