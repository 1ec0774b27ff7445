/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/err.h"
#include "common/observable_events.pb-c.h"
#include "common/trace_stats.pb-c.h"
#include "common/tracing_service_capabilities.pb-c.h"
#include "common/tracing_service_state.pb-c.h"
#include "config/trace_config.pb-c.h"
#include "ipc/consumer_port.pb-c.h"

struct event_base;

/*
 * The consumer side of the protocol: one connection, at most one tracing session. A request that
 * returned 0 calls its callback from the loop exactly once (streams: until `last`), also if the
 * connection is lost (-EPIPE) or the service refuses or sends an invalid reply (-EPROTO). A request
 * that returned an error calls nothing: -ENOSYS (the service lacks the method, or is not connected
 * yet), -EMSGSIZE (too large for a frame), -EPIPE, -ENOMEM.
 *
 * Messages passed to callbacks are borrowed during the call, and NULL with an error. Any callback
 * may free the consumer.
 */
struct consumer;

#define CONSUMER_MAX_STATE (64u << 20) /* bytes of an answer to consumer_query_state */

struct consumer_ops {
	/* The connection is bound (0), or failed: -EPROTO (not a tracing service), else -errno of
	 * the socket. After a failure no callback follows. */
	void (*on_connected)(void *ctx, int error);
	/* The connection is lost; every pending request was answered before. */
	void (*on_disconnected)(void *ctx);
};

/* Starts to connect; on_connected reports the result. socket NULL: sock_default_consumer(). Returns
 * 0, or -errno if the address refuses at once (-ECONNREFUSED, -ENOENT, -EACCES). */
int consumer_connect(struct event_base *loop, const char *socket, const struct consumer_ops *ops,
		     void *ctx, struct consumer **ret);
/* Disconnects: the service ends the session and frees its buffers. Pending callbacks are not
 * called. No-op for NULL. */
void consumer_free(struct consumer *c);

typedef void (*consumer_done)(void *ctx, int error);

/* Creates the session and starts it, unless the config defers the start. config: serialized
 * TraceConfig. done is called when tracing has ended or could not begin. error_text is the
 * service's, "" for none. With a text, the service refused the config or aborted the session, even
 * if error is 0. fd: -1, or borrowed and open for writing: the output of a session with
 * write_into_file. */
int consumer_enable(struct consumer *c, const void *config, size_t len, int fd,
		    void (*done)(void *ctx, int error, const char *error_text), void *ctx);
int consumer_start(struct consumer *c, consumer_done done, void *ctx);
int consumer_disable(struct consumer *c, consumer_done done, void *ctx);
/* Flushes the session. timeout_ms 0: the session's own. flags: reason and initiator as in the
 * protocol. */
int consumer_flush(struct consumer *c, uint32_t timeout_ms, uint64_t flags, consumer_done done,
		   void *ctx);
int consumer_free_buffers(struct consumer *c, consumer_done done, void *ctx);

/* Receives slices of packets in order. data is raw TracePacket bytes, NULL for none. packet_ends is
 * set for the last slice of a packet. The final call has last set, no data, and the error, if
 * any. */
typedef void (*consumer_slice)(void *ctx, int error, const uint8_t *data, size_t len,
			       bool packet_ends, bool last);
int consumer_read(struct consumer *c, consumer_slice slice, void *ctx);

int consumer_stats(struct consumer *c,
		   void (*done)(void *ctx, int error, const Pb__TraceStats *stats), void *ctx);
/* Queries the service's state. The parts of a chunked reply are merged first. */
int consumer_query_state(struct consumer *c, bool sessions_only,
			 void (*done)(void *ctx, int error, const Pb__TracingServiceState *state),
			 void *ctx);
/* Subscribes to events, an OR of Pb__ObservableEvents__Type. The callback is called until the
 * connection ends or this function is called again. The final call has last set and no events. */
int consumer_observe(struct consumer *c, uint32_t events,
		     void (*event)(void *ctx, int error, const Pb__ObservableEvents *events,
				   bool last),
		     void *ctx);

/* ---- existing sessions ---- */

struct consumer_clone_request {
	const char *name; /* unique_session_name; NULL: select by number */
	uint64_t session_id; /* CONSUMER_CLONE_FOR_BUGREPORT: the one with the highest score */
	const Pb__ObservableEvents__CloneTriggerHit *trigger; /* stored in the clone; NULL: none */
	bool skip_filter; /* without the trace_filter of the session */
};
#define CONSUMER_CLONE_FOR_BUGREPORT UINT64_MAX

/* Clones a session; the clone becomes the session of this connection, to be read. fd (borrowed,
 * open for writing): output for the clone of a session that writes into a file. The answer says if
 * it was used; then no data can be read. answer has the service's error text on failure. */
int consumer_clone(struct consumer *c, const struct consumer_clone_request *request, int fd,
		   void (*done)(void *ctx, int error, const Pb__CloneSessionResponse *answer),
		   void *ctx);
/* Detaches our session under a key; it continues without a consumer. */
int consumer_detach(struct consumer *c, const char *key, consumer_done done, void *ctx);
/* Attaches to the session that was detached under this key. Fails with -EPROTO if there is none. */
int consumer_attach(struct consumer *c, const char *key,
		    void (*done)(void *ctx, int error, const Pb__TraceConfig *config), void *ctx);
/* Waits for the end of our session, which is reported as by consumer_enable(). */
int consumer_await_end(struct consumer *c,
		       void (*done)(void *ctx, int error, const char *error_text), void *ctx);
