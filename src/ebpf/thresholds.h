/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "client/counters/tracks.h"
#include "config/linux/ebpf_counters_config.pb-c.h"
#include "ebpf/engine/errors.h"

/*
 * Counters that activate a trigger when they pass a value: a gauge by its value, a total by what it
 * grew since the value before. A trigger may be that of many tracks, such as those of all CPUs. It
 * fires when one of them is above and none was; and again only when all have been below, or at the
 * value:
 *
 *	below  --one is above: fires-->  above  --none is above-->  below
 */
struct thresholds;

#define THRESHOLDS_MAX 32u

/* What makes no sense is told as errors. *ret is NULL where there are none. 0 or -ENOMEM. */
int thresholds_new(const Pb__EbpfCountersConfig *c, struct ebpf_errors *errors,
		   struct thresholds **ret);
/* NULL is fine, here and below. */
void thresholds_free(struct thresholds *t);
/* A track_update_fn; ctx is the thresholds. */
void thresholds_see(void *ctx, const struct track_update *seen);
/* The names of triggers that have fired since the last call, each once; borrowed until the next one.
 * How many. */
size_t thresholds_take(struct thresholds *t, const char *const **ret_names);
/* At the end: those for which there was no counter. */
void thresholds_tell_unused(const struct thresholds *t, struct ebpf_errors *errors);
