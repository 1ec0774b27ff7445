/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "analyze/import/importer.h"
#include "base/core/hash_table.h"

/*
 * The counters of linux.perf. A stream is what one sequence sends about one CPU: the counter that
 * triggers the samples (the timebase), and those that are read with it (followers). The defaults of
 * the sequence at the first packet of the stream name them.
 */

#define PERF_FOLLOWERS_MAX 64 /* further followers are left out */

struct perf_stream {
	uint64_t key[3]; /* machine, sequence, CPU */
	uint32_t session; /* row of TABLE_PROFILER_SESSION */
	size_t n_tracks;
	uint32_t tracks[1 + PERF_FOLLOWERS_MAX]; /* the timebase, then the followers */
	UT_hash_handle hh;
};

/* Returns the stream; makes it with its tracks at the first use. NULL: no memory. */
const struct perf_stream *perf_stream_get(struct import *im, struct machine *m, uint32_t state,
					  uint32_t sequence, uint32_t cpu);
/* Adds the values that a PerfSample has of the stream's counters. Returns their set. */
uint32_t perf_stream_add_values(struct import *im, const struct perf_stream *s, int64_t ts,
				const struct pb_field *sample);
void perf_streams_deinit(struct import *im);
