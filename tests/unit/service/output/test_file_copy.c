/* SPDX-License-Identifier: Apache-2.0 */

#include "unit/test.h"
#include "unit/service/rig.h"
#include "service/output/trace_files.h"
#include "service/output/file_writer.h"
#include "unit/temp_dir.h"
#include "unit/service/trace_file_helper.h"

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
	assert_int_equal(trace_files_open_passed(&f, &owner, fd, &e), 0);
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

/* All of it; how many turns it took. */
static void part_init(struct file_part *p, int fd)
{
	static const Pb__TraceConfig config = PB__TRACE_CONFIG__INIT;

	assert_int_equal(file_part_init(p, &config, fd, 0), 0);
}

static unsigned copy_all(struct file_copy *c, struct out_file *to)
{
	unsigned n = 0;
	int r;

	while ((r = file_copy_next(c, to)) == 1) {
		n++;
		while ((r = out_file_write(to)) == OUT_FILE_MORE)
			;
		assert_int_equal(r, OUT_FILE_DONE);
	}
	assert_int_equal(r, 0);
	return n;
}

#define DIR_TEST(name) TEST_WITH(name, temp_dir_setup, temp_dir_teardown)

/* What is in memory counts as written; what comes later does not. */
DIR_TEST(copies_what_was_there)
{
	struct trace_files f = parts_of(new_file(state, 0, "from", O_RDWR));
	int fd = new_file(state, 1, "to", O_RDWR);
	struct peer_packets t;
	struct file_copy copy;
	struct file_part part;
	struct out_file *to = &part.out;
	struct err_text e;

	for (unsigned i = 0; i < 10; i++)
		put(&f, 'a', 100000);
	assert_int_equal(file_copy_take(&copy, &f, fd, &e), 0);
	put(&f, 'b', 100);
	assert_int_equal(trace_files_write_now(&f, -1), 0);
	unlink(temp_dir_path(state, 0, "from"));
	trace_files_deinit(&f);
	part_init(&part, fd);
	assert_int_equal(copy_all(&copy, to), 4);
	t = packets_of_file(temp_dir_path(state, 1, "to"));
	assert_int_equal(t.n, 10);
	assert_int_equal(t.list[9].len, 100000);
	peer_packets_free(&t);
	file_part_deinit(&part);
	file_copy_deinit(&copy);
	file_copy_deinit(&copy);
}

/* Who passed the file has the same offset; and what was in front of the trace is not of it. */
DIR_TEST(offset_of_the_file_is_not_asked)
{
	int fd = new_file(state, 0, "from", O_RDWR);
	struct trace_files f;
	struct peer_packets t;
	struct file_copy copy;
	struct file_part part;
	struct out_file *to = &part.out;
	struct err_text e;

	assert_int_equal(write(fd, "another's", 9), 9);
	f = parts_of(fd);
	put(&f, 'a', 1000);
	assert_int_equal(trace_files_write_now(&f, -1), 0);
	lseek(fd, 3, SEEK_SET);
	part_init(&part, new_file(state, 1, "to", O_RDWR));
	assert_int_equal(file_copy_take(&copy, &f, to->fd, &e), 0);
	copy_all(&copy, to);
	t = packets_of_file(temp_dir_path(state, 1, "to"));
	assert_int_equal(t.n, 1);
	assert_int_equal(t.list[0].len, 1000);
	peer_packets_free(&t);
	file_part_deinit(&part);
	file_copy_deinit(&copy);
	trace_files_deinit(&f);
}

DIR_TEST(file_that_others_append_to_is_copied)
{
	int fd = new_file(state, 0, "from", O_RDWR | O_APPEND);
	struct trace_files f;
	struct peer_packets t;
	struct file_copy copy;
	struct file_part part;
	struct out_file *to = &part.out;
	struct err_text e;

	assert_int_equal(write(fd, "another's", 9), 9);
	lseek(fd, 0, SEEK_SET);
	f = parts_of(fd);
	put(&f, 'a', 1000);
	part_init(&part, new_file(state, 1, "to", O_RDWR));
	assert_int_equal(file_copy_take(&copy, &f, to->fd, &e), 0);
	copy_all(&copy, to);
	t = packets_of_file(temp_dir_path(state, 1, "to"));
	assert_int_equal(t.n, 1);
	peer_packets_free(&t);
	file_part_deinit(&part);
	file_copy_deinit(&copy);
	trace_files_deinit(&f);
}

DIR_TEST(empty_file_is_copied_at_once)
{
	struct trace_files f = parts_of(new_file(state, 0, "from", O_RDWR));
	struct file_part part;
	struct out_file *to = &part.out;
	struct file_copy copy;
	struct err_text e;

	part_init(&part, new_file(state, 1, "to", O_WRONLY));
	assert_int_equal(file_copy_take(&copy, &f, to->fd, &e), 0);
	assert_int_equal(copy_all(&copy, to), 0);
	file_copy_deinit(&copy);
	trace_files_deinit(&f);
	file_part_deinit(&part);
}

DIR_TEST(file_that_was_cut_is_an_error)
{
	struct trace_files f = parts_of(new_file(state, 0, "from", O_RDWR));
	struct file_part part;
	struct out_file *to = &part.out;
	struct file_copy copy;
	struct err_text e;

	put(&f, 'a', 1000);
	part_init(&part, new_file(state, 1, "to", O_WRONLY));
	assert_int_equal(file_copy_take(&copy, &f, to->fd, &e), 0);
	assert_int_equal(truncate(temp_dir_path(state, 0, "from"), 0), 0);
	assert_int_equal(file_copy_next(&copy, to), -EIO);
	file_copy_deinit(&copy);
	trace_files_deinit(&f);
	file_part_deinit(&part);
}

DIR_TEST(what_cannot_be_copied_is_refused)
{
	int fd = new_file(state, 0, "from", O_RDWR), pipes[2];
	struct trace_files f = parts_of(fd);
	struct file_copy copy;
	struct err_text e;

	assert_int_equal(file_copy_take(&copy, &f, fd, &e), -EDEADLK);
	assert_non_null(strstr(e.text, "into itself"));
	assert_int_equal(copy.n, 0);
	trace_files_deinit(&f);
	assert_int_equal(pipe(pipes), 0);
	f = parts_of(pipes[1]);
	assert_int_equal(file_copy_take(&copy, &f, pipes[0], &e), -ESPIPE);
	trace_files_deinit(&f);
	close(pipes[0]);
}

/* The service opens nothing anew. */
DIR_TEST(what_is_open_for_writing_only_is_not_copied)
{
	struct trace_files f = parts_of(new_file(state, 0, "from", O_WRONLY));
	int to = new_file(state, 1, "to", O_RDWR);
	struct err_text e;

	assert_int_equal(file_copy_check(&f, to, &e), -EACCES);
	assert_non_null(strstr(e.text, "for writing only"));
	trace_files_deinit(&f);
	close(to);
}
