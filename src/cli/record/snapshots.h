/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>

#include "base/core/err.h"
#include "cli/report/snapshot_report.h"
#include "common/observable_events.pb-c.h"
#include "config/trace_config.pb-c.h"

struct console;
struct event_base;

/*
 * The snapshots of a session with CLONE_SNAPSHOT: a file for each trigger, "a/trace.0.pftrace",
 * "a/trace.1.pftrace" and so on for "a/trace.pftrace". Numbers of existing files are
 * skipped. The result of each snapshot is printed and logged; a failure does not end the recording.
 *
 * Up to SNAPSHOTS_AT_ONCE snapshots are made in parallel, because the ring buffer is overwritten
 * while a snapshot waits. Up to SNAPSHOTS_WAITING further ones are queued; beyond that they fail.
 */
#define SNAPSHOTS_AT_ONCE 8
#define SNAPSHOTS_WAITING 64 /* in the queue */

struct snapshots;

/* All pointers are borrowed until snapshots_free(), except address, which is copied. */
struct snapshots_setup {
	struct event_base *loop;
	const char *address; /* of the service's consumer socket */
	const char *path;
	const Pb__TraceConfig *config;
	struct console *console;
	struct snapshot_log *log;
	/* The last snapshot in progress has ended. */
	void (*on_idle)(void *ctx);
	void *ctx;
};

/* Checks that files can be created beside path. Returns 0, or -errno and sets e (-EINVAL: not a
 * regular file name). */
int snapshots_check_path(const char *path, struct err_text *e);

/* Returns NULL if memory runs out. */
struct snapshots *snapshots_new(const struct snapshots_setup *setup);

/* Starts or queues a snapshot. Returns false if it failed at once, which is logged. hit is
 * borrowed. */
bool snapshots_take(struct snapshots *s, const Pb__ObservableEvents__CloneTriggerHit *hit);

/* Logs unfinished snapshots as failed. No-op for NULL. */
void snapshots_free(struct snapshots *s);
