/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdint.h>

#include "base/core/err.h"
#include "config/trace_config.pb-c.h"

/*
 * Is this TraceConfig one that the service can run? What would change what is recorded, and is not
 * built, is refused by its name. The first reason is told; whether there is room for the session
 * now is service/session/admission.h's.
 *
 * 0; -EINVAL (it makes no sense, or exceeds a limit) or -ENOTSUP (asks for what is not built).
 */
int session_config_check(const Pb__TraceConfig *config, struct err_text *e);

/* The index in config->buffers that a data source writes to. 0 or -EINVAL. */
int session_config_target_buffer(const Pb__TraceConfig *config, const Pb__DataSourceConfig *source,
				 uint32_t *ret_index, struct err_text *e);
