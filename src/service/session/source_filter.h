/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/core/err.h"
#include "config/trace_config.pb-c.h"

/*
 * Which producers a data source of a config is for: producer_name_filter (exact),
 * producer_name_regex_filter (the whole name), any of the two if there is one; and
 * machine_name_filter, where "host" is this machine too. Without the latter, producers of other
 * machines are not asked unless the config says trace_all_machines.
 */
struct source_of {
	const char *producer; /* name */
	const char *machine; /* name; NULL: it has none */
	bool is_remote;
};

/* 0, or -EINVAL: an expression that cannot be used, named in e. */
int source_filter_check(const Pb__TraceConfig__DataSource *source, struct err_text *e);

/* *budget: steps of expressions, as name_regex_matches() has them. */
bool source_filter_matches(const Pb__TraceConfig *config, const Pb__TraceConfig__DataSource *source,
			   const struct source_of *of, uint64_t *budget);
