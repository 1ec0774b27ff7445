/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "procfs/sys/sys_file.h"
#include "unit/procfs/sys_rig.h"

/* Files that are kept open, and files that cannot be. */

static struct sys_trouble trouble;

static struct sys_file open_file(const char *name)
{
	struct sys_file f;

	assert_int_equal(sys_file_init(&f, false, proc_root, "%s", name), 0);
	trouble = (struct sys_trouble){.what = "test"};
	sys_poll_begin(&poll_state);
	return f;
}

static void close_test(struct sys_file *f)
{
	sys_file_deinit(f, &poll_state);
	poll_state.troubles = NULL;
	assert_int_equal(poll_state.fds, 0);
}

static void it_is_read_again_from_its_beginning(void **state)
{
	struct sys_file f = open_file("a");
	struct span text;
	int fd;

	(void)state;
	rig_file("a", "one\n");
	assert_int_equal(sys_file_read(&f, &poll_state, &text), 0);
	assert_true(span_is(text, "one\n"));
	fd = f.fd;
	rig_file("a", "two and more\n");
	assert_int_equal(sys_file_read(&f, &poll_state, &text), 0);
	assert_true(span_is(text, "two and more\n"));
	assert_int_equal(f.fd, fd);
	close_test(&f);
}

static void a_file_of_any_length(void **state)
{
	const size_t len = 3 << 20;
	char *big = malloc(len);
	struct sys_file f = open_file("big");
	struct span text;

	(void)state;
	memset(big, 'x', len);
	proc_put(big, len, "big");
	for (int i = 0; i < 2; i++) {
		f.whole = i;
		assert_int_equal(sys_file_read(&f, &poll_state, &text), 0);
		assert_int_equal(text.len, len);
		assert_memory_equal(text.p, big, len);
	}
	free(big);
	close_test(&f);
}

static void empty_and_missing_files(void **state)
{
	struct sys_file empty = open_file("empty"), missing = open_file("missing");
	struct span text;

	(void)state;
	rig_file("empty", "");
	assert_int_equal(sys_file_read(&empty, &poll_state, &text), -ENODATA);
	assert_int_equal(sys_file_read(&missing, &poll_state, &text), -ENOENT);
	/* Looked for again after ten seconds, not at each poll. */
	rig_file("missing", "there\n");
	assert_int_equal(sys_file_read(&missing, &poll_state, &text), -EAGAIN);
	poll_state.now += SYS_FILE_RETRY_NS;
	assert_int_equal(sys_file_read(&missing, &poll_state, &text), 0);
	sys_file_deinit(&empty, &poll_state);
	close_test(&missing);
}

static void a_folder_is_no_file(void **state)
{
	struct sys_file f = open_file("folder");
	struct span text;

	(void)state;
	rig_file("folder/x", "1\n");
	assert_int_equal(sys_file_read(&f, &poll_state, &text), -EISDIR);
	close_test(&f);
}

static void failures_are_told_once_and_counted(void **state)
{
	struct sys_file f = open_file("missing");
	struct span text;

	(void)state;
	for (int i = 0; i < 3; i++) {
		assert_false(sys_file_get(&f, &poll_state, &trouble, &text));
		sys_poll_end(&poll_state);
		poll_state.now += SYS_FILE_RETRY_NS;
	}
	assert_int_equal(trouble.count, 3);
	assert_int_equal(trouble.error, ENOENT);
	assert_int_equal(fake.n, 1);
	while (sys_poll_flush(&poll_state))
		;
	assert_int_equal(fake.n, 2);
	while (sys_poll_flush(&poll_state))
		;
	assert_int_equal(fake.n, 2);
	close_test(&f);
}

static void not_too_many_stay_open(void **state)
{
	struct sys_file f = open_file("a");
	struct span text;

	(void)state;
	rig_file("a", "one\n");
	poll_state.fds = SYS_POLL_FDS_MAX;
	for (int i = 0; i < 3; i++) {
		assert_int_equal(sys_file_read(&f, &poll_state, &text), 0);
		assert_int_equal(f.fd, -1);
		assert_int_equal(poll_state.fds, SYS_POLL_FDS_MAX);
	}
	poll_state.fds = 0;
	close_test(&f);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(it_is_read_again_from_its_beginning, rig_setup,
						rig_teardown),
		cmocka_unit_test_setup_teardown(a_file_of_any_length, rig_setup, rig_teardown),
		cmocka_unit_test_setup_teardown(empty_and_missing_files, rig_setup, rig_teardown),
		cmocka_unit_test_setup_teardown(a_folder_is_no_file, rig_setup, rig_teardown),
		cmocka_unit_test_setup_teardown(failures_are_told_once_and_counted, rig_setup,
						rig_teardown),
		cmocka_unit_test_setup_teardown(not_too_many_stay_open, rig_setup, rig_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
