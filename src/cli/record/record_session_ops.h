/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/err.h"
#include "common/observable_events.pb-c.h"
#include "common/trace_stats.pb-c.h"
#include "common/tracing_service_state.pb-c.h"

/* Callbacks of a recording session to its owner (cli/record/record_session.h), from the loop. */
struct record_session_ops {
	/* The connected producers and their data sources, before tracing starts and again at the
	 * end. Not called if the service is too old for the query. */
	void (*on_state)(void *ctx, bool at_end, const Pb__TracingServiceState *state);
	/* Called before the config is sent; it may still be changed. A return value other than 0
	 * ends the recording with this error and sentence. */
	int (*before_recording)(void *ctx, struct err_text *why);
	/* The session exists and data sources are being started. */
	void (*on_recording)(void *ctx);
	/* Optional: all data sources have started. Called soon after on_recording if the service is
	 * too old to report it. Not called if a data source hangs. */
	void (*on_started)(void *ctx);
	/* Optional: a CLONE_SNAPSHOT trigger was hit; the session should be cloned. on_packet is
	 * not called for such a session. hit is borrowed. */
	void (*on_clone_trigger)(void *ctx, const Pb__ObservableEvents__CloneTriggerHit *hit);
	/* Counters at the start, after each record_session_ask_stats, and at the end. */
	void (*on_stats)(void *ctx, bool at_end, const Pb__TraceStats *stats);
	/* Tracing has ended, reading begins. flush_error: result of the last flush, 0 or -errno. */
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
