/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/text/str.h"
#include "common/trace_stats.pb-c.h"

/* Appends what the service lost of a session: "12 chunks overwritten, 3 packets dropped"; nothing
 * if it lost nothing. */
void top_losses(const Pb__TraceStats *stats, struct strbuf *out);
