/* SPDX-License-Identifier: Apache-2.0 */
#include "service/trace/trace.h"
#include "unit/service/rig.h"
#include "unit/test.h"

STAGE_TEST(uuid_is_the_configs_or_random)
{
	struct session *s;
	int64_t msb, lsb;

	peer_enable(g->cons, "trace_uuid_msb: -5 trace_uuid_lsb: 7");
	assert_true(peer_is_quiet(g->cons));
	s = rig_session(&g->rig);
	assert_int_equal(s->trace->uuid_msb, -5);
	assert_int_equal(s->trace->uuid_lsb, 7);
	assert_true(peer_accepted(g->cons, peer_call(g->cons, C_FREE, NULL, 0)));
	assert_true(peer_next(g->cons));
	peer_enable(g->cons, "");
	assert_true(peer_is_quiet(g->cons));
	msb = rig_session(&g->rig)->trace->uuid_msb;
	lsb = rig_session(&g->rig)->trace->uuid_lsb;
	assert_int_equal((uint64_t)msb >> 12 & 15, 4);
	assert_int_equal((uint64_t)lsb >> 62, 2);
	assert_int_not_equal(msb & ~0xf000ll, 0);
}

STAGE_TEST(clocks_can_be_left_alone)
{
	struct session *s;

	peer_enable(g->cons, "builtin_data_sources { disable_clock_snapshotting: true "
			     "snapshot_interval_ms: 10 }");
	assert_true(peer_is_quiet(g->cons));
	s = rig_session(&g->rig);
	assert_false(s->trace->clocks.has_initial);
	assert_int_equal(s->trace->clocks.n, 0);
	assert_true(s->trace->start_realtime_ns > 0);
}

/* A file of its own in a rotation: a reading that no file has yet is older than the one at its
 * head, which is written first. */
STAGE_TEST(begun_trace_keeps_no_older_clocks)
{
	struct clock_snapshot older;
	struct session *s;

	peer_enable(g->cons, "");
	assert_true(peer_is_quiet(g->cons));
	s = rig_session(&g->rig);
	older = s->trace->clocks.initial;
	older.value[CLOCK_SNAPSHOT_REALTIME] += 2 * (uint64_t)CLOCK_SNAPSHOT_MIN_DRIFT_NS;
	clock_snapshots_add(&s->trace->clocks, &older);
	assert_int_equal(s->trace->clocks.n, 1);
	trace_restart_head(s->trace);
	assert_true(s->trace->clocks.has_initial);
	assert_int_equal(s->trace->clocks.n, 0);
}
