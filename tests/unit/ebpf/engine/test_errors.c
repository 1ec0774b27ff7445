/* SPDX-License-Identifier: Apache-2.0 */
#include "ebpf/engine/errors.h"
#include "unit/client/read_tracks.h"
#include "unit/fixture.h"
#include "unit/procfs/captured_log.h"

static struct writer *w;
static struct ebpf_errors errors;

SETUP
{
	fake_reset();
	w = writer_new(NULL, 1, WRITER_DROP);
}

TEARDOWN
{
	writer_free(w);
	ebpf_errors_deinit(&errors);
	fake_reset();
}

static void add(unsigned n)
{
	capture_log();
	for (unsigned i = 0; i < n; i++)
		ebpf_errors_add(&errors, "runq", "reason %u", i);
	assert_int_equal(captured("linux.ebpf_counters: runq: reason"), n);
}

/* The number of failures in a packet. */
static unsigned failures(size_t packet)
{
	struct pb_field m;

	assert_true(read_sub(fake_packet_field(packet), PB_TRACE_PACKET_EBPF_COUNTERS_STATS, &m));
	return fake_count(m.data, m.len, PB_EBPF_COUNTERS_STATS_FAILURES);
}

FIXTURE_TEST(each_is_written_once_until_the_state_is_cleared)
{
	ebpf_errors_write(&errors, false, w);
	assert_int_equal(fake.n, 0);
	add(2);
	ebpf_errors_write(&errors, false, w);
	ebpf_errors_write(&errors, false, w);
	assert_int_equal(fake.n, 1);
	assert_int_equal(failures(0), 2);
	add(1);
	ebpf_errors_write(&errors, false, w);
	assert_int_equal(failures(1), 1);
	ebpf_errors_mark_unwritten(&errors);
	ebpf_errors_write(&errors, false, w);
	assert_int_equal(failures(2), 3);
}

static uint64_t count_in(size_t packet)
{
	struct pb_field m, failure;

	assert_true(read_sub(fake_packet_field(packet), PB_TRACE_PACKET_EBPF_COUNTERS_STATS, &m));
	assert_true(read_sub(m, PB_EBPF_COUNTERS_STATS_FAILURES, &failure));
	return read_sub(failure, PB_EBPF_COUNTERS_STATS_FAILURE_COUNT, &m) ? m.u64 : 0;
}

/* Nothing is logged; the trace has the first number, those that double, and the last. */
FIXTURE_TEST(numbers_are_written_as_they_grow)
{
	capture_log();
	ebpf_errors_set_count(&errors, "runq", "waits: no room", 3, false);
	ebpf_errors_write(&errors, false, w);
	ebpf_errors_set_count(&errors, "runq", "waits: no room", 5, false);
	ebpf_errors_write(&errors, false, w);
	assert_int_equal(fake.n, 1);
	assert_int_equal(count_in(0), 3);
	ebpf_errors_set_count(&errors, "runq", "waits: no room", 6, false);
	ebpf_errors_write(&errors, false, w);
	assert_int_equal(count_in(1), 6);
	ebpf_errors_set_count(&errors, "runq", "waits: no room", 7, false);
	ebpf_errors_write(&errors, true, w);
	ebpf_errors_write(&errors, true, w);
	assert_int_equal(fake.n, 3);
	assert_int_equal(count_in(2), 7);
	ebpf_errors_mark_unwritten(&errors);
	ebpf_errors_write(&errors, false, w);
	assert_int_equal(count_in(3), 7);
	assert_int_equal(captured("runq"), 0);
}

FIXTURE_TEST(there_is_a_limit)
{
	add(EBPF_ERRORS_MAX + 3);
	ebpf_errors_write(&errors, false, w);
	assert_int_equal(failures(0), EBPF_ERRORS_MAX);
}
