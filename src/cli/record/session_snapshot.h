/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdint.h>

#include "analyze/trace_scan.h"
#include "base/core/err.h"
#include "common/observable_events.pb-c.h"

struct event_base;
struct trace_file;

/*
 * A clone of a session on its way into a file, over a connection of its own, since the service has
 * one session a connection. The clone is not tied to the session once it is made.
 */
struct session_snapshot;

/* The last call; the snapshot may be freed in it. 0: its file waits to be saved, which also tells
 * whether there was room for all of it; else -errno with a sentence. */
typedef void (*session_snapshot_fn)(void *ctx, struct session_snapshot *s, int error,
				    const char *why);

/* For this trigger, of the session that it names: borrowed until the snapshot is freed. address and
 * path are borrowed during the call; the file is in the folder of path. 0 or -errno
 * with the sentence in e. */
int session_snapshot_start(struct event_base *loop, const char *address,
			   const Pb__ObservableEvents__CloneTriggerHit *hit, const char *path,
			   session_snapshot_fn fn, void *ctx, struct err_text *e,
			   struct session_snapshot **ret);

/* For the last call: both are the snapshot's own. The scan is empty where the service wrote the
 * file. */
struct trace_file *session_snapshot_file(struct session_snapshot *s);
struct trace_scan *session_snapshot_scan(struct session_snapshot *s);

/* Without the last call, if it has not come. NULL is fine. */
void session_snapshot_free(struct session_snapshot *s);
