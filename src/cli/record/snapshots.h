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
 * "a/trace.1.pftrace" and so on for "a/trace.pftrace". A number whose file is there already is passed
 * over. What becomes of each is said and logged; none of it ends the recording.
 *
 * Some are made at once, since a ring continues while a snapshot waits; others wait for one of those
 * to end, and those past that are not made.
 */
#define SNAPSHOTS_AT_ONCE 8
#define SNAPSHOTS_WAITING 64 /* besides */

struct snapshots;

/* Borrowed until it is freed, but for address, which is copied. */
struct snapshots_setup {
	struct event_base *loop;
	const char *address; /* of the service's consumer socket */
	const char *path;
	const Pb__TraceConfig *config;
	struct console *console;
	struct snapshot_log *log;
	/* None is being made any more. */
	void (*on_idle)(void *ctx);
	void *ctx;
};

/* Can there be files beside that one? 0, or -errno and sets e, -EINVAL: it is not a name of
 * a file. */
int snapshots_check_path(const char *path, struct err_text *e);

/* Returns NULL if memory is out. */
struct snapshots *snapshots_new(const struct snapshots_setup *setup);

/* Begins one, or has it wait. Returns false if it has failed already, which is logged. hit is borrowed. */
bool snapshots_take(struct snapshots *s, const Pb__ObservableEvents__CloneTriggerHit *hit);

/* Those that are still on their way are logged as failed. No-op for NULL. */
void snapshots_free(struct snapshots *s);
