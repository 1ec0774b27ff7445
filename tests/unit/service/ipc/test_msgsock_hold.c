/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/service/ipc/msgsock_fixture.h"
#include "unit/test.h"

/* Requests of 1000 bytes; each is answered with as many (SEND_ON_MESSAGE). */
#define REQUEST 1000u
#define HOLD 50000u

static int setup_answering(void **state)
{
	struct connection *c;

	setup(state);
	c = *state;
	c->what = SEND_ON_MESSAGE;
	msgsock_set_hold_limit(c->m, HOLD);
	return 0;
}

/* Asks, never reads, until the socket takes no more. Gives the number of whole requests sent; a
 * part of one more may have gone, whose end is in *ret_left. */
static unsigned ask_until_full(struct connection *c, unsigned max)
{
	uint8_t request[4 + REQUEST];
	unsigned n = 0, full = 0;

	put_message(request, REQUEST, 'q');
	for (size_t at = 0; n < max && full < 3;) {
		ssize_t sent = send(c->raw, request + at, sizeof(request) - at,
				    MSG_NOSIGNAL | MSG_DONTWAIT);

		if (sent < 0) {
			assert_int_equal(errno, EAGAIN);
			full++;
			settle(c);
			continue;
		}
		full = 0;
		at += (size_t)sent;
		if (at == sizeof(request)) {
			at = 0;
			n++;
		}
	}
	return n;
}

static void read_until_quiet(struct connection *c, struct strbuf *got)
{
	for (unsigned quiet = 0; quiet < 3; quiet++) {
		if (raw_read_all(c, got) > 0)
			quiet = 0;
		settle(c);
	}
}

#define ANSWERING(name) TEST_STATE(name, setup_answering, teardown, struct connection *c)

ANSWERING(peer_that_asks_and_does_not_read_waits)
{
	_cleanup_(strbuf_deinit) struct strbuf got = {0};
	unsigned asked = ask_until_full(c, 100000), held;

	assert_true(asked < 100000); /* it is stopped, not served for ever */
	assert_in_range(msgsock_queued(c->m), HOLD + 1, HOLD + 4 + REQUEST);
	held = c->messages;
	assert_true(held < asked);
	settle(c);
	assert_int_equal(c->messages, held);
	assert_int_equal(c->closes, 0);
	/* As soon as it reads, all is answered, in order and once. */
	read_until_quiet(c, &got);
	assert_int_equal(c->messages, asked);
	assert_int_equal(got.len, (size_t)asked * (4 + REQUEST));
	assert_int_equal(msgsock_queued(c->m), 0);
	assert_int_equal(c->closes, 0);
}

/* Whole messages that lie in the buffer wait too, and need nothing new from the peer to go on. */
ANSWERING(received_messages_are_kept_while_held)
{
	static uint8_t big[MSGSOCK_MAX_MESSAGE];
	uint8_t stream[3 * 7];
	size_t n = 0;

	c->what = NOTHING;
	while (msgsock_queued(c->m) <= HOLD)
		assert_int_equal(msgsock_send(c->m, &(struct iovec){big, sizeof(big)}, 1, -1), 0);
	for (int i = 0; i < 3; i++)
		n += put_message(stream + n, 3, (uint8_t)('a' + i));
	raw_send(c, stream, n);
	settle(c);
	assert_int_equal(c->messages, 0);
	read_until_quiet(c, NULL);
	assert_string_equal(c->got.s, "3:61;3:62;3:63;");
	assert_int_equal(c->drains, 1);
}

ANSWERING(exactly_the_limit_is_not_held)
{
	static uint8_t big[60000];
	uint8_t stream[16];

	c->what = NOTHING;
	while (msgsock_queued(c->m) == 0)
		assert_int_equal(msgsock_send(c->m, &(struct iovec){big, sizeof(big)}, 1, -1), 0);
	msgsock_set_hold_limit(c->m, msgsock_queued(c->m));
	raw_send(c, stream, put_message(stream, 3, 'a'));
	settle(c);
	assert_int_equal(c->messages, 1);
	assert_int_equal(msgsock_send(c->m, NULL, 0, -1), 0);
	raw_send(c, stream, put_message(stream, 3, 'b'));
	settle(c);
	assert_int_equal(c->messages, 1);
	read_until_quiet(c, NULL);
	assert_int_equal(c->messages, 2);
}

ANSWERING(peer_that_leaves_is_noticed_while_held)
{
	unsigned held;

	ask_until_full(c, 100000);
	held = c->messages;
	close_raw(c);
	settle(c);
	/* what it had asked before is delivered, as always */
	assert_true(c->messages > held);
	assert_int_equal(c->closes, 1);
	assert_int_equal(c->messages_at_close, c->messages);
	assert_true(c->error < 0);
}

ANSWERING(end_of_the_stream_waits_for_the_answers)
{
	_cleanup_(strbuf_deinit) struct strbuf got = {0};
	unsigned asked = ask_until_full(c, 400);

	assert_int_equal(shutdown(c->raw, SHUT_WR), 0);
	settle(c);
	assert_int_equal(c->closes, 0);
	for (int i = 0; i < 1000 && c->closes == 0; i++) {
		raw_read_all(c, &got);
		settle(c);
	}
	assert_int_equal(c->messages, asked);
	assert_int_equal(c->closes, 1);
	assert_int_equal(c->error, 0);
}

/* A length word that is too large lies behind the messages that wait. */
ANSWERING(bad_length_is_found_after_holding)
{
	uint8_t stream[4 + REQUEST + 4];
	unsigned n = 0;

	while (msgsock_queued(c->m) <= HOLD) {
		raw_send(c, stream, put_message(stream, REQUEST, 'q'));
		settle(c);
		n++;
	}
	put_message(stream, REQUEST, 'q');
	memset(stream + 4 + REQUEST, 0xff, 4);
	raw_send(c, stream, sizeof(stream));
	settle(c);
	assert_int_equal(c->messages, n);
	for (int i = 0; i < 1000 && c->closes == 0; i++) {
		raw_read_all(c, NULL);
		settle(c);
	}
	assert_int_equal(c->messages, n + 1);
	assert_int_equal(c->error, -EMSGSIZE);
}

ANSWERING(freed_while_held)
{
	ask_until_full(c, 100000);
	free_msgsock(c);
	settle(c);
	assert_int_equal(c->closes, 0);
}

ANSWERING(free_in_on_drained_after_holding)
{
	unsigned held;

	ask_until_full(c, 100000);
	held = c->messages;
	c->what = FREE_ON_DRAINED;
	for (int i = 0; i < 1000 && c->m; i++) {
		raw_read_all(c, NULL);
		settle(c);
	}
	assert_null(c->m);
	assert_int_equal(c->messages, held);
}

/* ---- the two sides of a real connection: one answers and holds, the other reads always ---- */

struct asker {
	struct msgsock *m;
	unsigned answers, closes;
};

static void on_answer(void *ctx, const uint8_t *data, size_t len)
{
	struct asker *a = ctx;

	a->answers += len == REQUEST;
}

static void on_asker_close(void *ctx, int error)
{
	((struct asker *)ctx)->closes++;
}

ANSWERING(nothing_stalls_when_one_side_holds)
{
	enum { N = 20000 };
	static const struct msgsock_ops asker_ops = {.on_message = on_answer,
						     .on_close = on_asker_close};
	struct asker a = {0};
	static uint8_t request[REQUEST];

	assert_int_equal(msgsock_new(c->loop, c->raw, LIMIT, &asker_ops, &a, &a.m), 0);
	c->raw = -1;
	for (int i = 0; i < N; i++)
		assert_int_equal(msgsock_send(a.m, &(struct iovec){request, REQUEST}, 1, -1), 0);
	for (int i = 0; i < 100000 && a.answers < N; i++) {
		event_base_loop(c->loop, EVLOOP_NONBLOCK);
		assert_in_range(msgsock_queued(c->m), 0, HOLD + 4 + REQUEST);
	}
	assert_int_equal(a.answers, N);
	assert_int_equal(a.closes + c->closes, 0);
	msgsock_free(a.m);
}
