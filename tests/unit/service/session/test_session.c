/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/test.h"
#include "config/limits.h"
#include "unit/service/rig.h"
#include "service/session/session.h"

TEST(names_of_states_are_those_of_the_protocol)
{
	assert_string_equal(session_state_name(SESSION_DISABLED), "DISABLED");
	assert_string_equal(session_state_name(SESSION_CONFIGURED), "CONFIGURED");
	assert_string_equal(session_state_name(SESSION_STARTED), "STARTED");
	assert_string_equal(session_state_name(SESSION_STOPPING), "STOP_WAIT");
}

STAGE_TEST(zero_timeouts_are_the_defaults)
{
	struct session *s;

	peer_enable(g->cons, "flush_timeout_ms: 3 data_source_stop_timeout_ms: 4");
	assert_true(peer_is_quiet(g->cons));
	s = rig_session(&g->rig);
	assert_int_equal(session_flush_timeout_ms(s), 3);
	assert_int_equal(session_stop_timeout_ms(s), 4);
	s->config->flush_timeout_ms = s->config->data_source_stop_timeout_ms = 0;
	assert_int_equal(session_flush_timeout_ms(s), DEFAULT_FLUSH_TIMEOUT_MS);
	assert_int_equal(session_stop_timeout_ms(s), DEFAULT_STOP_TIMEOUT_MS);
}

STAGE_TEST(buffers_are_found_by_their_number)
{
	struct session *s;

	peer_enable(g->cons, "buffers { size_kb: 4 } buffers { size_kb: 4 }");
	assert_true(peer_is_quiet(g->cons));
	s = rig_session(&g->rig);
	assert_int_equal(s->trace->n_buffers, 2);
	assert_int_equal(trace_find_buffer(s->trace, s->trace->buffers[0].id), 0);
	assert_int_equal(trace_find_buffer(s->trace, s->trace->buffers[1].id), 1);
	assert_int_equal(trace_find_buffer(s->trace, (uint16_t)(s->trace->buffers[1].id + 1)), -1);
}
