/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "analyze/import/importer.h"
#include "analyze/import/remembered.h"

/* Rows that the samples of all profilers have: sessions, contexts, counters, samples. */

#define PROFILER_LINUX_PERF "linux.perf" /* the source of PerfSamples */

/* A row of the sample; NULL_U32: unknown. */
struct profiler_sample {
	int64_t ts; /* ns */
	uint32_t source, error; /* strings */
	uint32_t task, execution, callsite, session; /* rows */
	uint32_t values; /* a set of counters */
};

/* Returns the session of a sequence; makes it, with the source, at the first use. kind: which
 * samples of the sequence. */
uint32_t profiler_get_session(struct import *im, const struct machine *m, enum remembered_kind kind,
			      uint32_t sequence, uint32_t source);
/* Returns the row of a task context. Each of the other arguments is a row or NULL_U32. */
uint32_t profiler_get_task(struct import *im, uint32_t upid, uint32_t utid, uint32_t async);
/* Returns the row of an execution context. cpu: NULL_U32: unknown; mode: a string or NULL_U32. */
uint32_t profiler_get_execution(struct import *im, struct machine *m, uint32_t cpu, uint32_t mode);
/* Adds a value of a counter to a set, which begins as NULL_U32. */
void profiler_add_value(struct import *im, int64_t ts, uint32_t track, double value, uint32_t *set);
void profiler_add_sample(struct import *im, const struct profiler_sample *s);
