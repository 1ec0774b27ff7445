/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "analyze/import/importer.h"

/* The tables event_histogram, event_histogram_row and event_histogram_bucket: what the kernel
 * counted (TracePacket.event_histogram). ts is the end of the packet's interval. */
void import_event_histogram(struct import *im, struct machine *m, int64_t ts,
			    const struct pb_field *histogram);
