// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "unit/test.h"
#include "client/transport/consumer.h"
#include "gen/fields.h"
#include "ipc/consumer_port.pb-c.h"
#include "unit/fake_port.h"

/* What the client heard, as text; and what the service is to say. */
struct fixture {
	struct event_base *loop;
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
	assert_int_equal(consumer_connect(x->loop, x->port.address, &ops, x, &x->consumer), 0);
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
