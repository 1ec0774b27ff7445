/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/system/priority_boost.h"
#include "base/text/str.h"
#include "config/priority_boost/priority_boost_config.pb-c.h"
#include "config/trace_config.pb-c.h"

/*
 * Reads a whole trace config, in text or serialized. Text is what looks like it (text_looks_like);
 * force_text says that it is text whatever it looks like. name stands for the file in errors.
 *
 * Returns 0 (free with pb__trace_config__free_unpacked), -EINVAL with at least one error appended
 * to errors, each line ended, or -ENOMEM. A config that says nothing is an error, too.
 */
int trace_config_load(const char *name, const void *data, size_t len, bool force_text,
		      struct strbuf *errors, Pb__TraceConfig **ret);

/* priority_boost of a TraceConfig or a DataSourceConfig; NULL is PRIORITY_BOOST_NONE. Returns 0 or -EINVAL: a policy
 * or a priority that is none. */
int priority_boost_read(const Pb__PriorityBoostConfig *config, struct priority_boost *ret);
