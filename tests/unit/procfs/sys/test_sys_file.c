/* SPDX-License-Identifier: Apache-2.0 */

/* Files that stay open and are read again; read failures; names of /sys. */
#include "procfs/sys/sys_file.h"
#include "procfs/sys/sys_packet.h"
#include "unit/procfs/captured_log.h"
#include "unit/procfs/sys_rig.h"

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

static int parse_nothing(void *state, struct sys_packet *p, struct span text)
{
	return -EBADMSG;
}

/* The first failure of a table is logged and written at once, their number at a flush. */
FIXTURE_TEST(failures_are_logged_once_and_counted)
{
	struct sys_file f = file_at("missing");
	struct pb_field p, s, row;

	capture_log();
	for (int i = 0; i < 40; i++) {
		sys_file_poll(&f, &poll_state, &errors, parse_nothing, NULL);
		sys_packet_end(&poll_state);
		poll_state.now += SYS_FILE_RETRY_NS;
		if (i == 30)
			rig_file("missing", "invalid\n");
	}
	assert_int_equal(captured("is not recorded"), 1);
	assert_int_equal(fake.n, 1);
	for (int i = 0; i < 2; i++)
		while (sys_packet_flush(&poll_state))
			;
	assert_int_equal(fake.n, 2);
	p = fake_packet_field(1);
	assert_true(fake_field(p.data, p.len, PB_TRACE_PACKET_SYS_STATS, 0, &s));
	assert_true(fake_field(s.data, s.len, PB_SYS_STATS_READ_FAILURES, 0, &row));
	assert_true(fake_str_is(row, PB_SYS_STATS_READ_FAILURE_SOURCE, 0, "test"));
	assert_int_equal(fake_u64(row, PB_SYS_STATS_READ_FAILURE_ERROR), ENOENT);
	assert_int_equal(fake_u64(row, PB_SYS_STATS_READ_FAILURE_COUNT), 40);
	capture_log();
	sys_packet_log_errors(&poll_state);
	assert_int_equal(captured("test: 40 reads failed"), 1);
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

FIXTURE_TEST(names_of_a_dir)
{
	static const char *const all[] = {"zone10",   "zone2", "zone",	 "zone2b",
					  "cooling1", "zone1", "zone-1", "zone4294967296"};
	static const char *const with_digits[] = {"zone1", "zone2", "zone10"};
	struct sys_names numbered, any;

	for (size_t i = 0; i < ARRAY_SIZE(all); i++)
		proc_put("", 0, "%s/type", all[i]);
	assert_int_equal(sys_names_read(&numbered, proc_root, "zone", true), 0);
	assert_int_equal(numbered.n, 3);
	for (size_t i = 0; i < 3; i++)
		assert_string_equal(numbered.names[i], with_digits[i]);
	assert_int_equal(sys_names_read(&any, proc_root, "zone", false), 0);
	assert_int_equal(any.n, 7);
	assert_false(sys_names_equal(&numbered, &any));
	assert_true(sys_names_equal(&any, &any));
	sys_names_deinit(&any);
	sys_names_deinit(&numbered);
	assert_int_equal(sys_names_read(&any, "/nonexistent", "", false), -ENOENT);
	for (unsigned i = 0; i < SYS_NAMES_MAX + 5; i++)
		proc_put("", 0, "n%u", i);
	assert_int_equal(sys_names_read(&any, proc_root, "n", true), 0);
	assert_int_equal(any.n, SYS_NAMES_MAX);
	sys_names_deinit(&any);
}
