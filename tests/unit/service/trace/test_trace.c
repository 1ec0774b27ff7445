/* SPDX-License-Identifier: Apache-2.0 */
#include "service/trace/trace.h"
#include "unit/service/rig.h"
#include "unit/test.h"

STAGE_TEST(uuid_is_the_configs_or_random)
{
	int64_t msb, lsb;

	peer_enable(g->cons, "trace_uuid_msb: -5 trace_uuid_lsb: 7");
	assert_true(peer_is_quiet(g->cons));
	trace_uuid(rig_session(&g->rig)->trace, &msb, &lsb);
	assert_int_equal(msb, -5);
	assert_int_equal(lsb, 7);
	assert_true(peer_accepted(g->cons, peer_call(g->cons, C_FREE, NULL, 0)));
	assert_true(peer_next(g->cons));
	peer_enable(g->cons, "");
	assert_true(peer_is_quiet(g->cons));
	trace_uuid(rig_session(&g->rig)->trace, &msb, &lsb);
	assert_int_equal((uint64_t)msb >> 12 & 15, 4);
	assert_int_equal((uint64_t)lsb >> 62, 2);
	assert_int_not_equal(msb & ~0xf000ll, 0);
}
