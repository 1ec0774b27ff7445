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

/* One recording session, from connecting to the last packet. Results come through callbacks from
 * the loop. on_end is called once, as the last callback; then only record_session_free() may be
 * called. */
struct record_session;

/* Callbacks of a session to its owner, from the loop. */
struct record_session_ops {
	/* The connected producers and their data sources, before tracing starts and again at the
	 * end. Not called if the service is too old for the query. */
	void (*on_state)(void *ctx, bool at_end, const Pb__TracingServiceState *state);
	/* Optional: called before the config is sent; it may still be changed. A return value other
	 * than 0 ends the recording with this error and sentence. */
	int (*before_recording)(void *ctx, struct err_text *why);
	/* Optional. Called when the session exists and data sources are being started. */
	void (*on_recording)(void *ctx);
	/* Optional: all data sources have started. Called soon after on_recording if the service is
	 * too old to report it. Not called if a data source hangs. */
	void (*on_started)(void *ctx);
	/* Optional: a CLONE_SNAPSHOT trigger was hit; the session should be cloned. on_packet is
	 * not called for such a session. hit is borrowed. */
	void (*on_clone_trigger)(void *ctx, const Pb__ObservableEvents__CloneTriggerHit *hit);
	/* Counters at the start, after each record_session_request_stats, and at the end. */
	void (*on_stats)(void *ctx, bool at_end, const Pb__TraceStats *stats);
	/* Optional: tracing has ended, reading begins. flush_error: result of the last flush, 0 or
	 * -errno. */
	void (*on_stopped)(void *ctx, int flush_error);
	/* A whole packet. A return value other than 0 ends the recording with this error. */
	int (*on_packet)(void *ctx, const uint8_t *data, size_t len);
	/* Optional: all data that the service has by now was passed to on_packet. Return value as
	 * for on_packet. */
	int (*on_caught_up)(void *ctx);
	/* error 0: everything was passed to on_packet. -ECONNABORTED: the same, but the service
	 * ended the session early. Else -errno. why is the message. */
	void (*on_end)(void *ctx, int error, const char *why);
};

/* Starts to connect to the service (socket NULL: default address). config and ops are borrowed
 * until the session is freed. Returns 0, or -errno and sets e. -ENOENT and -ECONNREFUSED: no
 * process listens at the address. */
int record_session_start(struct event_base *loop, const char *socket, const Pb__TraceConfig *config,
			 const struct record_session_ops *ops, void *ctx, struct err_text *e,
			 struct record_session **ret);

/* Call before the loop runs: sets the output of a session with write_into_file, open for writing,
 * borrowed until tracing has started. */
void record_session_pass_file(struct record_session *s, int fd);

/* Call before the loop runs: reads packets during the recording, as soon as the service has them.
 * Returns 0 or -ENOMEM. */
int record_session_read_continuously(struct record_session *s, struct event_base *loop);

/* Call before the loop runs, instead of record_session_read_continuously(): reads packets during
 * the recording only when record_session_catch_up() asks for them. Returns 0 or -ENOMEM. */
int record_session_read_on_demand(struct record_session *s, struct event_base *loop);
/* Reads what the service has now; then on_caught_up is called. flush: the session is flushed first.
 * Returns false, and does nothing, if tracing is not running or the last call has not been answered
 * yet. */
bool record_session_catch_up(struct record_session *s, bool flush);

/* Ends tracing in order: flush, disable, read. Before tracing has started it ends the session with
 * -ECANCELED. */
void record_session_stop(struct record_session *s);

/* While held, the session is not freed in the service after its end, so that it can still be
 * cloned. */
void record_session_set_hold(struct record_session *s, bool hold);

/* Detaches the session under a key, once tracing has started; then on_end is called. */
void record_session_detach(struct record_session *s, const char *key);

/* Returns true if the stop was requested or tracing has ended by itself. */
bool record_session_is_stopping(const struct record_session *s);

/* Queries the counters, unless a query is pending or tracing does not run. */
void record_session_request_stats(struct record_session *s);

/* Returns true while tracing runs. */
bool record_session_is_recording(const struct record_session *s);

/* Disconnects; the service discards unread data. No-op for NULL. */
void record_session_free(struct record_session *s);
