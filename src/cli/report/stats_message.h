/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "analyze/buffer_stats.h"
#include "common/trace_stats.pb-c.h"

/* The answer of GetTraceStats as what the packets of a trace are decoded to. All 0 without memory. */
void stats_message_decode(const Pb__TraceStats *message, struct service_stats *ret);
