/* SPDX-License-Identifier: Apache-2.0 */
#include <poll.h>
#include <sys/socket.h>

#include "unit/test.h"
static int fake_poll(struct pollfd *fds, nfds_t n, int timeout_ms);
#define poll(fds, n, timeout_ms) fake_poll(fds, n, timeout_ms)
#include "lib/channel/out_queue.c"
#undef poll

static int ends[2]; /* of the socket: ours, the peer's */
static bool peer_reads;

static void read_all(void)
{
	char bytes[4096];

	while (recv(ends[1], bytes, sizeof(bytes), MSG_DONTWAIT) > 0)
		;
}

/* Does not wait: the peer reads during the call, or not at all. */
static int fake_poll(struct pollfd *fds, nfds_t n, int timeout_ms)
{
	(void)fds, (void)n, (void)timeout_ms;
	if (peer_reads)
		read_all();
	return peer_reads;
}

static void fill_socket(void)
{
	char byte = 0;

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
	while (send(ends[0], &byte, 1, MSG_DONTWAIT) == 1)
		;
	assert_int_equal(errno, EAGAIN);
}

static void close_socket(void)
{
	close(ends[0]);
	close(ends[1]);
}

static bool peer_gets_descriptor(void)
{
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control;
	char bytes[64];
	struct iovec part = {bytes, sizeof(bytes)};
	struct msghdr m = {.msg_iov = &part,
			   .msg_iovlen = 1,
			   .msg_control = control.bytes,
			   .msg_controllen = sizeof(control.bytes)};
	int fd;

	assert_true(recvmsg(ends[1], &m, MSG_DONTWAIT) > 0);
	if (m.msg_controllen == 0)
		return false;
	memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&m)), sizeof(fd));
	close(fd);
	return true;
}

static int put(struct out_queue *q, const char *text, int fd)
{
	const struct iovec part = {(void *)text, strlen(text)};

	return out_queue_put(q, ends[0], &part, 1, fd);
}

TEST(a_descriptor_waits_for_the_socket)
{
	struct out_queue q = {0};

	fill_socket();
	peer_reads = true;
	assert_int_equal(put(&q, "frame", STDIN_FILENO), 0);
	assert_true(peer_gets_descriptor());
	out_queue_deinit(&q);
	close_socket();
}

TEST(a_descriptor_is_not_queued)
{
	struct out_queue q = {0};

	fill_socket();
	peer_reads = false;
	assert_int_equal(put(&q, "frame", STDIN_FILENO), -ENOBUFS);
	assert_int_equal(q.len, 0);
	assert_int_equal(put(&q, "frame", -1), -EAGAIN);
	assert_int_equal(put(&q, "frame", STDIN_FILENO), -ENOBUFS);
	assert_int_equal(q.len, strlen("frame"));
	out_queue_deinit(&q);
	close_socket();
}

TEST(queued_bytes_are_sent_first)
{
	struct out_queue q = {0};
	char bytes[16];

	fill_socket();
	assert_int_equal(put(&q, "one ", -1), -EAGAIN);
	assert_int_equal(out_queue_send(&q, ends[0]), -EAGAIN);
	read_all();
	assert_int_equal(put(&q, "two", -1), 0);
	assert_int_equal(recv(ends[1], bytes, sizeof(bytes), MSG_DONTWAIT), 7);
	assert_memory_equal(bytes, "one two", 7);
	out_queue_deinit(&q);
	close_socket();
}
