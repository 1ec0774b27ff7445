/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <string.h>

#include "base/core/err.h"
#include "config/trace_config.pb-c.h"

/* The value of --waits: which waits linux.waits records, "min=10ms,state=D,program=postgres".
 * Changes the config of each such data source: a later value replaces an earlier one, while
 * programs and states are added to those already there. Returns 0; -EINVAL and sets e, also if
 * there is no such source; or -ENOMEM. */
int waits_option_put(const char *text, Pb__TraceConfig *config, struct err_text *e);

/* Returns the linux.waits config of a source, which owns it, and creates it if it is missing; NULL:
 * no memory. */
Pb__WaitsConfig *waits_option_config(Pb__DataSourceConfig *source);
static inline bool waits_option_is_source(const Pb__DataSourceConfig *source)
{
	return source && source->name && !strcmp(source->name, "linux.waits");
}
