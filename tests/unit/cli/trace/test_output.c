/* SPDX-License-Identifier: Apache-2.0 */
#include <pty.h>

#include "base/text/str.h"
#include "cli/trace/trace_file.h"
#include "unit/temp_dir.h"
#include "unit/test.h"

#define DIR_TEST(name) TEST_WITH(name, temp_dir_setup, temp_dir_teardown)

DIR_TEST(named_by_the_user)
{
	struct output_name name;
	struct trace_file *f;
	struct err_text e;

	assert_int_equal(
		trace_file_open_output(temp_dir_path(state, 0, "x"), "trace", &name, &f, &e), 0);
	assert_string_equal(name.text, temp_dir_path(state, 0, "x"));
	trace_file_free(f);
	assert_int_equal(trace_file_open_output("-", "trace", &name, &f, &e), 0);
	assert_string_equal(name.text, "standard output");
	trace_file_free(f);
}

/* The six hexadecimal digits at the end of a chosen name, which no other user may guess. */
static unsigned long random_digits(const struct output_name *name)
{
	const char *last = strrchr(name->text, '-');
	char *end;
	unsigned long digits;

	assert_non_null(last);
	digits = strtoul(last + 1, &end, 16);
	assert_int_equal(end - last, 1 + 6);
	assert_string_equal(end, ".pftrace");
	return digits;
}

DIR_TEST(named_by_us)
{
	struct output_name name, next;
	struct trace_file *f;
	struct err_text e;

	assert_int_equal(chdir(*state), 0);
	assert_int_equal(trace_file_open_output(NULL, "snapshot", &name, &f, &e), 0);
	assert_true(str_glob("snapshot-*-20??????T*-*.pftrace", name.text));
	trace_file_free(f);
	/* Both names have the same time, unless a second ended between them. */
	assert_int_equal(trace_file_default_name("snapshot", NULL, &next, &e), 0);
	assert_true(random_digits(&name) != random_digits(&next));
	assert_int_equal(chdir("/"), 0);
}

TEST(terminal_gets_no_trace)
{
	int saved = dup(STDOUT_FILENO), pty, tty;
	struct output_name name;
	struct trace_file *f;
	struct err_text e;
	int r;

	assert_int_equal(openpty(&pty, &tty, NULL, NULL, NULL), 0);
	dup2(tty, STDOUT_FILENO);
	r = trace_file_open_output("-", "trace", &name, &f, &e);
	dup2(saved, STDOUT_FILENO);
	assert_int_equal(r, -ENOTTY);
	close(saved);
	close(pty);
	close(tty);
}

DIR_TEST(another_process_may_write_it)
{
	const char *path = temp_dir_path(state, 0, "x");
	struct output_name name;
	struct trace_file *f;
	struct err_text e;
	struct stat st;

	assert_int_equal(trace_file_open_output(path, "trace", &name, &f, &e), 0);
	assert_int_equal(write(trace_file_fd(f), "12345", 5), 5);
	assert_int_equal(trace_file_update_size(f), 0);
	assert_int_equal(trace_file_bytes(f), 5);
	assert_int_equal(trace_file_save(f, &e), 0);
	trace_file_free(f);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_size, 5);
}
