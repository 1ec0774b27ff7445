/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <signal.h>
#include <sys/resource.h>

#include "rig.h"
#include "service/out_file.h"
#include "temp_dir.h"
#include "trace_file_helper.h"

static struct out_file open_out(const char *path)
{
	struct out_file o;
	int fd = open(path, O_RDWR | O_CREAT, 0600);

	assert_true(fd >= 0);
	out_file_init(&o, fd);
	return o;
}

static void put(struct out_file *o, char c, size_t len)
{
	char *text = malloc(len + 1);

	assert_non_null(text);
	memset(text, c, len);
	o->sink.begin(&o->sink, len);
	/* in two pieces, as a packet of two chunks comes */
	o->sink.bytes(&o->sink, text, len / 2);
	o->sink.bytes(&o->sink, text + len / 2, len - len / 2);
	free(text);
}

static int write_all(struct out_file *o)
{
	int r;

	while ((r = out_file_write(o)) == OUT_FILE_MORE)
		;
	return r;
}

static void packets_come_out_as_records(void **state)
{
	const char *path = temp_dir_path(state, 0, "trace");
	struct out_file o = open_out(path);
	struct peer_packets t;

	put(&o, 'a', 3);
	put(&o, 'b', 0);
	put(&o, 'c', 300);
	assert_int_equal(out_file_size(&o), 5 + 2 + 303);
	assert_int_equal(out_file_record_size(300), 303);
	assert_int_equal(size_of_file(path), 0);
	assert_int_equal(write_all(&o), OUT_FILE_DONE);
	put(&o, 'd', 1);
	assert_int_equal(write_all(&o), OUT_FILE_DONE);
	assert_int_equal(out_file_sync(&o), 0);
	assert_int_equal(out_file_size(&o), size_of_file(path));
	out_file_deinit(&o);
	t = packets_of_file(path);
	assert_int_equal(t.n, 4);
	assert_memory_equal(t.list[0].data, "aaa", 3);
	assert_int_equal(t.list[1].len, 0);
	assert_int_equal(t.list[2].len, 300);
	assert_memory_equal(t.list[3].data, "d", 1);
	peer_packets_free(&t);
}

static void large_packet_takes_several_writes_and_leaves_no_memory(void **state)
{
	const char *path = temp_dir_path(state, 0, "trace");
	struct out_file o = open_out(path);
	struct peer_packets t;
	unsigned writes = 1;

	put(&o, 'x', 5 << 20);
	while (out_file_write(&o) == OUT_FILE_MORE)
		writes++;
	assert_int_equal(writes, 6);
	assert_null(o.buf);
	put(&o, 'y', 1);
	assert_int_equal(write_all(&o), OUT_FILE_DONE);
	out_file_deinit(&o);
	t = packets_of_file(path);
	assert_int_equal(t.n, 2);
	assert_int_equal(t.list[0].len, 5 << 20);
	peer_packets_free(&t);
}

/* RLIMIT_FSIZE cuts a write short as a full disk does. */
static void failed_write_leaves_whole_packets(void **state)
{
	const char *path = temp_dir_path(state, 0, "trace");
	struct out_file o = open_out(path);
	struct rlimit before, small;
	struct peer_packets t;

	assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
	small = before;
	small.rlim_cur = 2500;
	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
	for (int i = 0; i < 10; i++)
		put(&o, 'a', 998); /* 1001 in the file */
	assert_int_equal(write_all(&o), -EFBIG);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
	assert_int_equal(size_of_file(path), 2002);
	assert_int_equal(out_file_size(&o), 2002);
	/* and nothing comes behind it */
	put(&o, 'b', 1);
	assert_int_equal(write_all(&o), -EFBIG);
	out_file_deinit(&o);
	t = packets_of_file(path);
	assert_int_equal(t.n, 2);
	peer_packets_free(&t);
}

/* ---- pieces that are lent ---- */

/* The byte at a place of the file. */
static void expect_text(const char *path, size_t at, char c)
{
	int fd = open(path, O_RDONLY);
	char got = 0;

	assert_int_equal(pread(fd, &got, 1, (off_t)at), 1);
	assert_int_equal(got, c);
	close(fd);
}

/* A packet of one lent piece and a byte that is not. */
static void lend(struct out_file *o, const char *text, size_t len)
{
	o->sink.begin(&o->sink, len + 1);
	o->sink.lend(&o->sink, text, len);
	o->sink.bytes(&o->sink, "!", 1);
}

static void what_is_lent_is_written_in_its_place(void **state)
{
	const char *path = temp_dir_path(state, 0, "trace");
	enum { N = OUT_FILE_MAX_LENT + 100 }; /* more than are lent in one write */
	struct out_file o = open_out(path);
	char text[N + 1000];
	struct peer_packets t;

	for (size_t i = 0; i < sizeof(text); i++)
		text[i] = (char)(i % 251);
	for (size_t i = 0; i < N; i++) {
		put(&o, 'a', i % 3);
		lend(&o, text + i, i % 10 ? 600 : 60);
	}
	assert_int_equal(o.n_lent, OUT_FILE_MAX_LENT);
	assert_int_equal(write_all(&o), OUT_FILE_DONE);
	assert_int_equal(o.n_lent, 0);
	assert_int_equal(out_file_size(&o), size_of_file(path));
	out_file_deinit(&o);
	t = packets_of_file(path);
	assert_int_equal(t.n, 2 * N);
	for (size_t i = 0; i < N; i++) {
		size_t len = i % 10 ? 600 : 60;

		assert_int_equal(t.list[2 * i].len, i % 3);
		assert_int_equal(t.list[2 * i + 1].len, len + 1);
		assert_memory_equal(t.list[2 * i + 1].data, text + i, len);
		assert_int_equal(t.list[2 * i + 1].data[len], '!');
	}
	peer_packets_free(&t);
}

static void what_a_full_disk_does_not_take_is_lent_no_longer(void **state)
{
	const char *path = temp_dir_path(state, 0, "trace");
	struct out_file o = open_out(path);
	struct rlimit before, small;
	char text[997];

	memset(text, 'x', sizeof(text));
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
	small = before;
	small.rlim_cur = 2500;
	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
	for (int i = 0; i < 10; i++)
		lend(&o, text, sizeof(text)); /* 1001 in the file */
	assert_int_equal(out_file_write(&o), OUT_FILE_MORE);
	assert_int_equal(o.n_lent, 0);
	memset(text, 'y', sizeof(text));
	/* Room for two more packets and a half: they are what they were. */
	small.rlim_cur = 4500;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
	assert_int_equal(write_all(&o), -EFBIG);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
	out_file_deinit(&o);
	assert_int_equal(size_of_file(path), 4004);
	expect_text(path, 3 * 1001 + 3, 'x');
}

static void a_pipe_is_lent_nothing(void **state)
{
	struct out_file o;
	char text[600] = "";
	int fds[2];

	(void)state;
	assert_int_equal(pipe(fds), 0);
	out_file_init(&o, fds[1]);
	lend(&o, text, sizeof(text));
	assert_int_equal(o.n_lent, 0);
	out_file_deinit(&o);
	close(fds[0]);
}

/* A packet that takes several writes is all in memory after the first. */
static void a_large_packet_is_lent_until_it_is_written(void **state)
{
	const char *path = temp_dir_path(state, 0, "trace");
	struct out_file o = open_out(path);
	size_t len = 3 << 20;
	char *text = malloc(len);

	assert_non_null(text);
	memset(text, 'x', len);
	lend(&o, text, len);
	assert_int_equal(out_file_write(&o), OUT_FILE_MORE);
	memset(text, 'y', len);
	assert_int_equal(write_all(&o), OUT_FILE_DONE);
	out_file_deinit(&o);
	expect_text(path, len, 'x');
	free(text);
}

static void full_device_is_an_error(void **state)
{
	struct out_file o;

	(void)state;
	out_file_init(&o, open("/dev/full", O_WRONLY));
	put(&o, 'a', 10);
	assert_int_equal(write_all(&o), -ENOSPC);
	out_file_deinit(&o);
}

static void pipe_is_never_waited_for(void **state)
{
	struct out_file o;
	int fds[2];
	size_t total = 0;
	ssize_t n;
	char *buf = malloc(1 << 20);

	(void)state;
	assert_non_null(buf);
	assert_int_equal(pipe(fds), 0);
	out_file_init(&o, fds[1]);
	assert_true(o.is_pollable);
	put(&o, 'a', 300000);
	assert_int_equal(write_all(&o), OUT_FILE_WAIT);
	assert_int_equal(write_all(&o), OUT_FILE_WAIT);
	/* what the reader takes makes room */
	while (total < out_file_record_size(300000)) {
		n = read(fds[0], buf, 1 << 20);
		assert_true(n > 0);
		total += (size_t)n;
		assert_true(write_all(&o) >= 0);
	}
	assert_int_equal(write_all(&o), OUT_FILE_DONE);
	put(&o, 'b', 1);
	close(fds[0]);
	assert_int_equal(write_all(&o), -EPIPE);
	out_file_deinit(&o);
	free(buf);
}

/* The descriptor is the consumer's too: a mode that is set for it would be set for both. */
static void pipes_own_mode_is_left_alone(void **state)
{
	struct out_file o;
	int fds[2], theirs;

	(void)state;
	assert_int_equal(pipe(fds), 0);
	theirs = dup(fds[1]);
	out_file_init(&o, fds[1]);
	assert_int_equal(fcntl(theirs, F_GETFL) & O_NONBLOCK, 0);
	out_file_deinit(&o);
	close(theirs);
	close(fds[0]);
}

static void pipe_that_cannot_be_opened_anew_is_not_waited_for_either(void **state)
{
	struct out_file o;
	int fds[2];

	(void)state;
	assert_int_equal(pipe(fds), 0);
	o = (struct out_file){0};
	out_file_init(&o, dup(fds[1]));
	close(o.fd);
	o.fd = fds[1];
	o.blocks = true;
	put(&o, 'a', 300000);
	assert_int_equal(write_all(&o), OUT_FILE_WAIT);
	assert_true(o.written >= 4096);
	out_file_deinit(&o);
	close(fds[0]);
}

static void socket_is_never_waited_for(void **state)
{
	struct out_file o;
	int fds[2];

	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
	out_file_init(&o, fds[1]);
	put(&o, 'a', 5 << 20);
	assert_int_equal(write_all(&o), OUT_FILE_WAIT);
	close(fds[0]);
	assert_int_equal(write_all(&o), -EPIPE);
	out_file_deinit(&o);
}

#define FILE_TEST(name) cmocka_unit_test_setup_teardown(name, temp_dir_setup, temp_dir_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		FILE_TEST(packets_come_out_as_records),
		FILE_TEST(large_packet_takes_several_writes_and_leaves_no_memory),
		FILE_TEST(failed_write_leaves_whole_packets),
		FILE_TEST(what_is_lent_is_written_in_its_place),
		FILE_TEST(what_a_full_disk_does_not_take_is_lent_no_longer),
		FILE_TEST(a_large_packet_is_lent_until_it_is_written),
		cmocka_unit_test(a_pipe_is_lent_nothing),
		cmocka_unit_test(full_device_is_an_error),
		cmocka_unit_test(pipe_is_never_waited_for),
		cmocka_unit_test(pipes_own_mode_is_left_alone),
		cmocka_unit_test(pipe_that_cannot_be_opened_anew_is_not_waited_for_either),
		cmocka_unit_test(socket_is_never_waited_for),
	};

	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
