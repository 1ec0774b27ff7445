/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/queue.h>

#include "base/text/str.h"
#include "client/transport/connection.h"
#include "common/observable_events.pb-c.h"
#include "common/trace_stats.pb-c.h"
#include "common/tracing_service_state.pb-c.h"
#include "ipc/consumer_port.pb-c.h"

/*
 * Private to consumer.c: the state of a consumer, and the record of one request.
 */

struct consumer_ops;

struct consumer {
	struct connection *conn; /* owned */
	const struct consumer_ops *ops; /* borrowed from the owner for our life */
	void *ctx;
	bool bound;
	bool *freed; /* set by consumer_free(); NULL outside of callbacks within a reply */
	LIST_HEAD(, request) open; /* owned */
};

/* Lives from the call to its last reply. fn is the caller's callback, of the type that its request
 * in consumer.h has. */
struct request {
	LIST_ENTRY(request) link;
	struct consumer *consumer;
	void (*on_reply)(struct request *r, const struct connection_reply *reply);
	union {
		void (*done)(void *ctx, int error);
		void (*enabled)(void *ctx, int error, const char *error_text);
		void (*slice)(void *ctx, int error, const uint8_t *data, size_t len,
			      bool packet_ends, bool last);
		void (*stats)(void *ctx, int error, const Pb__TraceStats *stats);
		void (*state)(void *ctx, int error, const Pb__TracingServiceState *state);
		void (*event)(void *ctx, int error, const Pb__ObservableEvents *events, bool last);
		void (*cloned)(void *ctx, int error, const Pb__CloneSessionResponse *answer);
		void (*attached)(void *ctx, int error, const Pb__TraceConfig *config);
	} fn;
	void *ctx;
	struct strbuf gathered; /* parts of a chunked answer */
	bool over; /* answered; further replies are dropped */
};

/* Returns a new request, in the list but not sent yet. Returns NULL if memory is out. */
struct request *request_new(struct consumer *c,
			    void (*fn)(struct request *r, const struct connection_reply *reply),
			    void *ctx);
/* Frees a request and removes it from the list. */
void request_free(struct request *r);
/* Calls the method; frees the request on failure. fd is borrowed, -1 for none. */
int request_send(struct request *r, const char *method, const void *args, size_t len, int fd);
int request_send_msg(struct request *r, const char *method, const ProtobufCMessage *args, int fd);
/* Ends a request that was answered: frees it, or keeps it silent until the service ends the
 * stream. */
void request_retire(struct request *r, const struct connection_reply *reply);
/* Unpacks a reply. Returns NULL and sets *error if the reply is an error or not a message of this
 * type. */
void *request_unpack(const ProtobufCMessageDescriptor *type, const struct connection_reply *reply,
		     int *error);
/* Frees a message of request_unpack(). No-op for NULL. */
void request_free_message(void *message);
