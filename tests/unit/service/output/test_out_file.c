/* SPDX-License-Identifier: Apache-2.0 */
#include <sys/resource.h>

#include "unit/test.h"
#include "unit/service/rig.h"
#include "service/output/out_file.c"
#include "unit/temp_dir.h"
#include "unit/service/trace_file_helper.h"

static struct write_thread *writer;

/* Waits for all that it has to do. */
static void end_writer(void)
{
	struct file_result r = {0};

	assert_int_equal(write_thread_sync(writer, 99, -1), 0);
	do {
		assert_int_equal(write_thread_wait(writer, -1), 0);
		while (r.id != 99 && write_thread_next(writer, &r))
			free(r.buf);
	} while (r.id != 99);
	write_thread_free(writer);
	writer = NULL;
}

static int open_writer(void **state)
{
	return temp_dir_setup(state) ||
	       write_thread_new(0, true, (struct priority_boost){PRIORITY_BOOST_NONE, 0}, &writer);
}

static int close_writer(void **state)
{
	write_thread_free(writer);
	writer = NULL;
	return temp_dir_teardown(state);
}

static struct out_file open_out(const char *path)
{
	struct out_file o;
	int fd = open(path, O_RDWR | O_CREAT, 0600);

	assert_true(fd >= 0);
	out_file_init(&o, fd);
	assert_int_equal(out_file_set_writer(&o, writer, 1), 0);
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
	struct file_result r;
	int state;

	for (;;) {
		state = out_file_write(o);
		if (!o->writer && state != OUT_FILE_MORE)
			return state;
		if (state < 0 || (o->writer && !write_thread_pending(writer)))
			return state;
		if (o->writer)
			assert_int_equal(write_thread_wait(writer, -1), 0);
		while (o->writer && write_thread_next(writer, &r))
			out_file_take_result(o, &r);
	}
}

#define FILE_TEST(name) TEST_WITH(name, open_writer, close_writer)

FILE_TEST(packets_come_out_as_records)
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

FILE_TEST(large_packet_leaves_no_memory)
{
	const char *path = temp_dir_path(state, 0, "trace");
	struct out_file o = open_out(path);
	struct peer_packets t;

	put(&o, 'x', 5 << 20);
	assert_int_equal(write_all(&o), OUT_FILE_DONE);
	assert_null(o.buf);
	assert_null(o.spare);
	put(&o, 'y', 1);
	assert_int_equal(write_all(&o), OUT_FILE_DONE);
	out_file_deinit(&o);
	t = packets_of_file(path);
	assert_int_equal(t.n, 2);
	assert_int_equal(t.list[0].len, 5 << 20);
	peer_packets_free(&t);
}

/* RLIMIT_FSIZE cuts a write short as a full disk does. */
FILE_TEST(failed_write_leaves_whole_packets)
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

/* What the writer has is not touched by what comes meanwhile. */
FILE_TEST(the_next_packets_gather_while_it_writes)
{
	const char *path = temp_dir_path(state, 0, "trace");
	struct out_file o = open_out(path);
	struct peer_packets t;

	put(&o, 'a', 1000);
	assert_int_equal(out_file_write(&o), OUT_FILE_DONE);
	assert_true(o.writing);
	put(&o, 'b', 1000);
	assert_int_equal(out_file_write(&o), OUT_FILE_WAIT);
	assert_int_equal(out_file_size(&o), 2 * 1003);
	assert_int_equal(write_all(&o), OUT_FILE_DONE);
	assert_false(o.writing);
	out_file_deinit(&o);
	t = packets_of_file(path);
	assert_int_equal(t.n, 2);
	assert_int_equal(t.list[0].data[999], 'a');
	assert_int_equal(t.list[1].data[999], 'b');
	peer_packets_free(&t);
}

FILE_TEST(the_rest_is_written_without_anybody_waiting)
{
	const char *path = temp_dir_path(state, 0, "trace");
	struct out_file o = open_out(path);
	struct peer_packets t;

	put(&o, 'a', 1000);
	assert_int_equal(out_file_write(&o), OUT_FILE_DONE);
	put(&o, 'b', 1000);
	assert_int_equal(out_file_write_rest(&o), 0);
	out_file_deinit(&o);
	/* The pipe to the thread is a queue: what it answers now was done behind that. */
	end_writer();
	t = packets_of_file(path);
	assert_int_equal(t.n, 2);
	peer_packets_free(&t);
}

TEST(full_device_is_an_error)
{
	struct out_file o;

	out_file_init(&o, open("/dev/full", O_WRONLY));
	put(&o, 'a', 10);
	assert_int_equal(write_all(&o), -ENOSPC);
	out_file_deinit(&o);
}

TEST(slow_reader_is_never_waited_for)
{
	struct out_file o;
	int fds[2];

	assert_int_equal(pipe2(fds, O_NONBLOCK), 0);
	out_file_init(&o, fds[1]);
	put(&o, 'a', 5 << 20);
	assert_int_equal(write_all(&o), OUT_FILE_WAIT);
	close(fds[0]);
	assert_int_equal(write_all(&o), -EPIPE);
	out_file_deinit(&o);
}

BEFORE_TESTS
{
	signal(SIGPIPE, SIG_IGN);
}
