/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "analyze/trace_scan.h"
#include "base/text/str.h"
#include "common/observable_events.pb-c.h"
#include "config/trace_config.pb-c.h"

/*
 * The results of the snapshots of a recording: one line each, and the newest lines again for the
 * summary.
 */

#define SNAPSHOT_LOG_LINES 20 /* kept for the summary */

/* Zero-initialise; snapshot_log_deinit frees. */
struct snapshot_log {
	size_t saved;
	size_t failed;
	bool lossy; /* a saved snapshot has losses */
	char *lines[SNAPSHOT_LOG_LINES]; /* owned; line i is at i % SNAPSHOT_LOG_LINES */
	size_t n_lines; /* since the start */
	struct trace_scan newest; /* scan of the last snapshot that was saved */
};

void snapshot_log_deinit(struct snapshot_log *log);

/* All pointers are borrowed. */
struct snapshot_facts {
	const Pb__TraceConfig *config; /* of the session */
	const Pb__ObservableEvents__CloneTriggerHit *hit; /* the trigger of the snapshot */
	const char *name; /* of the file */
	uint64_t bytes; /* of the file */
	const char *cut; /* why the file is incomplete; NULL: it is complete */
};

/* Each adds a line and returns it for the user, valid until the next call; "" if memory runs out.
 * scan is moved into the log and is empty afterwards. */
const char *snapshot_log_add_saved(struct snapshot_log *log, const struct snapshot_facts *f,
				   struct trace_scan *scan);
const char *snapshot_log_add_failed(struct snapshot_log *log,
				    const Pb__ObservableEvents__CloneTriggerHit *hit,
				    const char *why);

/* Appends the newest lines, and the number of earlier ones. */
void snapshot_log_write(const struct snapshot_log *log, struct strbuf *out);
