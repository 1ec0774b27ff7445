/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/core/err.h"
#include "config/trace_config.pb-c.h"
#include "service/ipc/quota.h"

/*
 * How much a TraceConfig may hold of what. The limits stand in service/ipc/limits.h and config/limits.h;
 * each has a counter of its own in TraceStats.limits.
 */
enum config_limit {
	CONFIG_BUFFERS,
	CONFIG_SOURCES,
	CONFIG_SOURCE_BYTES, /* of the config of the largest data source */
	CONFIG_REGEXES, /* producer_name_regex_filter of all data sources */
	CONFIG_TRIGGERS,
	CONFIG_SEMAPHORES,
	CONFIG_FILTER_RULES,
	N_CONFIG_LIMITS
};

/* 0, or -EINVAL with how many there are and the limit. */
int config_limit_check(const Pb__TraceConfig *c, enum config_limit which, struct err_text *e);

/* Where a config that was refused counts: with the first limit that it is past, else with the
 * configs that are wrong. */
enum quota_kind config_limit_counter(const Pb__TraceConfig *c);
