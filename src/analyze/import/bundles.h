/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "analyze/import/clocks.h"

/* What a FtraceEventBundle has besides its events, which analyze/bundle_walk.h reads. Fields point
 * into the bundle. */
struct bundle_head {
	struct pb_field cpu, previous_end, columns, descriptors; /* id 0: none */
	uint64_t clock; /* FtraceClock */
	uint64_t ftrace_ns, boot_ns; /* readings of both clocks at one moment; 0: none */
	bool lost; /* events are missing before the bundle */
};

void bundle_head_read(const struct pb_field *bundle, struct bundle_head *ret);

/* Returns the clock of the bundle's times, and adds the bundle's reading of it to the clocks. */
clock_key bundle_sync_clock(const struct bundle_head *h, uint32_t sequence, struct clocks *c);
