/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "analyze/cut/cut_reader.h"

/*
 * FtraceEventBundle.CompactSched: switches and wakings of a CPU as columns. Readers skip the first
 * switch of a CPU, as the columns do not say which thread was switched from. A window therefore
 * begins with the switch before it, if there is one.
 */
struct cut_columns_window {
	struct cut_reader *reader;
	struct cut_machine *machine;
	clock_key clock;
	bool rewrites; /* times become those of the trace's clock */
	int64_t first, last; /* both included, in the trace's clock */
	const struct cut_switch
		*before; /* of earlier bundles, its time as written; NULL: none is needed */
	uint64_t written_last; /* filled: time of the last row, as written */
};

/* Calls fn with the time of each row, in the clock of the columns. */
void cut_columns_times(const struct pb_field *columns, void (*fn)(void *ctx, uint64_t ts),
		       void *ctx);

/* Appends the field with the rows of the window. Returns false if it has none. */
bool cut_columns_build(const struct pb_field *columns, struct cut_columns_window *w,
		       struct strbuf *ret);

/* Copies the last switch, with its time in the clock of the columns. Returns false without one. */
bool cut_columns_last(const struct pb_field *columns, struct cut_switch *ret);
