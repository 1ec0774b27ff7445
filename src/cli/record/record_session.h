/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/err.h"
#include "common/observable_events.pb-c.h"
#include "common/trace_stats.pb-c.h"
#include "common/tracing_service_state.pb-c.h"
#include "config/trace_config.pb-c.h"

struct event_base;

/*
 * One recording, from the connection to the last packet. Everything comes through the callbacks,
 * from the loop; on_end comes once, as the last, and only record_session_free remains then.
 */
struct record_session;

struct record_session_ops {
	/* Who produces what: before tracing begins, and again at the end. An old service does not
	 * answer this; then it is not called. */
	void (*on_state)(void *ctx, bool at_end, const Pb__TracingServiceState *state);
	/* All is known; the config goes out next, which may still be changed. Anything but 0 ends
	 * the recording with that error and sentence. */
	int (*before_recording)(void *ctx, struct err_text *why);
	/* The session is made and data sources are being started. */
	void (*on_recording)(void *ctx);
	/* NULL, or: all data sources have started. Soon after on_recording when an old service
	 * does not tell; maybe never, when one of them hangs. */
	void (*on_started)(void *ctx);
	/* NULL, or: it is time to clone the session, whose config has CLONE_SNAPSHOT. Then on_packet
	 * is not called, there being nothing to read but clones. hit is borrowed. */
	void (*on_clone_trigger)(void *ctx, const Pb__ObservableEvents__CloneTriggerHit *hit);
	/* Counters: at the beginning, after each record_session_ask_stats, and at the end. */
	void (*on_stats)(void *ctx, bool at_end, const Pb__TraceStats *stats);
	/* Tracing is over, reading begins. flush_error: of the flush before it, 0 good. */
	void (*on_stopped)(void *ctx, int flush_error);
	/* A whole packet. Anything but 0 ends the recording with that error. */
	int (*on_packet)(void *ctx, const uint8_t *data, size_t len);
	/* NULL, or: all that there is by now came through on_packet. Likewise. */
	int (*on_caught_up)(void *ctx);
	/* 0: everything that there was came through on_packet, and -ECONNABORTED: likewise, but the
	 * service has ended the session before its time. Else -errno. With the sentence. */
	void (*on_end)(void *ctx, int error, const char *why);
};

/* Begins to connect to the service (socket NULL: the usual place). config and ops are borrowed
 * until the session is freed. Returns 0, or -errno and sets e: -ENOENT and -ECONNREFUSED say
 * that nobody listens. */
int record_session_start(struct event_base *loop, const char *socket, const Pb__TraceConfig *config,
			 const struct record_session_ops *ops, void *ctx, struct err_text *e,
			 struct record_session **ret);

/* Before the loop runs: where a session with write_into_file writes, open for writing, borrowed until
 * tracing has started. */
void record_session_pass_file(struct record_session *s, int fd);

/* Before the loop runs: packets are read while it records, as soon as the service has them. 0 or
 * -ENOMEM. */
int record_session_read_on(struct record_session *s, struct event_base *loop);

/* Ends tracing in order: flush, disable, read. Before tracing has started it ends the session with
 * -ECANCELED. */
void record_session_stop(struct record_session *s);

/* While it is held, the session is not given back to the service after its end: it can still be
 * cloned. */
void record_session_hold(struct record_session *s, bool hold);

/* Once tracing has started: the session continues without us under a key, and on_end comes. */
void record_session_detach(struct record_session *s, const char *key);

/* Has that been asked for, or has tracing ended by itself? */
bool record_session_is_stopping(const struct record_session *s);

/* Asks for counters, unless an answer is still awaited or tracing does not run. */
void record_session_ask_stats(struct record_session *s);

/* Has tracing begun and not ended? */
bool record_session_is_recording(const struct record_session *s);

/* Disconnects; the service forgets what was not read. No-op for NULL. */
void record_session_free(struct record_session *s);
