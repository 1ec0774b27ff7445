/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "analyze/cut/cut_overview.h"
#include "analyze/cut/cut_part.h"
#include "base/core/err.h"

/*
 * The second pass: writes parts of a trace that can each be read without the others. A part has the
 * events of its time, and whatever its readers need from before it: the config, the machine,
 * clocks, names of processes, descriptions of tracks and events, interned data. Packets are not
 * compressed.
 */

struct cut_parts_config {
	/* Sets the range and the number of the part that covers a time. Returns false if no part
	 * covers it. */
	bool (*range_of)(void *ctx, int64_t ts, struct cut_range *ret, uint64_t *ret_number);
	/* Begins the part with this number, as there is a packet of its time. Parts are numbered
	 * from 0 in the order of these calls. */
	int (*open)(void *ctx, uint64_t number);
	/* Writes a packet (borrowed) of a part. Called in the order of the file. Both return 0 or
	 * -errno, which ends cut_parts_write(). */
	int (*write)(void *ctx, size_t part, const uint8_t *packet, size_t len);
	void *ctx;
};

struct cut_result {
	bool cut_off; /* the trace ends inside a packet */
	uint64_t undecodable, not_unpacked; /* packets that are in no part */
};

/* Writes the parts. o: the overview from the first pass over the same bytes. Returns 0; -EFBIG if
 * the state of the trace is too large; -ENOMEM; or what open or write returned. */
int cut_parts_write(struct cut_overview *o, const uint8_t *data, size_t len, bool mapped,
		    const struct cut_parts_config *config, struct cut_result *ret);
