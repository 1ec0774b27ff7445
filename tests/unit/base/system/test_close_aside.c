/* SPDX-License-Identifier: Apache-2.0 */
#include <poll.h>

#include "unit/test.h"
#include "base/system/close_aside.h"

/* Makes a pipe, of which the writing end is to be closed. */
static int writing_end(int *ret_reader)
{
	int fds[2];

	assert_int_equal(pipe(fds), 0);
	*ret_reader = fds[0];
	return fds[1];
}

/* The end of the pipe comes. */
static void assert_closed(int reader)
{
	struct pollfd p = {.fd = reader, .events = POLLIN};

	assert_int_equal(poll(&p, 1, 60000), 1);
	assert_true(p.revents & POLLHUP);
	close(reader);
}

TEST(without_threads_it_is_closed_at_once)
{
	int reader, fd = writing_end(&reader);

	close_aside(fd, 1);
	assert_int_equal(fcntl(fd, F_GETFD), -1);
	assert_int_equal(errno, EBADF);
	assert_int_equal(close_aside_waiting(1), 0);
	close_aside(-1, 1);
	close(reader);
}

TEST(threads_close_all)
{
	int readers[200];

	assert_int_equal(close_aside_start(), 0);
	for (size_t i = 0; i < 200; i++)
		close_aside(writing_end(&readers[i]), i % 3);
	for (size_t i = 0; i < 200; i++)
		assert_closed(readers[i]);
	close_aside(-1, 1);
}
