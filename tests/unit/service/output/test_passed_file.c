/* SPDX-License-Identifier: Apache-2.0 */
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include "unit/test.h"
#include "service/output/passed_file.c"

static int check_and_close(int fd)
{
	struct err_text e;
	int r = check(fd, 4242, &e);

	assert_true(fd >= 0);
	if (r < 0)
		assert_non_null(strstr(e.text, "neither a regular file nor a pipe"));
	close(fd);
	return r;
}

TEST(files_and_pipes_are_good)
{
	int fds[2];

	assert_int_equal(check_and_close(memfd_create("file", 0)), 0);
	assert_int_equal(check_and_close(open("/dev/null", O_WRONLY)), 0);
	assert_int_equal(pipe(fds), 0);
	assert_int_equal(check_and_close(fds[0]), 0);
	assert_int_equal(check_and_close(fds[1]), 0);
}

TEST(anything_else_is_refused)
{
	assert_int_equal(check_and_close(socket(AF_UNIX, SOCK_DGRAM, 0)), -EINVAL);
	assert_int_equal(check_and_close(socket(AF_INET, SOCK_STREAM, 0)), -EINVAL);
	assert_int_equal(check_and_close(eventfd(0, 0)), -EINVAL);
	assert_int_equal(check_and_close(open("/dev/zero", O_RDWR)), -EINVAL);
	assert_int_equal(check_and_close(open("/", O_RDONLY | O_DIRECTORY)), -EINVAL);
}
