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
