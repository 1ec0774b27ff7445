/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "client/transport/channel.h"
#include "wire/pb_dec.h"

/*
 * The consumer side of the protocol: one connection, at most one tracing session. A request that
 * returned 0 calls its callback from the loop exactly once (streams: until `last`), even if the
 * connection is lost (-EPIPE) or the service refuses or sends an invalid reply (-EPROTO). A request
 * that returned an error calls nothing: -ENOSYS (the service lacks the method, or is not connected
 * yet), -EMSGSIZE (too large for a frame), -EPIPE, -ENOMEM.
 *
 * Messages are serialized, as in protos/. Those passed to callbacks are borrowed during the call,
 * and empty with an error. Any callback may free the consumer. All functions are for the loop's
 * thread.
 */
struct consumer;

#define CONSUMER_MAX_MESSAGE (256u << 20) /* bytes of an answer; larger ones fail with -EMSGSIZE */

struct consumer_ops {
	/* The connection is bound (0), or failed: -EPROTO (not a tracing service), else -errno of
	 * the socket. After a failure no callback follows. */
	void (*on_connected)(void *ctx, int error);
	/* The connection is lost; every pending request was answered before. */
	void (*on_disconnected)(void *ctx);
};

/* Starts to connect; on_connected reports the result. target is borrowed during the call. Returns
 * 0, or an error of channel_open(). */
int consumer_connect(struct io_loop *loop, const struct channel_target *target,
		     const struct consumer_ops *ops, void *ctx, struct consumer **ret);
/* Disconnects: the service ends the session and frees its buffers. Pending callbacks are not
 * called. No-op for NULL. */
void consumer_free(struct consumer *c);
/* Call in a child after fork(). Closes the descriptors, frees nothing. */
void consumer_after_fork_in_child(struct consumer *c);
/* Pauses or resumes the reading of replies. */
void consumer_pause(struct consumer *c, bool pause);

typedef void (*consumer_done)(void *ctx, int error);
/* error_text is the service's, "" for none. With a text, the service refused the config or aborted
 * the session, even if error is 0. */
typedef void (*consumer_ended)(void *ctx, int error, const char *error_text);
typedef void (*consumer_message)(void *ctx, int error, const void *message, size_t len);
/* The final call has last set. */
typedef void (*consumer_stream)(void *ctx, int error, const void *message, size_t len, bool last);

/* Creates the session and starts it, unless the config defers the start. config: serialized
 * TraceConfig. fn is called when tracing has ended or could not begin. fd: -1, or borrowed and open
 * for writing: the output of a session with write_into_file. */
int consumer_enable(struct consumer *c, const void *config, size_t len, int fd, consumer_ended fn,
		    void *ctx);
int consumer_start(struct consumer *c, consumer_done fn, void *ctx);
int consumer_disable(struct consumer *c, consumer_done fn, void *ctx);
/* Flushes the session. timeout_ms 0: the session's own. flags: reason and initiator as in the
 * protocol. */
int consumer_flush(struct consumer *c, uint32_t timeout_ms, uint64_t flags, consumer_done fn,
		   void *ctx);
int consumer_free_buffers(struct consumer *c, consumer_done fn, void *ctx);

/* Receives packets in order: messages with slices, which consumer_next_slice() reads. The final
 * call has no message. */
int consumer_read(struct consumer *c, consumer_stream fn, void *ctx);

struct consumer_slice {
	const uint8_t *data; /* raw TracePacket bytes; NULL: none */
	size_t len;
	bool ends; /* it is the last one of the packet */
};
/* slices: initialised with the message. Returns 1 with *ret, 0 at the end, or -EPROTO. */
int consumer_next_slice(struct pb_dec *slices, struct consumer_slice *ret);

/* Gets the TraceStats of the session. */
int consumer_stats(struct consumer *c, consumer_message fn, void *ctx);
/* Queries the service's state: a TracingServiceState. */
int consumer_query_state(struct consumer *c, bool sessions_only, consumer_message fn, void *ctx);
/* Subscribes to events, an OR of ObservableEvents.Type. fn is called with ObservableEvents until
 * the connection ends or this function is called again. The final call has no message. */
int consumer_observe(struct consumer *c, uint32_t events, consumer_stream fn, void *ctx);

/* ---- existing sessions ---- */

/* The trigger that a clone was made for, as in ObservableEvents.CloneTriggerHit. The clone contains
 * it. Absent values are 0 and NULL. */
struct consumer_clone_trigger {
	const char *name, *producer_name;
	bool has_producer_uid;
	int32_t producer_uid;
	uint64_t boot_time_ns, delay_ms;
};

struct consumer_clone_request {
	const char *name; /* unique_session_name; NULL: select by number */
	uint64_t session_id; /* CONSUMER_CLONE_FOR_BUGREPORT: the one with the highest score */
	const struct consumer_clone_trigger *trigger; /* NULL: none */
	bool skip_filter; /* without the trace_filter of the session */
};
#define CONSUMER_CLONE_FOR_BUGREPORT UINT64_MAX

struct consumer_clone_answer {
	bool success;
	bool was_written; /* to the fd; then no data can be read */
	char error[512]; /* the service's text; "": none */
};

/* Clones a session; the clone becomes the session of this connection, to be read. fd (borrowed,
 * open for writing; -1: none): output for the clone of a session that writes into a file. answer is
 * NULL with an error. */
int consumer_clone(struct consumer *c, const struct consumer_clone_request *request, int fd,
		   void (*fn)(void *ctx, int error, const struct consumer_clone_answer *answer),
		   void *ctx);
/* Detaches our session under a key; it continues without a consumer. */
int consumer_detach(struct consumer *c, const char *key, consumer_done fn, void *ctx);
/* Attaches to the session that was detached under this key, and gets its TraceConfig. Fails with
 * -EPROTO if there is none. */
int consumer_attach(struct consumer *c, const char *key, consumer_message fn, void *ctx);
/* Waits for the end of our session, which is reported as by consumer_enable(). */
int consumer_await_end(struct consumer *c, consumer_ended fn, void *ctx);
