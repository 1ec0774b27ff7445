/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "analyze/cut/cut_overview.h"
#include "base/core/err.h"

/*
 * The second pass: writes parts of a trace that can each be read without the others. A part has the
 * events of its time, and of everything before it what its readers need: the config, the machine,
 * clocks, names of processes, descriptions of tracks and events, interned data. Packets are not
 * compressed.
 */

/* The parts ascend and do not overlap: events with from <= time < to, in the trace's clock. */
struct cut_range {
	int64_t from, to;
};

struct cut_parts_config {
	const struct cut_range *ranges; /* borrowed */
	size_t n_ranges;
	/* Writes a packet (borrowed) of a part. Called in the order of the file, and not for a part
	 * without packets of its time. Returns 0 or -errno, which ends cut_parts_write(). */
	int (*write)(void *ctx, size_t part, const uint8_t *packet, size_t len);
	void *ctx;
};

struct cut_result {
	bool cut_off; /* the trace ends inside a packet */
	uint64_t undecodable, not_unpacked; /* packets that no part has */
};

/* o: of the first pass over the same bytes. Returns 0; -EFBIG if the state of the trace is too
 * large; -ENOMEM; or what write returned. */
int cut_parts_write(struct cut_overview *o, const uint8_t *data, size_t len, bool mapped,
		    const struct cut_parts_config *config, struct cut_result *ret);
