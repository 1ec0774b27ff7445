/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/trace/trace_readback.h"
#include "client/loop/event_base_loop.h"
#include "client/transport/consumer.h"
#include "unit/cli/fake_session.h"
#include "unit/test.h"

struct fixture {
	struct event_base *loop;
	struct io_loop *io;
	struct fake_session service;
	struct consumer *consumer;
	struct packet_read reading;
	char heard[256];
	int packet_error;
	bool frees; /* at the end, as owners do */
};

static void hear(struct fixture *x, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void hear(struct fixture *x, const char *fmt, ...)
{
	size_t n = strlen(x->heard);
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(x->heard + n, sizeof(x->heard) - n, fmt, ap);
	va_end(ap);
}

static void on_sign(void *ctx)
{
	hear(ctx, ".");
}

static int on_packet(void *ctx, const uint8_t *data, size_t len)
{
	struct fixture *x = ctx;

	hear(x, "%.*s ", (int)len, (const char *)data);
	return x->packet_error;
}

static void on_end(void *ctx, int error)
{
	struct fixture *x = ctx;

	hear(x, "end(%d) ", error);
	if (x->frees) {
		consumer_free(x->consumer);
		x->consumer = NULL;
		packet_read_deinit(&x->reading);
		memset(&x->reading, 0xaa, sizeof(x->reading));
	}
}

static const struct packet_read_ops ops = {on_sign, on_packet, on_end};

static void on_connected(void *ctx, int error)
{
	struct fixture *x = ctx;

	assert_int_equal(error, 0);
	assert_int_equal(packet_read_start(&x->reading, x->consumer, &ops, x), 0);
}

static void on_disconnected(void *ctx)
{
	hear(ctx, "disconnected ");
}

static const struct consumer_ops consumer_ops = {on_connected, on_disconnected};

static int setup(void **state)
{
	struct fixture *x = calloc(1, sizeof(*x));

	x->loop = event_base_new();
	x->io = event_base_loop_new(x->loop);
	fake_session_open(&x->service, x->loop);
	*state = x;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *x = *state;

	consumer_free(x->consumer);
	if (!x->frees)
		packet_read_deinit(&x->reading);
	fake_port_close(&x->service.port);
	event_base_loop_free(x->io);
	event_base_free(x->loop);
	free(x);
	return 0;
}

/* Both ends are on this loop and nothing waits for a clock: so many turns are enough for all. */
static void run(struct fixture *x)
{
	const struct channel_target target = {.address = x->service.port.address,
					      .of_program = true};

	assert_int_equal(consumer_connect(x->io, &target, &consumer_ops, x, &x->consumer), 0);
	for (int turn = 0; turn < 200; turn++)
		event_base_loop(x->loop, EVLOOP_NONBLOCK);
}

#define FIXTURE_TEST(name) TEST_STATE(name, setup, teardown, struct fixture *x)

FIXTURE_TEST(slices_become_packets)
{
	run(x);
	assert_string_equal(x->heard, "..one .two end(0) ");
}

/* The trusted fields come as a slice of their own, and an end may come alone. */
FIXTURE_TEST(empty_slices_and_an_end_alone_are_parts_of_packets)
{
	static const uint8_t slices[] = {0x12, 5, 0x0a, 1, 'a', 0x10, 0, /* a */
					 0x12, 2, 0x10, 0, /* nothing */
					 0x12, 5, 0x0a, 1, 'b', 0x10, 0, /* b */
					 0x12, 2, 0x10, 1, /* the end */
					 0x12, 5, 0x0a, 1, 'c', 0x10, 1, /* a whole packet */
					 0x12, 2, 0x10, 1, /* one of no bytes */
					 0x12, 5, 0x0a, 1, 'd', 0x10, 0, /* d */
					 0x12, 5, 0x0a, 1, 'e', 0x10, 1}; /* e */

	x->service.slices = slices;
	x->service.slices_len = sizeof(slices);
	run(x);
	assert_string_equal(x->heard, "....ab .c . ..de end(0) ");
}

static uint64_t read_id;

static void note_read(struct fake_port *p, const char *method, uint64_t id, const uint8_t *args,
		      size_t len)
{
	read_id = id;
}

FIXTURE_TEST(packet_larger_than_the_protocol_allows_ends_it)
{
	static uint8_t slice[4 + 4 + 100000] = {0x12, 0xa4, 0x8d, 6, 0x0a, 0xa0, 0x8d, 6};
	unsigned n = 0;

	x->service.port.on_call = note_read;
	run(x);
	for (; !strstr(x->heard, "end") && n <= PACKET_JOIN_MAX / 100000 + 1; n++) {
		x->heard[0] = '\0';
		fake_reply(&x->service.port, read_id, true, slice, sizeof(slice));
		for (int turn = 0; turn < 3; turn++)
			event_base_loop(x->loop, EVLOOP_NONBLOCK);
	}
	assert_string_equal(x->heard, ".end(-27) ");
	assert_int_equal(n, PACKET_JOIN_MAX / 100000 + 1);
}

FIXTURE_TEST(owner_may_end_it)
{
	x->packet_error = -ENOSPC;
	run(x);
	assert_string_equal(x->heard, "..one end(-28) ");
}

FIXTURE_TEST(end_may_free_it)
{
	x->frees = true;
	x->packet_error = -ENOSPC;
	run(x);
	assert_string_equal(x->heard, "..one end(-28) ");
}

FIXTURE_TEST(packet_without_an_end)
{
	static const uint8_t half[] = {0x12, 0x06, 0x0a, 0x02, 'o', 'n', 0x10, 0x00};

	x->service.slices = half;
	x->service.slices_len = sizeof(half);
	run(x);
	assert_string_equal(x->heard, ".end(-71) ");
}

FIXTURE_TEST(service_that_refuses_or_goes_away)
{
	x->service.refuse = "ReadBuffers";
	run(x);
	assert_string_equal(x->heard, "end(-71) ");
	consumer_free(x->consumer);
	packet_read_deinit(&x->reading);
	x->reading = (struct packet_read){0};
	x->heard[0] = '\0';
	x->service.refuse = NULL;
	x->service.leave = "ReadBuffers";
	run(x);
	assert_string_equal(x->heard, "end(-32) disconnected ");
}
