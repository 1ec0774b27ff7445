/* SPDX-License-Identifier: Apache-2.0 */

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
	assert_non_null(strstr(e.text, "clones are already waiting for it"));
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
	assert_non_null(strstr(e.text, "write-only"));
	trace_files_deinit(&f);
	close(to);
}
