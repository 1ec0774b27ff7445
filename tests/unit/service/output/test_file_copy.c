/* SPDX-License-Identifier: Apache-2.0 */

#include "service/output/file_writer.h"
#include "service/output/trace_files.h"
#include "unit/service/rig.h"
#include "unit/service/trace_file_helper.h"
#include "unit/temp_dir.h"
#include "unit/test.h"

static int new_file(void *const *state, unsigned slot, const char *name, int flags)
{
	int fd = open(temp_dir_path(state, slot, name), flags | O_CREAT, 0600);

	assert_true(fd >= 0);
	return fd;
}

static struct trace_files parts_of(int fd)
{
	static struct quota quota;
	static struct quota_account account;
	static struct file_owner owner;
	Pb__TraceConfig *c = peer_parse_config("");
	struct err_text e;
	struct trace_files f;

	quota_open(&account, &quota, 0);
	owner.account = &account;
	owner.config = c;
	assert_int_equal(trace_files_open_passed(&f, &owner, (struct passed_file){fd, 0}, &e), 0);
	pb__trace_config__free_unpacked(c, NULL);
	return f;
}

static void put(struct trace_files *f, char c, size_t len)
{
	char *text = malloc(len);

	assert_non_null(text);
	memset(text, c, len);
	f->sink.begin(&f->sink, len);
	f->sink.bytes(&f->sink, text, len);
	free(text);
}

/* The clone's file, with the copy in front of what is put into it later. */
static void copy_into(struct trace_files *to, struct trace_files *from)
{
	struct err_text e;

	if (trace_files_copy(to, from, &e) < 0)
		fail_msg("%s", e.text);
}

static void write_all(struct trace_files *f)
{
	assert_int_equal(trace_files_write_now(f, -1), 0);
}

#define DIR_TEST(name) TEST_WITH(name, temp_dir_setup, temp_dir_teardown)

/* What is in memory counts as written; what comes later does not. */
DIR_TEST(copies_what_was_there)
{
	struct trace_files from = parts_of(new_file(state, 0, "from", O_RDWR));
	struct trace_files to = parts_of(new_file(state, 1, "to", O_RDWR));
	struct peer_packets t;

	for (unsigned i = 0; i < 10; i++)
		put(&from, 'a', 100000);
	assert_int_equal(trace_files_write(&from), OUT_FILE_DONE);
	put(&from, 'a', 100000); /* a second buffer */
	copy_into(&to, &from);
	put(&from, 'b', 100);
	put(&to, 'c', 100);
	unlink(temp_dir_path(state, 0, "from"));
	write_all(&from);
	trace_files_deinit(&from);
	write_all(&to);
	t = packets_of_file(temp_dir_path(state, 1, "to"));
	assert_int_equal(t.n, 12);
	assert_int_equal(t.list[10].len, 100000);
	assert_int_equal(t.list[10].data[99999], 'a');
	assert_int_equal(t.list[11].data[99], 'c');
	peer_packets_free(&t);
	trace_files_deinit(&to);
}

/* The process that passed the file shares the offset, and data in front of the trace is not of it. */
DIR_TEST(only_the_trace_is_copied_wherever_the_offset_is)
{
	static const int flags[] = {0, O_APPEND};

	for (size_t i = 0; i < ARRAY_SIZE(flags); i++) {
		int fd = new_file(state, 0, "from", O_RDWR | O_TRUNC | flags[i]);
		struct trace_files from, to = parts_of(new_file(state, 1, "to", O_RDWR | O_TRUNC));
		struct peer_packets t;

		assert_int_equal(write(fd, "another's", 9), 9);
		if (flags[i])
			lseek(fd, 0, SEEK_SET);
		from = parts_of(fd);
		put(&from, 'a', 1000);
		write_all(&from);
		lseek(fd, 3, SEEK_SET);
		copy_into(&to, &from);
		write_all(&to);
		t = packets_of_file(temp_dir_path(state, 1, "to"));
		assert_int_equal(t.n, 1);
		assert_int_equal(t.list[0].len, 1000);
		peer_packets_free(&t);
		trace_files_deinit(&to);
		trace_files_deinit(&from);
	}
}

/* The writer of the source does not send the ranges: a pipe without a reader stands in for a file
 * system that hangs. */
DIR_TEST(copies_that_wait_for_one_file_are_limited)
{
	struct trace_files from = parts_of(new_file(state, 0, "from", O_RDWR));
	struct trace_files to = parts_of(new_file(state, 1, "to", O_RDWR));
	uint8_t *data = calloc(1, 1 << 20);
	struct err_text e;
	int pipes[2];

	assert_non_null(data);
	assert_int_equal(pipe(pipes), 0);
	assert_int_equal(write_thread_write(from.writer, 99, pipes[1], data, 1 << 20, 1 << 20), 0);
	for (unsigned i = 0; i < MAX_FILE_COPIES; i++)
		copy_into(&to, &from);
	assert_int_equal(trace_files_copy(&to, &from, &e), -EBUSY);
	assert_non_null(strstr(e.text, "clones wait for it"));
	/* Then it goes on. */
	signal(SIGPIPE, SIG_IGN);
	close(pipes[0]);
	write_all(&to);
	while (from.list[0].out.ranges > 0)
		(void)trace_files_write_now(&from, -1);
	trace_files_deinit(&to);
	trace_files_deinit(&from);
	close(pipes[1]);
}

/* The service opens nothing anew. */
DIR_TEST(what_is_open_for_writing_only_is_not_copied)
{
	struct trace_files f = parts_of(new_file(state, 0, "from", O_WRONLY));
	int to = new_file(state, 1, "to", O_RDWR);
	struct err_text e;

	assert_int_equal(trace_files_check_copy(&f, to, &e), -EACCES);
	assert_non_null(strstr(e.text, "for writing only"));
	trace_files_deinit(&f);
	close(to);
}
