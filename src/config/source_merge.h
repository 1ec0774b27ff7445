/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdint.h>

#include "config/trace_config.pb-c.h"

/*
 * Adds a data source to a config that may already have one of that name, as words of a command line
 * do. The result records everything that either of the two requests:
 *
 *	lists           both, each value once
 *	flags           set if one of them is
 *	periods         the shorter one
 *	sizes in KiB    the larger one
 *
 * Where that is impossible, both data sources stay: an empty list often means "all", and some
 * numbers have no order. linux.ftrace is always merged, because two of them would record each event
 * twice; other numbers and texts of its config are then those of the added one.
 */

/* Adds a copy of source. If it is not merged with one of the config, it writes to the buffer with
 * the index `buffer`. Returns 0 or -ENOMEM. */
int config_add_source(Pb__TraceConfig *config, const Pb__DataSourceConfig *source, uint32_t buffer);

/* Returns the first data source of linux.ftrace in the kernel's instance of the session (without
 * instance_name), or NULL. */
Pb__DataSourceConfig *config_find_ftrace(const Pb__TraceConfig *config);
