/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdint.h>

#include "base/core/err.h"
#include "config/trace_config.pb-c.h"

/* TraceConfig.cmd_trace_start_delay: a wait of random length before a recording, so that many
 * machines with the same config do not begin at the same moment. */

/* How long this time; 0 when the config asks for none. -EINVAL with the sentence in e. */
int start_delay_choose(const Pb__TraceConfig *config, uint32_t *ret_ms, struct err_text *e);
/* A signal ends it as it ends any program. */
void start_delay_wait(uint32_t ms);
