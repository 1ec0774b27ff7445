/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "unit/test.h"
#include "service/output/file_writer.h"
#include "service/ipc/limits.h"
#include "unit/temp_dir.h"

static struct file_writer *writer;

static int setup(void **state)
{
	return temp_dir_setup(state) ||
	       file_writer_new((struct priority_boost){PRIORITY_BOOST_NONE, 0}, &writer);
}

static int teardown(void **state)
{
	file_writer_free(writer);
	return temp_dir_teardown(state);
}

/* n packets of 98 bytes, 100 with their heads. */
static uint8_t *records(char c, size_t n)
{
	uint8_t *buf = malloc(n * 100 + 1);

	assert_non_null(buf);
	memset(buf, c, n * 100);
	for (size_t i = 0; i < n; i++) {
		buf[i * 100] = 0x0a;
		buf[i * 100 + 1] = 98;
	}
	return buf;
}

static void give(struct file_writer *w, uint64_t id, int fd, char c, size_t n)
{
	assert_int_equal(file_writer_write(w, id, fd, records(c, n), n * 100, n * 100), 0);
}

static struct file_result await(struct file_writer *w)
{
	struct file_result r = {0};

	assert_int_equal(file_writer_wait(w, -1), 0);
	assert_int_equal(file_writer_next(w, &r), 1);
	return r;
}

static off_t size_at(const char *path)
{
	struct stat st;

	return stat(path, &st) ? -1 : st.st_size;
}

#define WRITER_TEST(name) TEST_WITH(name, setup, teardown)

WRITER_TEST(jobs_are_done_in_their_order_and_buffers_come_back)
{
	const char *path = temp_dir_path(state, 0, "file");
	int fd = open(path, O_RDWR | O_CREAT, 0600);
	struct file_result r;
	char c;

	give(writer, 1, fd, 'a', 3);
	give(writer, 2, fd, 'b', 2);
	assert_int_equal(file_writer_sync(writer, 3, fd), 0);
	assert_int_equal(file_writer_pending(writer), 3);
	r = await(writer);
	assert_int_equal(r.id, 1);
	assert_int_equal(r.error, 0);
	assert_int_equal(r.kept, 300);
	assert_false(r.removed);
	free(r.buf);
	r = await(writer);
	assert_int_equal(r.id, 2);
	free(r.buf);
	r = await(writer);
	assert_int_equal(r.id, 3);
	assert_null(r.buf);
	assert_int_equal(file_writer_pending(writer), 0);
	assert_int_equal(pread(fd, &c, 1, 302), 1);
	assert_int_equal(c, 'b');
	assert_int_equal(size_at(path), 500);
	file_writer_cut(writer, fd, 300);
	unlink(path);
	give(writer, 4, fd, 'c', 1);
	r = await(writer);
	assert_true(r.removed);
	free(r.buf);
	assert_int_equal(lseek(fd, 0, SEEK_END), 400);
	file_writer_close(writer, fd);
	assert_int_equal(file_writer_sync(writer, 5, fd), 0);
	assert_int_equal(await(writer).error, -EBADF);
}

/* RLIMIT_FSIZE cuts a write short as a full disk does. */
WRITER_TEST(what_a_full_disk_takes_ends_with_a_whole_record)
{
	const char *path = temp_dir_path(state, 0, "file");
	int fd = open(path, O_RDWR | O_CREAT, 0600);
	struct rlimit before, small;
	struct file_result r;

	assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
	small = before;
	small.rlim_cur = 450;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
	give(writer, 1, fd, 'a', 1);
	free(await(writer).buf);
	give(writer, 1, fd, 'b', 10);
	r = await(writer);
	free(r.buf);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
	assert_int_equal(r.error, -EFBIG);
	assert_int_equal(r.len, 1000);
	assert_int_equal(r.kept, 300);
	assert_int_equal(size_at(path), 400);
	close(fd);
}

/* A pipe that nobody reads stands in for a file system that hangs: write(2) does not return. */
WRITER_TEST(a_file_that_hangs_holds_up_nobody_and_takes_one_of_so_many_places)
{
	static struct file_writer *hung[MAX_FILE_WRITERS];
	struct file_writer *one = NULL;
	struct file_result r;
	size_t n = 0;
	int fds[2], r_new;

	assert_int_equal(pipe(fds), 0);
	while ((r_new = file_writer_new((struct priority_boost){PRIORITY_BOOST_NONE, 0},
					&hung[n])) == 0) {
		int fd = dup(fds[1]);

		give(hung[n], 1, fd, 'a', 10000);
		give(hung[n], 2, fd, 'b', 10000);
		assert_int_equal(file_writer_next(hung[n], &r), 0);
		file_writer_close(hung[n], fd);
		n++;
	}
	assert_int_equal(r_new, -EUSERS);
	assert_in_range(n, 1, MAX_FILE_WRITERS - 1); /* there is the one of the fixture */
	for (size_t i = 0; i < n; i++)
		file_writer_free(hung[i]);
	assert_int_equal(file_writer_new((struct priority_boost){PRIORITY_BOOST_NONE, 0}, &one),
			 -EUSERS);
	/* Then it fails, the threads end, and their places are free. */
	close(fds[0]);
	close(fds[1]);
	while (file_writer_new((struct priority_boost){PRIORITY_BOOST_NONE, 0}, &one) == -EUSERS)
		usleep(1000);
	file_writer_free(one);
}

/* As sondad ignores them. */
BEFORE_TESTS
{
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN);
}
