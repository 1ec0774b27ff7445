/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>

#include "base/text/str.h"
#include "config/trace_config.pb-c.h"

/* The triggers of a trace config. */

/* Does it ask its consumer for a snapshot at each? */
bool triggers_take_snapshots(const Pb__TraceConfig *config);
/* Is the ring of its buffers to go round until one comes? Then what is overwritten is no loss. */
bool triggers_end_a_ring(const Pb__TraceConfig *config);

/* What the recording waits for, without a line's end; nothing without triggers. */
void trigger_text(const Pb__TraceConfig *config, struct strbuf *out);
