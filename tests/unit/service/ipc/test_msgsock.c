/* SPDX-License-Identifier: Apache-2.0 */
#include <malloc.h>

#include "unit/service/ipc/msgsock_fixture.h"
#include "unit/test.h"

TEST_STATE(every_fragmentation_gives_the_same_messages, setup, teardown, struct connection *c)
{
	static const size_t lengths[] = {1, 0, 5, 300, 0, 0, 2, 4090, 9000, 1};
	static uint8_t stream[16384];
	size_t n = 0;

	for (size_t i = 0; i < ARRAY_SIZE(lengths); i++)
		n += put_message(stream + n, lengths[i], (uint8_t)(0x10 + i));
	for (size_t cut = 0; cut <= n; cut += cut < 350 || cut > n - 50 ? 1 : 37) {
		raw_send(c, stream, cut);
		settle(c);
		raw_send(c, stream + cut, n - cut);
		settle(c);
		assert_string_equal(c->got.s, "1:10;5:12;300:13;2:16;4090:17;9000:18;1:19;");
		strbuf_clear(&c->got);
	}
	assert_int_equal(c->closes, 0);
}

#define CONN(name) TEST_STATE(name, setup, teardown, struct connection *c)

CONN(largest_message_passes)
{
	static uint8_t stream[2 * (MSGSOCK_MAX_MESSAGE + 4)];
	size_t n = put_message(stream, MSGSOCK_MAX_MESSAGE, 'x');

	n += put_message(stream + n, MSGSOCK_MAX_MESSAGE, 'y');
	raw_send_all(c, stream, n);
	assert_string_equal(c->got.s, "131068:78;131068:79;");
	assert_int_equal(c->closes, 0);
	assert_memory_equal(c->bytes.s, stream + 4, MSGSOCK_MAX_MESSAGE);
}

CONN(too_large_a_message_ends_the_connection)
{
	static const uint32_t lengths[] = {MSGSOCK_MAX_MESSAGE + 1, 1u << 24, 0x7fffffff,
					   0x80000000, 0xffffffff};
	uint8_t stream[64];

	for (size_t i = 0; i < ARRAY_SIZE(lengths); i++) {
		size_t n = put_message(stream, 2, 'a');

		put_message(stream + n, 8, 'b');
		memcpy(stream + n, &lengths[i], 4);
		raw_send(c, stream, n + 12);
		settle(c);
		assert_string_equal(c->got.s, "2:61;");
		assert_int_equal(c->closes, 1);
		assert_int_equal(c->error, -EMSGSIZE);
		assert_int_equal(c->messages_at_close, 1);
		assert_int_equal(msgsock_send(c->m, NULL, 0, -1), -EPIPE);
		settle(c);
		assert_int_equal(c->closes, 1);
		reopen(c, LIMIT);
	}
}

CONN(data_before_the_end_is_delivered_first)
{
	static uint8_t stream[150000];
	size_t n = put_message(stream, 3, 'a');

	n += put_message(stream + n, 140000 - 30000, 'b');
	n += put_message(stream + n, 4, 'c');
	raw_send(c, stream, n);
	close_raw(c);
	settle(c);
	assert_string_equal(c->got.s, "3:61;110000:62;4:63;");
	assert_int_equal(c->closes, 1);
	assert_int_equal(c->error, 0);
	assert_int_equal(c->messages_at_close, 3);
}

CONN(part_of_a_message_at_the_end_is_dropped)
{
	uint8_t stream[64];
	size_t n = put_message(stream, 10, 'a');

	for (size_t cut = 0; cut < n; cut++) {
		raw_send(c, stream, cut);
		close_raw(c);
		settle(c);
		assert_int_equal(c->messages, 0);
		assert_int_equal(c->closes, 1);
		assert_int_equal(c->error, 0);
		reopen(c, LIMIT);
	}
}

/* A peer that dies with our bytes unread resets the connection; its own bytes come first. */
CONN(reset_is_told_after_the_data)
{
	uint8_t stream[64];
	size_t n = put_message(stream, 3, 'a');

	assert_int_equal(msgsock_send(c->m, &(struct iovec){"unread", 6}, 1, -1), 0);
	raw_send(c, stream, n);
	close_raw(c);
	settle(c);
	assert_string_equal(c->got.s, "3:61;");
	assert_int_equal(c->closes, 1);
	assert_int_equal(c->error, -ECONNRESET);
}

/* A busy peer has its turn and no more. */
TEST_WITH(busy_peer_does_not_starve_the_others, setup, teardown)
{
	struct connection *c = *state, other;
	int size = 4 << 20;
	static uint8_t stream[1 << 20];
	size_t n = 0, turn;

	setsockopt(c->raw, SOL_SOCKET, SO_SNDBUFFORCE, &size, sizeof(size));
	while (n + 1004 <= sizeof(stream))
		n += put_message(stream + n, 1000, 'b');
	if (send(c->raw, stream, n, MSG_NOSIGNAL | MSG_DONTWAIT) < (ssize_t)n / 2)
		skip(); /* the socket's buffer cannot be made large enough here */
	open_in(&other, c->loop, LIMIT);
	raw_send(&other, stream, 1004);
	for (turn = 0; other.messages == 0 && turn < 2; turn++)
		event_base_loop(c->loop, EVLOOP_ONCE);
	assert_int_equal(other.messages, 1);
	assert_in_range(c->messages, 1, turn * (131072 + 4096) / 1004);
	shut(&other);
	settle(c);
	assert_true(c->messages > 300);
}

static size_t heap_used(void)
{
	struct mallinfo2 m = mallinfo2();

	return m.uordblks + m.hblkhd;
}

CONN(idle_connections_are_small)
{
	enum { N = 200 };
	static struct connection many[N];
	static uint8_t stream[MSGSOCK_MAX_MESSAGE + 4];
	size_t before = heap_used(), n = put_message(stream, MSGSOCK_MAX_MESSAGE, 'x');

	for (int i = 0; i < N; i++) {
		open_in(&many[i], c->loop, LIMIT);
		raw_send_all(&many[i], stream, n);
		assert_int_equal(many[i].messages, 1);
		strbuf_deinit(&many[i].bytes);
		strbuf_deinit(&many[i].got);
	}
	/* also after much was queued for sending */
	for (int i = 0; i < N; i++) {
		for (int k = 0; k < 4; k++)
			msgsock_send(many[i].m, &(struct iovec){stream, 120000}, 1, -1);
		while (msgsock_queued(many[i].m) > 0) {
			raw_read_all(&many[i], NULL);
			settle(&many[i]);
		}
	}
	assert_true(heap_used() - before < N * 1024);
	for (int i = 0; i < N; i++)
		shut(&many[i]);
}

/* ---- received descriptors ---- */

CONN(descriptor_comes_with_its_message)
{
	struct watched w;
	int fd = watched_new(&w);
	uint8_t stream[64];
	size_t n = put_message(stream, 3, 'a');

	raw_send_fds(c, stream, n, &fd, 1);
	close(fd);
	settle(c);
	assert_int_equal(c->fds, 1);
	assert_true(watched_is(&w, c->fd));
	assert_int_equal(fcntl(c->fd, F_GETFD), FD_CLOEXEC);
	assert_int_equal(msgsock_pop_fd(c->m), -1);
	close(TAKE_FD(c->fd));
	assert_true(watched_closed(&w));
	close(w.reader);
}

CONN(descriptor_waits_for_the_rest_of_its_message)
{
	struct watched w;
	int fd = watched_new(&w);
	uint8_t stream[64];
	size_t n = put_message(stream, 20, 'a');

	raw_send_fds(c, stream, 1, &fd, 1);
	close(fd);
	for (size_t i = 1; i < n; i++) {
		settle(c);
		assert_int_equal(c->fds, 0);
		raw_send(c, stream + i, 1);
	}
	settle(c);
	assert_true(watched_is(&w, c->fd));
	close(w.reader);
}

CONN(newer_descriptor_replaces_an_older_one)
{
	struct watched a, b;
	int fd_a = watched_new(&a), fd_b = watched_new(&b);
	uint8_t stream[64];
	size_t n = put_message(stream, 3, 'a');

	c->take_fds = false;
	raw_send_fds(c, stream, n, &fd_a, 1);
	settle(c);
	raw_send_fds(c, stream, n, &fd_b, 1);
	settle(c);
	close(fd_a);
	close(fd_b);
	assert_int_equal(c->messages, 2);
	assert_true(watched_closed(&a));
	c->fd = msgsock_pop_fd(c->m);
	assert_true(watched_is(&b, c->fd));
	close(a.reader);
	close(b.reader);
}

CONN(surplus_descriptor_is_closed)
{
	struct watched a, b;
	int fds[2] = {watched_new(&a), watched_new(&b)};
	uint8_t stream[64];
	size_t n = put_message(stream, 3, 'a');

	raw_send_fds(c, stream, n, fds, 2);
	close(fds[0]);
	close(fds[1]);
	settle(c);
	assert_int_equal(c->closes, 0);
	assert_true(watched_closed(&a));
	assert_true(watched_is(&b, c->fd));
	close(a.reader);
	close(b.reader);
}

CONN(too_many_descriptors_end_the_connection)
{
	struct watched w[5];
	int fds[5];
	uint8_t stream[64];
	size_t n = put_message(stream, 3, 'a');

	for (int i = 0; i < 5; i++)
		fds[i] = watched_new(&w[i]);
	raw_send(c, stream, n);
	settle(c);
	raw_send_fds(c, stream, n, fds, 5);
	for (int i = 0; i < 5; i++)
		close(fds[i]);
	settle(c);
	assert_int_equal(c->closes, 1);
	assert_int_equal(c->error, -ETOOMANYREFS);
	/* the message that has lost its descriptors is not delivered without them */
	assert_int_equal(c->messages, 1);
	free_msgsock(c);
	for (int i = 0; i < 5; i++) {
		assert_true(watched_closed(&w[i]));
		close(w[i].reader);
	}
}

CONN(descriptor_not_taken_goes_with_the_connection)
{
	struct watched w;
	int fd = watched_new(&w);
	uint8_t stream[64];
	size_t n = put_message(stream, 3, 'a');

	c->take_fds = false;
	raw_send_fds(c, stream, n, &fd, 1);
	close(fd);
	settle(c);
	assert_int_equal(c->messages, 1);
	assert_false(watched_closed(&w));
	free_msgsock(c);
	assert_true(watched_closed(&w));
	close(w.reader);
}

/* ---- life ---- */

CONN(memory_is_told_as_it_comes_and_goes)
{
	static uint8_t stream[70000];
	size_t idle = c->memory, n = put_message(stream, 60000, 'a');

	assert_true(idle > 0 && idle <= 8192);
	raw_send(c, stream, n / 2);
	settle(c);
	assert_true(c->memory >= n);
	raw_send(c, stream + n / 2, n - n / 2);
	settle(c);
	assert_int_equal(c->messages, 1);
	assert_int_equal(c->memory, idle);
	while (msgsock_queued(c->m) == 0)
		assert_int_equal(msgsock_send(c->m, &(struct iovec){stream, n}, 1, -1), 0);
	assert_true(c->memory > idle);
}

CONN(memory_that_is_refused_ends_the_connection)
{
	static uint8_t stream[70000];
	size_t n = put_message(stream, 60000, 'a');

	c->max_memory = 20000;
	raw_send(c, stream, put_message(stream, 10000, 'b'));
	settle(c);
	assert_int_equal(c->messages, 1);
	put_message(stream, 60000, 'a');
	raw_send(c, stream, n / 2);
	settle(c);
	assert_int_equal(c->closes, 1);
	assert_int_equal(c->error, -EDQUOT);
}

CONN(replies_that_are_refused_end_it_too)
{
	static uint8_t bytes[60000];
	int r = 0;

	c->max_memory = 20000;
	while (r == 0)
		r = msgsock_send(c->m, &(struct iovec){bytes, sizeof(bytes)}, 1, -1);
	assert_int_equal(r, -EPIPE);
	settle(c);
	assert_int_equal(c->closes, 1);
	assert_int_equal(c->error, -EDQUOT);
}

CONN(nothing_comes_after_free_in_on_message)
{
	uint8_t stream[64];
	size_t n = put_message(stream, 3, 'a');

	n += put_message(stream + n, 3, 'b');
	raw_send(c, stream, n);
	close_raw(c);
	c->what = FREE_ON_MESSAGE;
	settle(c);
	assert_int_equal(c->messages, 1);
	assert_string_equal(c->bytes.s, "aaaaaa");
	assert_int_equal(c->closes, 0);
}

CONN(free_in_on_close)
{
	uint8_t stream[64];

	c->what = FREE_ON_CLOSE;
	raw_send(c, stream, put_message(stream, 3, 'a'));
	close_raw(c);
	settle(c);
	assert_int_equal(c->messages, 1);
	assert_int_equal(c->closes, 1);
	assert_null(c->m);
}

CONN(closed_msgsock_may_be_kept_for_a_while)
{
	close_raw(c);
	settle(c);
	assert_int_equal(c->closes, 1);
	assert_int_equal(msgsock_send(c->m, NULL, 0, -1), -EPIPE);
	assert_int_equal(msgsock_queued(c->m), 0);
	assert_int_equal(msgsock_pop_fd(c->m), -1);
	settle(c);
	assert_int_equal(c->closes, 1);
}

static void no_warning(int severity, const char *message)
{
}

CONN(descriptor_stays_the_callers_when_new_fails)
{
	struct connection other = {.what = NOTHING};
	struct msgsock *m = (void *)c;
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

	event_set_log_callback(no_warning);
	assert_true(msgsock_new(c->loop, fd, LIMIT, &ops, &other, &m) < 0); /* no epoll for files */
	event_set_log_callback(NULL);
	assert_ptr_equal(m, c);
	assert_int_equal(fcntl(fd, F_GETFD), FD_CLOEXEC);
	close(fd);
}
