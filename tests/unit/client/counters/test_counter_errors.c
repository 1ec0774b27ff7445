/* SPDX-License-Identifier: Apache-2.0 */

#include "client/counters/polled_source.c"
#include "unit/client/read_tracks.h"
#include "unit/fixture.h"

static struct counter_errors trouble;
static struct writer *w;

SETUP
{
	fake_reset();
	trouble = (struct counter_errors){0};
	w = writer_new(NULL, 1, WRITER_STALL);
}

TEARDOWN
{
	writer_free(w);
	fake_reset();
}

/* The last packet. */
static struct pb_field written(void)
{
	struct pb_field m;

	assert_true(
		read_sub(fake_packet_field(fake.n - 1), PB_TRACE_PACKET_POLLED_COUNTERS_STATS, &m));
	assert_true(fake_str_is(m, PB_POLLED_COUNTERS_STATS_SOURCE, 0, "linux.x"));
	return m;
}

static unsigned paths(struct pb_field m)
{
	struct pb_field f;
	unsigned n = 0;

	while (fake_field(m.data, m.len, PB_POLLED_COUNTERS_STATS_READ_FAILURES, n, &f))
		n++;
	return n;
}

FIXTURE_TEST(what_is_new_is_told_at_once)
{
	struct pb_field m, f;

	counter_errors_write(&trouble, w, "linux.x", false);
	counter_errors_write(&trouble, w, "linux.x", true);
	assert_int_equal(fake.n, 0);
	counter_errors_count_read(&trouble, true, "a/b", EACCES);
	counter_errors_count_read(&trouble, false, "a/c", EACCES);
	counter_errors_write(&trouble, w, "linux.x", false);
	counter_errors_write(&trouble, w, "linux.x", false);
	assert_int_equal(fake.n, 1);
	m = written();
	assert_int_equal(paths(m), 1);
	assert_int_equal(fake_u64(m, PB_POLLED_COUNTERS_STATS_FAILED_READS), 2);
	assert_true(read_sub(m, PB_POLLED_COUNTERS_STATS_READ_FAILURES, &f));
	assert_true(fake_str_is(f, PB_POLLED_COUNTERS_STATS_READ_FAILURE_PATH, 0, "a/b"));
	assert_int_equal(fake_u64(f, PB_POLLED_COUNTERS_STATS_READ_FAILURE_ERROR), EACCES);
}

FIXTURE_TEST(a_flush_tells_how_often_it_was_so)
{
	counter_errors_count_read(&trouble, true, "a", EIO);
	counter_errors_set_refused(&trouble, 4);
	counter_errors_write(&trouble, w, "linux.x", false);
	assert_int_equal(fake_u64(written(), PB_POLLED_COUNTERS_STATS_REFUSED_TRACKS), 4);
	counter_errors_count_read(&trouble, false, "a", EIO);
	counter_errors_set_refused(&trouble, 9);
	counter_errors_write(&trouble, w, "linux.x", false);
	assert_int_equal(fake.n, 1);
	counter_errors_write(&trouble, w, "linux.x", true);
	counter_errors_write(&trouble, w, "linux.x", true);
	assert_int_equal(fake.n, 2);
	assert_int_equal(fake_u64(written(), PB_POLLED_COUNTERS_STATS_FAILED_READS), 2);
	assert_int_equal(fake_u64(written(), PB_POLLED_COUNTERS_STATS_REFUSED_TRACKS), 9);
	assert_int_equal(paths(written()), 1);
}

FIXTURE_TEST(a_clear_tells_all_again)
{
	counter_errors_clear(&trouble);
	counter_errors_write(&trouble, w, "linux.x", true);
	assert_int_equal(fake.n, 0);
	counter_errors_count_read(&trouble, true, "a", EIO);
	counter_errors_write(&trouble, w, "linux.x", false);
	counter_errors_clear(&trouble);
	counter_errors_write(&trouble, w, "linux.x", false);
	assert_int_equal(fake.n, 2);
	assert_int_equal(paths(written()), 1);
}

FIXTURE_TEST(many_kinds_and_long_paths)
{
	char path[3 * COUNTER_ERRORS_PATH];
	struct pb_field f;

	memset(path, 'x', sizeof(path) - 1);
	path[sizeof(path) - 1] = 0;
	for (unsigned i = 0; i < 3 * COUNTER_ERRORS_KINDS; i++)
		counter_errors_count_read(&trouble, true, path, EIO);
	counter_errors_write(&trouble, w, "linux.x", false);
	assert_int_equal(paths(written()), COUNTER_ERRORS_KINDS);
	assert_int_equal(fake_u64(written(), PB_POLLED_COUNTERS_STATS_FAILED_READS),
			 3 * COUNTER_ERRORS_KINDS);
	assert_true(read_sub(written(), PB_POLLED_COUNTERS_STATS_READ_FAILURES, &f));
	path[COUNTER_ERRORS_PATH - 1] = 0;
	assert_true(fake_str_is(f, PB_POLLED_COUNTERS_STATS_READ_FAILURE_PATH, 0, path));
}
