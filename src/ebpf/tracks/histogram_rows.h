/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdint.h>

#include "bpf/histogram.h"
#include "ebpf/engine/family.h"

/*
 * What was added to a histogram of a family since its last read, as a packet of the run's writer.
 *
 * Format: perfetto.protos.EbpfHistogramRows (an extension of sonda).
 */
struct histogram_rows {
	const char *device, *operation; /* borrowed; NULL: none */
	const struct sonda_hist *added; /* borrowed */
	uint64_t n; /* values in it */
	uint64_t sum_ns; /* of the values */
};

/* Writes the packet, after pending values of tracks. Does nothing if there are no values, or
 * without histogram_rows of the run. at: CLOCK_BOOTTIME, of the read. */
void histogram_rows_write(const struct ebpf_run *r, const struct histogram_rows *rows, uint64_t at);
