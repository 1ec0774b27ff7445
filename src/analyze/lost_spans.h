/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Where events of a CPU are missing in a trace, from FtraceEventBundle.lost_ranges: each gap between
 * two times, with its number of events.
 */

#define LOST_SPANS_MAX 4096 /* of a trace, that are told apart */

struct lost_span {
	uint32_t cpu;
	uint64_t begin_ns; /* of the trace's clock; 0: from the beginning of the recording */
	uint64_t end_ns;
	uint64_t events; /* 0: unknown */
};

/* Zero-initialise; lost_spans_deinit frees. */
struct lost_spans {
	struct lost_span *spans; /* owned: in the order of the trace */
	size_t n;
	size_t cap;
	uint64_t left_out; /* spans past the limit, or that memory was missing for */
};

void lost_spans_deinit(struct lost_spans *l);
/* Reads a serialized LostRange. False: it breaks protobuf's rules, or has no end behind its
 * beginning; it is not added. */
bool lost_spans_add(struct lost_spans *l, uint32_t cpu, const uint8_t *data, size_t len);
