/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct writer;

/*
 * What a source of polled counters could not read or keep, told in the trace: at once what is new,
 * and at a flush how often it was so.
 *
 * Format: perfetto.protos.PolledCountersStats (ours).
 */

/* Kinds of failures that are told with a path; further ones are counted. */
#define COUNTER_TROUBLE_KINDS 16u
#define COUNTER_TROUBLE_PATH 128u /* longer ones are cut */

/* Zero-initialise; it owns nothing. */
struct counter_trouble {
	struct {
		char path[COUNTER_TROUBLE_PATH];
		int error; /* an errno, positive */
	} kinds[COUNTER_TROUBLE_KINDS];
	unsigned n;
	uint64_t failures; /* reads that failed, since the start */
	uint64_t refused; /* tracks; likewise */
	uint64_t written; /* of both, the last time */
	bool is_new; /* something that has not been told */
};

/* A read failed; is_new: the first one of its kind. */
void counter_trouble_read(struct counter_trouble *t, bool is_new, const char *path, int error);
/* So many tracks were refused since the start. */
void counter_trouble_refused(struct counter_trouble *t, uint64_t refused);
/* After a clear: all is told again with the next counter_trouble_write. */
void counter_trouble_clear(struct counter_trouble *t);
/* One packet, if there is something new; at a flush (all), if there is more than the last time.
 * source is the name of the data source. */
void counter_trouble_write(struct counter_trouble *t, struct writer *w, const char *source,
			   bool all);
