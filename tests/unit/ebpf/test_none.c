/* SPDX-License-Identifier: Apache-2.0 */
/* The source of a build without clang or libbpf: here in every build. */
#include "ebpf/ebpf_none.c"

#include "unit/fixture.h"
#include "unit/procfs/captured_log.h"
#include "unit/procfs/counter_rig.h"

SETUP
{
	rig_setup(&ebpf_counters_data_source);
}

TEARDOWN
{
	rig_teardown();
}

/* In how many packets it says why it is empty. */
static unsigned count_reasons(void)
{
	struct pb_field stats, failure;
	unsigned n = 0;

	for (size_t i = 0; i < fake.n; i++)
		n += read_sub(fake_packet_field(i), PB_TRACE_PACKET_EBPF_COUNTERS_STATS, &stats) &&
		     read_sub(stats, PB_EBPF_COUNTERS_STATS_FAILURES, &failure) &&
		     fake_str_is(failure, PB_EBPF_COUNTERS_STATS_FAILURE_WHAT, 0, "all families") &&
		     fake_str_is(failure, PB_EBPF_COUNTERS_STATS_FAILURE_REASON, 0,
				 "this sonda-probes was built without clang or libbpf");
	return n;
}

FIXTURE_TEST(the_failure_is_written_once_and_after_a_clear)
{
	capture_log();
	assert_int_equal(source->create(NULL, &env, &config, &instance), 0);
	assert_int_equal(captured("all families: this sonda-probes was built without"), 1);
	source->start(instance);
	finish_pass();
	assert_int_equal(fake.started, 1);
	assert_int_equal(count_reasons(), 1);
	pass_at_once();
	source->clear(instance);
	source->start(instance);
	finish_pass();
	assert_int_equal(count_reasons(), 1);
	source->flush(instance, 7);
	finish_pass();
	assert_int_equal(fake.last_flush_id, 7);
	stop_source();
}
