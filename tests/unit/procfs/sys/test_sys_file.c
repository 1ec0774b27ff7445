/* SPDX-License-Identifier: Apache-2.0 */

#include "procfs/sys/sys_file.c"
#include "unit/procfs/sys_rig.h"

/* Files that are kept open, and files that cannot be. */

static struct sys_errors errors;

static struct sys_file file_at(const char *name)
{
	struct sys_file f;

	assert_int_equal(sys_file_init(&f, false, proc_root, "%s", name), 0);
	errors = (struct sys_errors){.what = "test"};
	sys_packet_begin(&poll_state);
	return f;
}

static void close_test(struct sys_file *f)
{
	sys_file_deinit(f, &poll_state);
	poll_state.errors = NULL;
	assert_int_equal(poll_state.fds, 0);
}

FIXTURE_TEST(it_is_read_again_from_its_beginning)
{
	struct sys_file f = file_at("a");
	struct span text;
	int fd;

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

FIXTURE_TEST(a_file_of_any_length)
{
	const size_t len = 3 << 20;
	char *big = malloc(len);
	struct sys_file f = file_at("big");
	struct span text;

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

FIXTURE_TEST(empty_and_missing_files)
{
	struct sys_file empty = file_at("empty"), missing = file_at("missing");
	struct span text;

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

FIXTURE_TEST(a_folder_is_no_file)
{
	struct sys_file f = file_at("folder");
	struct span text;

	rig_file("folder/x", "1\n");
	assert_int_equal(sys_file_read(&f, &poll_state, &text), -EISDIR);
	close_test(&f);
}

FIXTURE_TEST(failures_are_logged_once_and_counted)
{
	struct sys_file f = file_at("missing");
	struct span text;

	for (int i = 0; i < 3; i++) {
		assert_false(sys_file_get(&f, &poll_state, &errors, &text));
		sys_packet_end(&poll_state);
		poll_state.now += SYS_FILE_RETRY_NS;
	}
	assert_int_equal(errors.count, 3);
	assert_int_equal(errors.error, ENOENT);
	assert_int_equal(fake.n, 1);
	while (sys_packet_flush(&poll_state))
		;
	assert_int_equal(fake.n, 2);
	while (sys_packet_flush(&poll_state))
		;
	assert_int_equal(fake.n, 2);
	close_test(&f);
}

FIXTURE_TEST(not_too_many_stay_open)
{
	struct sys_file f = file_at("a");
	struct span text;

	rig_file("a", "one\n");
	poll_state.fds = SYS_PACKET_FDS_MAX;
	for (int i = 0; i < 3; i++) {
		assert_int_equal(sys_file_read(&f, &poll_state, &text), 0);
		assert_int_equal(f.fd, -1);
		assert_int_equal(poll_state.fds, SYS_PACKET_FDS_MAX);
	}
	poll_state.fds = 0;
	close_test(&f);
}
