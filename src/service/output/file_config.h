/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/core/err.h"
#include "config/trace_config.pb-c.h"

/* What a TraceConfig says about the file that the service writes, and what zero means there. */

/* 0 or -EINVAL. Whether a descriptor came with it is file_sink_new's. */
int file_config_check(const Pb__TraceConfig *config, struct err_text *e);

/* How often the file is written. */
uint32_t file_config_write_period_ms(const Pb__TraceConfig *config);
/* Are all producers flushed before it is written? */
bool file_config_flushes_first(const Pb__TraceConfig *config);
/* How often they are flushed for another reason, of a session without a file too; 0: never. */
uint32_t file_config_flush_period_ms(const Pb__TraceConfig *config);
/* Is it synced each time; and when it ends? */
bool file_config_syncs_at_end(const Pb__TraceConfig *config);
bool file_config_syncs(const Pb__TraceConfig *config);
