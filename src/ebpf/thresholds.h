/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "client/counters/tracks.h"
#include "config/linux/ebpf_counters_config.pb-c.h"
#include "ebpf/engine/errors.h"

/*
 * Counters that activate a trigger above a threshold: a gauge by its value, a monotonic counter by
 * its growth since the last value. A trigger may apply to many tracks, such as those of all CPUs.
 * It fires when the first of them exceeds the threshold, and again only after all have been at or
 * below it:
 *
 *	below  --one is above: fires-->  above  --none is above-->  below
 */
struct thresholds;

#define THRESHOLDS_MAX 32u

/* Reads the thresholds of the config. Reports invalid entries as errors. *ret is NULL if there are
 * no thresholds. Returns 0 or -ENOMEM. */
int thresholds_new(const Pb__EbpfCountersConfig *c, struct ebpf_errors *errors,
		   struct thresholds **ret);
/* No-op for NULL, as the functions below. */
void thresholds_free(struct thresholds *t);
/* Compares a new value of a track with the thresholds. A track_update_fn; ctx is the struct
 * thresholds. */
void thresholds_check_update(void *ctx, const struct track_update *seen);
/* Returns the number of triggers that fired since the last call, and their names, each once;
 * borrowed until the next call. */
size_t thresholds_collect_fired(struct thresholds *t, const char *const **ret_names);
/* Reports, at the end, the thresholds that matched no counter. */
void thresholds_report_unused(const struct thresholds *t, struct ebpf_errors *errors);
