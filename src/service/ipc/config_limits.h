/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/core/err.h"
#include "config/trace_config.pb-c.h"
#include "service/ipc/quota.h"

/* Limits of the repeated fields of a TraceConfig. The values are in service/ipc/limits.h and
 * config/limits.h; each has its own counter in TraceStats.limits. */
enum config_limit {
	CONFIG_BUFFERS,
	CONFIG_SOURCES,
	CONFIG_SOURCE_BYTES, /* size of the config of the largest data source */
	CONFIG_REGEXES, /* producer_name_regex_filter of all data sources */
	CONFIG_TRIGGERS,
	CONFIG_SEMAPHORES,
	CONFIG_FILTER_RULES,
	N_CONFIG_LIMITS
};

/* Returns 0, or -EINVAL and sets e to the number and the limit. */
int config_limit_check(const Pb__TraceConfig *c, enum config_limit which, struct err_text *e);

/* Returns the counter of a refused config: that of the first exceeded limit, else that of invalid
 * configs. */
enum quota_kind config_limit_counter(const Pb__TraceConfig *c);
