/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "client/loop/event_base_loop.h"
#include "client/transport/consumer.h"
#include "common/observable_events.pb-c.h"
#include "common/trace_stats.pb-c.h"
#include "common/tracing_service_state.pb-c.h"
#include "config/trace_config.pb-c.h"
#include "gen/fields.h"
#include "ipc/consumer_port.pb-c.h"
#include "unit/fake_port.h"
#include "unit/test.h"

/* What the client received, as text; and what the service shall answer. */
struct fixture {
	struct event_base *loop;
	struct io_loop *io;
	struct fake_port port;
	struct consumer *consumer;
	char heard[2048];
	char got[512]; /* by the service, where the test notes it */
	int free_after; /* answers after which the client frees itself; 0 never */
	void (*answer)(struct fixture *x, const char *method, uint64_t id, const uint8_t *args,
		       size_t len);
};

static void hear(struct fixture *x, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static inline void hear(struct fixture *x, const char *fmt, ...)
{
	size_t n = strlen(x->heard);
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(x->heard + n, sizeof(x->heard) - n, fmt, ap);
	va_end(ap);
	if (x->free_after && --x->free_after == 0) {
		consumer_free(x->consumer);
		x->consumer = NULL;
	}
}

static inline void on_call(struct fake_port *p, const char *method, uint64_t id,
			   const uint8_t *args, size_t len)
{
	struct fixture *x = p->ctx;

	if (x->answer)
		x->answer(x, method, id, args, len);
}

static inline void on_connected(void *ctx, int error)
{
	hear(ctx, "connected(%d) ", error);
}

static inline void on_disconnected(void *ctx)
{
	hear(ctx, "disconnected ");
}

static const struct consumer_ops ops = {on_connected, on_disconnected};

static inline int client_connect(struct fixture *x, const char *address)
{
	const struct channel_target target = {.address = address, .of_program = true};

	return consumer_connect(x->io, &target, &ops, x, &x->consumer);
}

/* Returns a message of an answer, or NULL. */
static inline void *client_unpack(const ProtobufCMessageDescriptor *type, int error,
				  const void *data, size_t len)
{
	ProtobufCMessage *m = error ? NULL : protobuf_c_message_unpack(type, NULL, len, data);

	assert_true(error || m);
	return m;
}

/* Both ends are on this loop and nothing waits for a clock: so many turns are enough for all. */
static inline void run(struct fixture *x)
{
	for (int turn = 0; turn < 200; turn++)
		event_base_loop(x->loop, EVLOOP_NONBLOCK);
}

static inline int setup_unconnected(void **state)
{
	struct fixture *x = calloc(1, sizeof(*x));

	*state = x;
	x->loop = event_base_new();
	x->io = event_base_loop_new(x->loop);
	x->port.methods = fake_consumer_methods;
	x->port.n_methods = ARRAY_SIZE(fake_consumer_methods);
	x->port.on_call = on_call;
	x->port.ctx = x;
	fake_port_open(&x->port, x->loop);
	return 0;
}

static inline int setup(void **state)
{
	struct fixture *x;

	setup_unconnected(state);
	x = *state;
	assert_int_equal(client_connect(x, x->port.address), 0);
	run(x);
	assert_string_equal(x->heard, "connected(0) ");
	x->heard[0] = '\0';
	return 0;
}

static inline int teardown(void **state)
{
	struct fixture *x = *state;

	consumer_free(x->consumer);
	fake_port_close(&x->port);
	event_base_loop_free(x->io);
	event_base_free(x->loop);
	free(x);
	return 0;
}

static inline void on_done(void *ctx, int error)
{
	hear(ctx, "done(%d) ", error);
}

#define TEST_UNCONNECTED(name) TEST_STATE(name, setup_unconnected, teardown, struct fixture *x)
#define FIXTURE_TEST(name) TEST_STATE(name, setup, teardown, struct fixture *x)
