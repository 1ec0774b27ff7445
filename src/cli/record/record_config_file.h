/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>

#include "base/text/str.h"
#include "config/trace_config.pb-c.h"

/* The trace config of a recording from the file of -c. */

#define RECORD_CONFIG_FILE_MAX (1u << 20) /* bytes; a frame takes 128 KiB serialized */

/*
 * path "-": standard input. 0 (free with pb__trace_config__free_unpacked); -EINVAL: it is no trace
 * config, or asks for what only another command line can do; else -errno of reading it. Whole lines
 * for the person are appended to errors.
 */
int record_config_file_read(const char *path, bool is_text, struct strbuf *errors,
			    Pb__TraceConfig **ret);
