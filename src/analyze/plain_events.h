/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdint.h>

#include "analyze/event_counts.h"

/*
 * Counts the FtraceEvents at the beginning of the fields of a FtraceEventBundle, [p, end), as long as
 * each has the form that Perfetto's probes and ours give to nearly every event:
 *
 *	timestamp varint | pid varint | one message, to the end of the event
 *
 * Returns the field where it stopped, or end; a general decoder goes on there. *ret_first and
 * *ret_last are the earliest and the latest timestamp other than 0; 0: there was none.
 */
const uint8_t *plain_events_count(const uint8_t *p, const uint8_t *end, struct event_counts *counts,
				  uint64_t *ret_first, uint64_t *ret_last);
