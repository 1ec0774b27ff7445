/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/core/err.h"

struct trace_file;

/*
 * The last minutes of a recorder as one trace: the parts of the newest boot, one after the other,
 * then what the service has not written yet. The recording continues. If no recorder is running,
 * the trace has only what is on disk.
 */

struct recorder_snapshot {
	uint64_t parts; /* in the trace */
	uint64_t bytes;
	bool is_live; /* a running recorder was flushed */
	struct err_text not_live; /* why a running one was not flushed, or "" */
};

/* dir: of the recorder. last_ns: the trace begins at least this long before now, with a whole part;
 * 0: it begins with the oldest part. Returns 0; -ENOENT if there is no recording; or -errno and
 * sets e. */
int recorder_snapshot_write(const char *dir, uint64_t last_ns, struct trace_file *file,
			    struct recorder_snapshot *ret, struct err_text *e);
