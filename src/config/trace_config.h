/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/system/priority_boost.h"
#include "base/text/str.h"
#include "config/priority_boost/priority_boost_config.pb-c.h"
#include "config/trace_config.pb-c.h"

enum trace_config_form {
	TRACE_CONFIG_DETECT, /* text or serialized: text_looks_like() decides */
	TRACE_CONFIG_TEXT,
	TRACE_CONFIG_TEXT_LOSSY, /* text; text_parse_lossy() reads it */
};

/*
 * Reads a whole trace config. name is the file name in error messages.
 *
 * Returns 0 (the caller frees with pb__trace_config__free_unpacked), -EINVAL with at least one
 * error appended to errors, each ending in a newline, or -ENOMEM. An empty config is an error.
 */
int trace_config_load(const char *name, const void *data, size_t len, enum trace_config_form form,
		      struct strbuf *errors, Pb__TraceConfig **ret);

/* Reads priority_boost of a TraceConfig or a DataSourceConfig; NULL is PRIORITY_BOOST_NONE. Returns
 * 0, or -EINVAL for an invalid policy or priority. */
int priority_boost_read(const Pb__PriorityBoostConfig *config, struct priority_boost *ret);
