/* SPDX-License-Identifier: Apache-2.0 */

#include "unit/procfs/sys_rig.h"
#include "unit/procfs/captured_log.h"

FIXTURE_TEST(a_slice_without_values_writes_nothing)
{
	sys_packet_begin(&poll_state);
	sys_packet_end(&poll_state);
	assert_int_equal(fake.n, 0);
	while (sys_packet_flush(&poll_state))
		;
	assert_int_equal(fake.n, 0);
}

/* Its time is that of the turn's begin, whoever opens it. */
FIXTURE_TEST(one_packet_for_all_values_of_a_slice)
{
	struct pb_field p, s;
	struct pb_enc *e;

	sys_packet_begin(&poll_state);
	e = sys_packet_open(&poll_state);
	assert_ptr_equal(sys_packet_open(&poll_state), e);
	pb_enc_u64(e, PB_SYS_STATS_NUM_FORKS, 7);
	sys_packet_end(&poll_state);
	assert_null(poll_state.e);
	assert_int_equal(fake.n, 1);
	p = fake_packet_field(0);
	assert_true(fake_u64(p, PB_TRACE_PACKET_TIMESTAMP) == poll_state.begun);
	assert_true(fake_field(p.data, p.len, PB_TRACE_PACKET_SYS_STATS, 0, &s));
	assert_int_equal(fake_u64(s, PB_SYS_STATS_NUM_FORKS), 7);
	assert_true(fake_u64(s, PB_SYS_STATS_COLLECTION_END_TIMESTAMP) >= poll_state.begun);
}

/* Said once to the person; in the trace at once, and how often at the flush. */
FIXTURE_TEST(failures_are_logged_once_and_counted)
{
	struct sys_errors slab = {.what = "slab"}, psi = {.what = "psi"};
	struct pb_field p, s, row;

	capture_log();
	sys_packet_begin(&poll_state);
	sys_packet_error(&poll_state, &slab, "/proc/slabinfo", EACCES);
	sys_packet_error(&poll_state, &slab, "/proc/other", EIO);
	sys_packet_error(&poll_state, &psi, "/proc/pressure/io", EBADMSG);
	sys_packet_end(&poll_state);
	assert_int_equal(captured("is not recorded"), 2);
	assert_non_null(strstr(log_text, "psi: /proc/pressure/io: not all of it is in a format "
					  "that is known; that part is not recorded"));
	assert_int_equal(fake.n, 1);

	fake_reset_packets();
	for (unsigned i = 0; i < 40; i++) {
		sys_packet_begin(&poll_state);
		sys_packet_error(&poll_state, &slab, "/proc/slabinfo", EACCES);
		sys_packet_end(&poll_state);
	}
	assert_int_equal(fake.n, 0);
	while (sys_packet_flush(&poll_state))
		;
	assert_int_equal(fake.n, 1);
	p = fake_packet_field(0);
	assert_true(fake_field(p.data, p.len, PB_TRACE_PACKET_SYS_STATS, 0, &s));
	assert_int_equal(fake_count(s.data, s.len, PB_SYS_STATS_READ_FAILURES), 1);
	assert_true(fake_field(s.data, s.len, PB_SYS_STATS_READ_FAILURES, 0, &row));
	assert_true(fake_str_is(row, PB_SYS_STATS_READ_FAILURE_PATH, 0, "/proc/slabinfo"));
	assert_int_equal(fake_u64(row, PB_SYS_STATS_READ_FAILURE_ERROR), EACCES);
	assert_int_equal(fake_u64(row, PB_SYS_STATS_READ_FAILURE_COUNT), 42);
	while (sys_packet_flush(&poll_state))
		;
	assert_int_equal(fake.n, 1);
	capture_log();
	sys_packet_log_errors(&poll_state);
	assert_int_equal(captured("slab: 42 reads failed"), 1);
	assert_null(strstr(log_text, "psi"));
	poll_state.errors = NULL;
}
