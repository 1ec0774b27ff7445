/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/service/ipc/msgsock_fixture.h"
#include "unit/test.h"

#define CONN(name) TEST_STATE(name, setup, teardown, struct connection *c)

CONN(pieces_make_one_message)
{
	_cleanup_(strbuf_deinit) struct strbuf got = {0};
	const struct iovec pieces[] = {{"ab", 2}, {"", 0}, {NULL, 0}, {"cde", 3}};

	assert_int_equal(msgsock_send(c->m, pieces, 4, -1), 0);
	assert_int_equal(msgsock_send(c->m, NULL, 0, -1), 0);
	assert_int_equal(msgsock_send(c->m, pieces, 1, -1), 0);
	assert_int_equal(msgsock_queued(c->m), 0);
	raw_read_all(c, &got);
	assert_int_equal(got.len, 9 + 4 + 6);
	assert_memory_equal(got.s, "\5\0\0\0abcde\0\0\0\0\2\0\0\0ab", got.len);
	settle(c);
	assert_int_equal(c->drains, 0);
}

CONN(any_number_of_pieces)
{
	struct iovec pieces[3000];
	uint8_t bytes[3000];
	static const int counts[] = {1, 63, 64, 65, 1023, 1024, 1025, 3000};

	for (int i = 0; i < 3000; i++) {
		bytes[i] = (uint8_t)(i * 31);
		pieces[i] = (struct iovec){&bytes[i], 1};
	}
	for (size_t k = 0; k < ARRAY_SIZE(counts); k++) {
		_cleanup_(strbuf_deinit) struct strbuf got = {0};
		uint32_t n = (uint32_t)counts[k];

		assert_int_equal(msgsock_send(c->m, pieces, counts[k], -1), 0);
		settle(c);
		assert_int_equal(msgsock_queued(c->m), 0);
		raw_read_all(c, &got);
		assert_int_equal(got.len, 4 + n);
		assert_memory_equal(got.s, &n, 4);
		assert_memory_equal(got.s + 4, bytes, n);
	}
}

CONN(too_large_a_message_is_not_sent)
{
	static uint8_t big[MSGSOCK_MAX_MESSAGE + 1];
	const struct iovec two[] = {{big, MSGSOCK_MAX_MESSAGE}, {big, 1}};
	const struct iovec wraps[] = {{big, 100}, {big, SIZE_MAX - 50}};

	assert_int_equal(msgsock_send(c->m, two, 2, -1), -EMSGSIZE);
	assert_int_equal(msgsock_send(c->m, wraps, 2, -1), -EMSGSIZE);
	assert_int_equal(msgsock_queued(c->m), 0);
	assert_int_equal(raw_read_all(c, NULL), 0);
	assert_int_equal(msgsock_send(c->m, two, 1, -1), 0);
	settle(c);
	assert_int_equal(c->closes, 0);
}

CONN(what_the_socket_does_not_take_is_queued)
{
	_cleanup_(strbuf_deinit) struct strbuf want = {0}, got = {0};
	static uint8_t message[MSGSOCK_MAX_MESSAGE + 4];
	uint64_t rng = 3;

	while (want.len < 3u << 20) {
		size_t len = rng_below(&rng, rng_below(&rng, 8) ? 300 : MSGSOCK_MAX_MESSAGE + 1);
		size_t half = len / 2;
		struct iovec pieces[2] = {{message + 4, half}, {message + 4 + half, len - half}};

		put_message(message, len, 0);
		rng_bytes(&rng, message + 4, len);
		strbuf_add(&want, message, 4 + len);
		assert_int_equal(msgsock_send(c->m, pieces, 2, -1), 0);
		/* now and then some of it leaves, so that the queue has a head and a tail */
		if (rng_below(&rng, 40) == 0) {
			raw_read_all(c, &got);
			settle(c);
		}
	}
	assert_true(msgsock_queued(c->m) > 1u << 20);
	while (msgsock_queued(c->m) > 0) {
		raw_read_all(c, &got);
		settle(c);
	}
	raw_read_all(c, &got);
	assert_int_equal(got.len, want.len);
	assert_memory_equal(got.s, want.s, want.len);
	assert_true(c->drains >= 1);
	assert_int_equal(c->closes, 0);
}

/* Fills the socket to the brim and queues the rest; gives the number of messages that it took. */
static unsigned fill(struct connection *c)
{
	static uint8_t big[60000];
	unsigned n = 0;

	for (; msgsock_queued(c->m) == 0; n++)
		assert_int_equal(msgsock_send(c->m, &(struct iovec){big, sizeof(big)}, 1, -1), 0);
	return n;
}

/* Reads messages byte by byte; gives the index of the message whose first byte brought an fd, and
 * fails when one comes on another byte. -1: none. */
static int read_messages(struct connection *c, unsigned n, int *ret_fd)
{
	int with_fd = -1;

	*ret_fd = -1;
	for (unsigned i = 0; i < n; i++) {
		uint32_t len = 0;

		for (uint32_t at = 0; at < 4 + len; at++) {
			uint8_t byte;
			int fd;

			while (!raw_read_byte(c, &byte, &fd))
				event_base_loop(c->loop, EVLOOP_NONBLOCK);
			if (at < 4)
				len |= (uint32_t)byte << 8 * at;
			if (fd < 0)
				continue;
			assert_int_equal(at, 0);
			assert_int_equal(with_fd, -1);
			with_fd = (int)i;
			*ret_fd = fd;
		}
	}
	return with_fd;
}

CONN(descriptor_rides_on_the_first_byte_of_a_direct_message)
{
	struct watched w;
	int fd = watched_new(&w), got;

	assert_int_equal(msgsock_send(c->m, &(struct iovec){"aa", 2}, 1, -1), 0);
	assert_int_equal(msgsock_send(c->m, &(struct iovec){"bb", 2}, 1, fd), 0);
	assert_int_equal(msgsock_send(c->m, &(struct iovec){"cc", 2}, 1, -1), 0);
	assert_int_equal(fcntl(fd, F_GETFD), FD_CLOEXEC); /* borrowed: still ours */
	close(fd);
	assert_int_equal(read_messages(c, 3, &got), 1);
	assert_true(watched_is(&w, got));
	close(got);
	assert_true(watched_closed(&w));
	close(w.reader);
}

/* The socket takes a part of the message; the fd has gone with that part and is not sent again. */
CONN(descriptor_of_a_partly_sent_message_is_sent_once)
{
	static uint8_t big[MSGSOCK_MAX_MESSAGE];
	struct watched w;
	int fd = watched_new(&w), got, size = 4096;

	setsockopt(msgsock_fd(c->m), SOL_SOCKET, SO_SNDBUF, &size, sizeof(size));
	assert_int_equal(msgsock_send(c->m, &(struct iovec){big, sizeof(big)}, 1, fd), 0);
	assert_in_range(msgsock_queued(c->m), 1, sizeof(big));
	assert_int_equal(msgsock_send(c->m, &(struct iovec){"b", 1}, 1, -1), 0);
	close(fd);
	assert_int_equal(read_messages(c, 2, &got), 0);
	assert_true(watched_is(&w, got));
	close(got);
	assert_true(watched_closed(&w));
	close(w.reader);
}

CONN(descriptors_of_queued_messages_wait_with_them)
{
	struct watched w[3];
	unsigned before = fill(c);
	int got;

	for (int i = 0; i < 3; i++) {
		int fd = watched_new(&w[i]);

		assert_int_equal(msgsock_send(c->m, &(struct iovec){"x", 1}, 1, fd), 0);
		assert_int_equal(msgsock_send(c->m, &(struct iovec){"yy", 2}, 1, -1), 0);
		close(fd);
		assert_false(watched_closed(&w[i])); /* a copy waits in the queue */
	}
	assert_int_equal(read_messages(c, before, &got), -1);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(read_messages(c, 2, &got), 0);
		assert_true(watched_is(&w[i], got));
		close(got);
		assert_true(watched_closed(&w[i]));
		close(w[i].reader);
	}
	assert_int_equal(msgsock_queued(c->m), 0);
}

static void skip_bytes(struct connection *c, size_t n)
{
	while (n > 0) {
		uint8_t byte;
		int fd;

		if (raw_read_byte(c, &byte, &fd))
			n--;
		else
			event_base_loop(c->loop, EVLOOP_NONBLOCK);
		assert_int_equal(fd, -1);
	}
}

/* The queue moves to the front of its memory; the descriptors keep to their bytes. */
CONN(descriptors_move_with_the_queue)
{
	static uint8_t big[100000];
	struct watched w[2];
	int size = 4096, fd, got;

	setsockopt(msgsock_fd(c->m), SOL_SOCKET, SO_SNDBUF, &size, sizeof(size));
	assert_int_equal(msgsock_send(c->m, &(struct iovec){big, sizeof(big)}, 1, -1), 0);
	for (int i = 0; i < 2; i++) {
		if (i == 1)
			skip_bytes(c, 80000); /* more has gone than is left */
		fd = watched_new(&w[i]);
		assert_int_equal(msgsock_send(c->m, &(struct iovec){"x", 1}, 1, fd), 0);
		close(fd);
	}
	assert_in_range(msgsock_queued(c->m), 5000, 40000);
	skip_bytes(c, 4 + sizeof(big) - 80000);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(read_messages(c, 1, &got), 0);
		assert_true(watched_is(&w[i], got));
		close(got);
		close(w[i].reader);
	}
}

CONN(freeing_closes_queued_descriptors)
{
	struct watched w;
	int fd = watched_new(&w);

	fill(c);
	assert_int_equal(msgsock_send(c->m, &(struct iovec){"x", 1}, 1, fd), 0);
	close(fd);
	assert_false(watched_closed(&w));
	free_msgsock(c);
	assert_true(watched_closed(&w));
	close(w.reader);
}

/* ---- the limit, and the end ---- */

CONN(full_queue_ends_the_connection)
{
	static uint8_t big[10000];
	uint8_t stream[64];
	unsigned sent = 0;

	reopen(c, 100000);
	/* it had something to say before */
	raw_send(c, stream, put_message(stream, 3, 'a'));
	while (msgsock_send(c->m, &(struct iovec){big, sizeof(big)}, 1, -1) == 0) {
		assert_in_range(msgsock_queued(c->m), 0, 100000);
		assert_true(++sent < 1000);
	}
	assert_int_equal(c->closes, 0); /* from the loop, not from msgsock_send */
	assert_int_equal(msgsock_queued(c->m), 0);
	assert_int_equal(msgsock_send(c->m, NULL, 0, -1), -EPIPE);
	settle(c);
	assert_string_equal(c->got.s, "3:61;");
	assert_int_equal(c->closes, 1);
	assert_int_equal(c->error, -ENOBUFS);
	assert_int_equal(c->messages_at_close, 1);
	assert_int_equal(c->drains, 0);
	/* and the peer sees the end, after what had gone out */
	raw_read_all(c, NULL);
	assert_int_equal(recv(c->raw, big, 1, MSG_DONTWAIT), 0);
}

CONN(sending_to_a_peer_that_left)
{
	uint8_t stream[64];
	size_t n = put_message(stream, 3, 'a');

	n += put_message(stream + n, 4, 'b');
	raw_send(c, stream, n);
	close_raw(c);
	assert_int_equal(msgsock_send(c->m, &(struct iovec){"x", 1}, 1, -1), -EPIPE);
	assert_int_equal(c->closes, 0);
	settle(c);
	assert_string_equal(c->got.s, "3:61;4:62;");
	assert_int_equal(c->closes, 1);
	assert_int_equal(c->error, -EPIPE);
	assert_int_equal(c->messages_at_close, 2);
}

/* The first answer fails; the messages behind it in the same buffer still come. */
CONN(sending_from_on_message_to_a_peer_that_left)
{
	uint8_t stream[64];
	size_t n = 0;

	for (int i = 0; i < 5; i++)
		n += put_message(stream + n, 3, (uint8_t)('a' + i));
	raw_send(c, stream, n);
	close_raw(c);
	c->what = SEND_ON_MESSAGE;
	settle(c);
	assert_int_equal(c->messages, 5);
	assert_int_equal(c->closes, 1);
	assert_int_equal(c->messages_at_close, 5);
}

CONN(queue_to_a_peer_that_left_is_dropped)
{
	struct watched w;
	int fd = watched_new(&w);

	fill(c);
	assert_int_equal(msgsock_send(c->m, &(struct iovec){"x", 1}, 1, fd), 0);
	close(fd);
	close_raw(c);
	settle(c);
	assert_int_equal(c->closes, 1);
	assert_true(c->error < 0);
	assert_int_equal(c->drains, 0);
	assert_int_equal(msgsock_queued(c->m), 0);
	assert_true(watched_closed(&w));
	close(w.reader);
}

/* ---- draining ---- */

CONN(free_in_on_drained)
{
	c->what = FREE_ON_DRAINED;
	fill(c);
	for (int i = 0; i < 100 && c->m; i++) {
		raw_read_all(c, NULL);
		settle(c);
	}
	assert_null(c->m);
	assert_int_equal(c->drains, 1);
	assert_int_equal(c->closes, 0);
}
