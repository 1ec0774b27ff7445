/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/test.h"
#define STAGE_FLAGS DS_NOTIFY_STOP
#include "unit/service/rig.h"

STAGE_TEST(connection_begins_without_a_session)
{
	assert_true(peer_accepted(g->cons, peer_call(g->cons, C_START, NULL, 0)));
	assert_true(peer_accepted(g->cons, peer_call(g->cons, C_DISABLE, NULL, 0)));
	assert_true(peer_accepted(g->cons, peer_call(g->cons, C_FREE, NULL, 0)));
	assert_true(peer_rejected(g->cons, peer_call(g->cons, C_FLUSH, NULL, 0)));
	assert_true(peer_rejected(g->cons, peer_call(g->cons, C_STATS, NULL, 0)));
	assert_true(peer_read(g->cons, &g->got));
	assert_int_equal(g->got.n, 0);
	assert_int_equal(g->got.n_replies, 1);
}

STAGE_TEST(everything_twice_is_as_once)
{
	g->enable = peer_enable(g->cons, "buffers { size_kb: 4 }");
	for (int i = 0; i < 2; i++)
		assert_true(peer_accepted(g->cons, peer_call(g->cons, C_START, NULL, 0)));
	stage_disable(g);
	assert_true(peer_accepted(g->cons, peer_call(g->cons, C_DISABLE, NULL, 0)));
	for (int i = 0; i < 2; i++)
		assert_true(peer_accepted(g->cons, peer_call(g->cons, C_FREE, NULL, 0)));
	assert_true(peer_is_quiet(g->cons));
}

STAGE_TEST(one_session_a_connection)
{
	stage_start(g, STAGE_CONFIG);
	stage_refuses(g, STAGE_CONFIG, "already");
	/* The first one is as it was. */
	stage_free_buffers(g);
}

STAGE_TEST(undecodable_requests_are_rejected)
{
	static const uint32_t methods[] = {C_ENABLE, C_FLUSH, C_OBSERVE, C_QUERY_STATE};

	for (size_t i = 0; i < 4; i++)
		assert_true(peer_rejected(
			g->cons, peer_call_as(g->cons, 1, methods[i], true, "\x0a\x05x", 3, -1)));
}

STAGE_TEST(config_must_be_there)
{
	assert_true(
		peer_tracing_ended(g->cons, peer_call(g->cons, C_ENABLE, NULL, 0), "trace_config"));
}

STAGE_TEST(notification_without_a_config_is_accepted)
{
	uint64_t second;

	stage_start(g, STAGE_CONFIG);
	second = peer_call_number(g->cons, C_ENABLE,
				  PB_ENABLE_TRACING_REQUEST_ATTACH_NOTIFICATION_ONLY, 1);
	assert_true(peer_rejected(g->cons, g->enable)); /* one waits at a time */
	session_disable(rig_session(&g->rig), true);
	assert_true(peer_tracing_ended(g->cons, second, NULL));
}

STAGE_TEST(notification_of_nothing_is_answered)
{
	g->enable = peer_call_number(g->cons, C_ENABLE,
				     PB_ENABLE_TRACING_REQUEST_ATTACH_NOTIFICATION_ONLY, 1);
	assert_true(peer_tracing_ended(g->cons, g->enable, "attach_notification_only"));
	/* and the connection goes on */
	stage_start(g, STAGE_CONFIG);
	stage_free_buffers(g);
}

STAGE_TEST(method_that_is_past_says_so)
{
	struct pb_field f;

	assert_true(peer_accepted(g->cons, peer_call(g->cons, C_SAVE, NULL, 0)));
	assert_true(peer_field(g->cons, PB_SAVE_TRACE_FOR_BUGREPORT_RESPONSE_SUCCESS, &f) &&
		    f.u64 == 0);
	assert_true(peer_field(g->cons, PB_SAVE_TRACE_FOR_BUGREPORT_RESPONSE_MSG, &f));
	assert_non_null(memmem(f.data, f.len, "SaveTraceForBugreport", 21));
}

STAGE_TEST(stats_tell_of_the_session)
{
	struct pb_field f;

	stage_start(g, STAGE_CONFIG);
	assert_true(peer_accepted(g->cons, peer_call(g->cons, C_STATS, NULL, 0)));
	assert_true(peer_field(g->cons, PB_GET_TRACE_STATS_RESPONSE_TRACE_STATS, &f));
	assert_int_equal(peer_number(&f, PB_TRACE_STATS_TRACING_SESSIONS), 1);
	assert_int_equal(peer_number(&f, PB_TRACE_STATS_TOTAL_BUFFERS), 1);
}
