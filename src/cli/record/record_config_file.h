/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/text/str.h"
#include "config/trace_config.pb-c.h"

/* Reads the trace config of a recording from the file of -c. */

#define RECORD_CONFIG_FILE_MAX (1u << 20) /* bytes; a frame takes 128 KiB serialized */

/*
 * Reads the config. path "-": standard input. Returns 0 (the caller frees with
 * pb__trace_config__free_unpacked), -EINVAL if it is not a trace config or uses a field that sonda
 * record does not support, or -errno of reading. Messages for the user are appended to errors, one
 * a line.
 */
int record_config_file_read(const char *path, bool is_text, struct strbuf *errors,
			    Pb__TraceConfig **ret);
