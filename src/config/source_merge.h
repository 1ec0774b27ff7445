/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdint.h>

#include "config/trace_config.pb-c.h"

/*
 * Adds a data source, for example one that a word of the command line requests, to a config that
 * may already have one of that name. The result records everything that either of the two requests:
 *
 *	lists           both, each value once
 *	flags           set if one of them is
 *	periods         the shorter one
 *	sizes in KiB    the larger one (linux.ftrace)
 *
 * Where that is impossible, both data sources stay: an empty list often means "all", and some
 * numbers have no order. linux.ftrace is always merged, because two of them would record each event
 * twice; other numbers and texts of its config are then those of the added one.
 */

/* Adds a copy of source. If it is not merged with a data source of the config, it writes to the
 * buffer with the index `buffer`. Returns 0 or -ENOMEM. */
int config_add_source(Pb__TraceConfig *config, const Pb__DataSourceConfig *source, uint32_t buffer);

/* Returns the config (borrowed) of the first linux.ftrace data source without an instance_name or
 * kept_instance, or NULL. */
Pb__DataSourceConfig *config_find_ftrace(const Pb__TraceConfig *config);
