/* SPDX-License-Identifier: Apache-2.0 */
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/time.h>

#include "base/core/clock.h"
#include "service/ipc/limits.h"
#include "service/output/write_thread.h"
#include "system/held_locks.h"
#include "unit/temp_dir.h"
#include "unit/test.h"

static struct write_thread *writer;

static int setup(void **state)
{
	return temp_dir_setup(state) ||
	       write_thread_new(0, true, (struct priority_boost){PRIORITY_BOOST_NONE, 0}, &writer);
}

static unsigned count_threads(void)
{
	struct stat st;

	return stat("/proc/self/task", &st) ? 0 : (unsigned)st.st_nlink;
}
static unsigned n_threads; /* without a writer: ThreadSanitizer starts one with the first thread */

/* A freed writer has its place until its thread ends. The next test needs all places. */
static int teardown(void **state)
{
	write_thread_free(writer);
	while (count_threads() > n_threads)
		usleep(1000);
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

static void give(struct write_thread *w, uint64_t id, int fd, char c, size_t n)
{
	assert_int_equal(write_thread_write(w, id, fd, records(c, n), n * 100, n * 100), 0);
}

static struct file_result await(struct write_thread *w)
{
	struct file_result r = {0};

	assert_int_equal(write_thread_wait(w, -1), 0);
	assert_int_equal(write_thread_next_result(w, &r), 1);
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
	assert_int_equal(write_thread_sync(writer, 3, fd), 0);
	assert_int_equal(write_thread_pending(writer), 3);
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
	assert_int_equal(write_thread_pending(writer), 0);
	assert_int_equal(pread(fd, &c, 1, 302), 1);
	assert_int_equal(c, 'b');
	assert_int_equal(size_at(path), 500);
	unlink(path);
	give(writer, 4, fd, 'c', 1);
	r = await(writer);
	assert_true(r.removed);
	free(r.buf);
	assert_int_equal(lseek(fd, 0, SEEK_END), 600);
	write_thread_close(writer, fd);
	assert_int_equal(write_thread_sync(writer, 5, fd), 0);
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

static const struct priority_boost no_boost = {PRIORITY_BOOST_NONE, 0};

/* A socket without a reader stands in for a file system that hangs: write(2) does not return. */
WRITER_TEST(threads_that_hang_are_limited_and_root_has_a_quarter)
{
	static struct write_thread *hung[MAX_WRITE_THREADS];
	struct write_thread *one = NULL;
	int fds[2], n = 0, n_users, r;

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
	while ((r = write_thread_new(4242, false, no_boost, &hung[n])) == 0)
		n++;
	assert_int_equal(r, -EUSERS);
	assert_int_equal(n_users = n, MAX_WRITE_THREADS_OF_USERS);
	while ((r = write_thread_new(0, true, no_boost, &hung[n])) == 0)
		n++;
	assert_int_equal(r, -EUSERS);
	assert_int_equal(n, MAX_WRITE_THREADS - 1); /* there is that of the fixture */
	for (int i = 0; i < n; i++) {
		int fd = dup(fds[1]);

		give(hung[i], 1, fd, 'a', i % 8 ? 10 : 100000);
		write_thread_close(hung[i], fd);
		write_thread_free(hung[i]);
	}
	/* The socket is full, so the threads do not end. */
	usleep(10000);
	assert_true(count_threads() > n_threads + (unsigned)n_users / 8);
	close(fds[0]);
	close(fds[1]);
	while (write_thread_new(4242, false, no_boost, &one) == -EUSERS)
		usleep(1000);
	write_thread_free(one);
}

/* How many bytes come until the other end is closed. */
static size_t read_to_the_end(int fd)
{
	static char buf[1 << 16];
	size_t total = 0;
	ssize_t n;

	while ((n = read(fd, buf, sizeof(buf))) > 0)
		total += (size_t)n;
	assert_int_equal(n, 0);
	return total;
}

WRITER_TEST(a_pipe_is_written_as_its_reader_reads_and_progress_is_reported)
{
	static char buf[100000];
	struct file_result r;
	size_t total = 0;
	int fds[2];

	assert_int_equal(pipe(fds), 0);
	give(writer, 7, fds[1], 'a', 10000);
	r = await(writer);
	assert_true(r.kind == FILE_PROGRESS && r.id == 7 && !r.buf && !r.error);
	assert_int_equal(write_thread_pending(writer), 1);
	while (total < 1000000)
		total += (size_t)read(fds[0], buf, sizeof(buf));
	do
		r = await(writer);
	while (r.kind == FILE_PROGRESS);
	assert_int_equal(r.kept, 1000000);
	assert_int_equal(write_thread_pending(writer), 0);
	free(r.buf);
	assert_int_equal(fcntl(fds[1], F_GETFL) & O_NONBLOCK, 0); /* it is its owner's, too */
	close(fds[0]);
	give(writer, 7, fds[1], 'b', 1);
	r = await(writer);
	assert_int_equal(r.error, -EPIPE);
	free(r.buf);
	close(fds[1]);
}

WRITER_TEST(a_writer_knows_for_how_long_a_file_has_taken_nothing)
{
	static char buf[100000];
	struct file_result r;
	size_t total = 0;
	int fds[2];

	assert_int_equal(pipe(fds), 0);
	assert_int_equal(write_thread_stalled_ms(writer), 0);
	give(writer, 1, fds[1], 'a', 10000);
	while (write_thread_stalled_ms(writer) == 0)
		;
	while (total < 1000000)
		total += (size_t)read(fds[0], buf, sizeof(buf));
	do
		r = await(writer);
	while (r.kind == FILE_PROGRESS);
	free(r.buf);
	assert_int_equal(write_thread_stalled_ms(writer), 0);
	close(fds[0]);
	close(fds[1]);
}

/* Or each session with a pipe could leave a thread behind. */
WRITER_TEST(a_freed_writer_waits_for_no_reader_of_a_pipe)
{
	struct pollfd end = {0};
	int fds[2];

	assert_int_equal(pipe(fds), 0);
	give(writer, 1, fds[1], 'a', 10000);
	give(writer, 2, fds[1], 'b', 10000);
	write_thread_close(writer, fds[1]);
	write_thread_free(TAKE_PTR(writer));
	end.fd = fds[0];
	assert_int_equal(poll(&end, 1, 60000), 1); /* closed, although it was not read */
	assert_true(end.revents & POLLHUP);
	assert_in_range(read_to_the_end(fds[0]), 1, 1999999);
	close(fds[0]);
}

/* ---- copies ---- */

static int new_file(const char *path)
{
	int fd = open(path, O_RDWR | O_CREAT, 0600);

	assert_true(fd >= 0);
	return fd;
}

static struct write_thread *new_writer(void)
{
	struct write_thread *w = NULL;

	assert_int_equal(write_thread_new(0, true, no_boost, &w), 0);
	return w;
}

/* Waits for a result other than progress. */
static struct file_result await_end(struct write_thread *w)
{
	struct file_result r;

	do
		r = await(w);
	while (r.kind == FILE_PROGRESS);
	return r;
}

WRITER_TEST(a_file_is_truncated_to_where_the_trace_began)
{
	const char *path = temp_dir_path(state, 0, "file");
	int fd = new_file(path);

	assert_int_equal(write(fd, "head", 4), 4);
	assert_int_equal(write_thread_add_file(writer, fd), 0);
	give(writer, 1, fd, 'a', 3);
	free(await(writer).buf);
	assert_int_equal(size_at(path), 304);
	write_thread_truncate(writer, fd);
	assert_int_equal(write_thread_sync(writer, 2, fd), 0);
	await(writer);
	assert_int_equal(size_at(path), 4);
	assert_int_equal(lseek(fd, 0, SEEK_CUR), 4);
	/* Others may have appended to it meanwhile. */
	assert_int_equal(write(fd, "tail", 4), 4);
	write_thread_truncate(writer, fd);
	assert_int_equal(write_thread_sync(writer, 2, fd), 0);
	await(writer);
	assert_int_equal(size_at(path), 8);
	write_thread_close(writer, fd);
}

/* Frees the writer, and waits until its thread has done all jobs. */
static void free_and_await(struct write_thread *w)
{
	struct pollfd end = {0};
	int fds[2];

	assert_int_equal(pipe(fds), 0);
	write_thread_close(w, fds[1]);
	write_thread_free(w);
	end.fd = fds[0];
	assert_int_equal(poll(&end, 1, 60000), 1);
	close(fds[0]);
}

/* The source writes to a pipe without a reader, so its thread sends the range when the test reads
 * the pipe. */
WRITER_TEST(a_copy_waits_for_its_range)
{
	struct write_thread *source = new_writer();
	int from = new_file(temp_dir_path(state, 0, "from")),
	    to = new_file(temp_dir_path(state, 1, "to"));
	int fds[2], range[2];
	struct file_result r;

	assert_int_equal(pipe(fds), 0);
	assert_int_equal(pipe(range), 0);
	assert_int_equal(write(from, "head", 4), 4);
	assert_int_equal(write_thread_add_file(source, from), 0);
	give(source, 1, fds[1], 'x', 1000);
	give(source, 2, from, 'a', 5000);
	assert_int_equal(write_thread_send_range(source, 3, from, range[1]), 0);
	give(source, 4, from, 'b', 1);
	assert_int_equal(write_thread_add_file(writer, to), 0);
	assert_int_equal(write_thread_copy(writer, 5, to, dup(from), range[0]), 0);
	assert_int_equal(write_thread_wait(writer, 0), -ETIMEDOUT);
	close(fds[0]); /* the write into the pipe fails, and the thread goes on */
	r = await_end(writer);
	assert_int_equal(r.kind, FILE_COPIED);
	assert_int_equal(r.error, 0);
	assert_int_equal(r.kept, 500000);
	assert_int_equal(size_at(temp_dir_path(state, 1, "to")), 500000);
	write_thread_close(source, fds[1]);
	write_thread_close(source, from);
	free_and_await(source);
	close(to);
}

WRITER_TEST(a_copy_of_a_freed_writer_waits_for_no_range)
{
	const char *path = temp_dir_path(state, 1, "to");
	int from = new_file(temp_dir_path(state, 0, "from")), to = new_file(path);
	struct pollfd end = {0};
	int fds[2], range[2];

	assert_int_equal(pipe(range), 0);
	assert_int_equal(pipe(fds), 0);
	assert_int_equal(write_thread_copy(writer, 1, to, from, range[0]), 0);
	write_thread_close(writer, fds[1]);
	write_thread_free(TAKE_PTR(writer));
	end.fd = fds[0];
	assert_int_equal(poll(&end, 1, 60000), 1); /* the thread has come to the end of its jobs */
	assert_true(end.revents & POLLHUP);
	assert_int_equal(size_at(path), 0);
	close(fds[0]);
	close(range[1]);
	close(to);
}

WRITER_TEST(a_copy_of_a_file_that_was_truncated_is_an_error)
{
	const char *path = temp_dir_path(state, 0, "from");
	int from = new_file(path), to = new_file(temp_dir_path(state, 1, "to")), range[2];
	struct file_result r;

	assert_int_equal(pipe(range), 0);
	assert_int_equal(write_thread_add_file(writer, from), 0);
	give(writer, 1, from, 'a', 5);
	free(await(writer).buf);
	assert_int_equal(truncate(path, 0), 0);
	assert_int_equal(write_thread_send_range(writer, 2, from, range[1]), 0);
	assert_int_equal(write_thread_copy(writer, 3, to, dup(from), range[0]), 0);
	assert_int_equal(await(writer).kind, FILE_RANGE_SENT);
	r = await_end(writer);
	assert_int_equal(r.kind, FILE_COPIED);
	assert_int_equal(r.error, -EIO);
	close(from);
	close(to);
}

/* ---- waiting ---- */

static void on_alarm(int signal_number)
{
}

WRITER_TEST(a_signal_does_not_end_the_wait)
{
	const struct itimerval each_ms = {{0, 1000}, {0, 1000}}, off = {0};
	uint64_t begin = clock_mono_ns();

	signal(SIGALRM, on_alarm);
	assert_int_equal(setitimer(ITIMER_REAL, &each_ms, NULL), 0);
	assert_int_equal(write_thread_wait(writer, 50), -ETIMEDOUT);
	assert_int_equal(setitimer(ITIMER_REAL, &off, NULL), 0);
	assert_true(clock_mono_ns() - begin >= 49 * NS_PER_MS);
	signal(SIGALRM, SIG_DFL);
}

/* ---- locks that a peer holds ---- */

/* Takes fd. The thread closes it; the peer has a descriptor of its own, which shares the offset. */
static void check_that_nothing_waits_for(int fd)
{
	struct held_locks held;
	int of_peer = dup(fd);

	if (!held_locks_take(&held, of_peer))
		skip(); /* root alone may */
	assert_int_equal(write_thread_add_file(writer, fd), 0);
	give(writer, 1, fd, 'a', 10);
	write_thread_truncate(writer, fd);
	write_thread_close(writer, fd);
	assert_int_equal(write_thread_wait(writer, 0), -ETIMEDOUT);
	write_thread_free(TAKE_PTR(writer));
	assert_true(held_locks_release(&held));
	close(of_peer);
}

WRITER_TEST(a_peer_that_holds_the_lock_of_its_pipe_delays_no_other_peer)
{
	int fds[2];

	assert_int_equal(pipe(fds), 0);
	check_that_nothing_waits_for(fds[1]);
	close(fds[0]);
}

WRITER_TEST(a_peer_that_holds_the_locks_of_its_file_delays_no_other_peer)
{
	check_that_nothing_waits_for(new_file(temp_dir_path(state, 0, "file")));
}

/* As sondad ignores them. */
BEFORE_TESTS
{
	n_threads = count_threads();
#ifdef __SANITIZE_THREAD__
	n_threads++;
#endif
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN);
}
