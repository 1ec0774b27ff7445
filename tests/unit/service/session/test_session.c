/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/test.h"
#include "config/limits.h"
#include "unit/service/rig.h"
#include "service/session/session_state.h"

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

STAGE_TEST(freed_session_leaves_nothing_with_producers)
{
	stage_start(g, STAGE_CONFIG);
	assert_int_equal(rig_producer_port(&g->rig)->n_grants, 1);
	rig_hang_up(&g->rig, g->cons);
	g->cons = NULL;
	assert_int_equal(rig_producer_port(&g->rig)->n_grants, 0);
	assert_true(TAILQ_EMPTY(&g->rig.service->sessions.list));
}

STAGE_TEST(buffers_are_numbered_service_wide)
{
	struct peer *second = rig_consumer(&g->rig);
	struct session *s;

	g->rig.service->sessions.last_buffer_id = UINT16_MAX - 1;
	peer_enable(g->cons, "buffers { size_kb: 4 } buffers { size_kb: 8 }");
	assert_true(peer_is_quiet(g->cons));
	s = rig_session(&g->rig);
	assert_int_equal(s->trace->buffers[0].id, UINT16_MAX);
	assert_int_equal(s->trace->buffers[1].id, 1);
	assert_int_equal(trace_find_buffer(s->trace, UINT16_MAX), 0);
	assert_int_equal(trace_find_buffer(s->trace, 1), 1);
	assert_int_equal(trace_find_buffer(s->trace, 2), -1);
	assert_int_equal(trace_buffer_size(s->trace->buffers[1].buffer), 8192);
	g->rig.service->sessions.last_buffer_id = UINT16_MAX - 1;
	peer_enable(second, "buffers { size_kb: 4 }");
	assert_true(peer_is_quiet(second));
	assert_int_equal(rig_session(&g->rig)->trace->buffers[0].id, 2);
	rig_hang_up(&g->rig, second);
}

STAGE_TEST(refused_config_changes_nothing)
{
	struct service before = *g->rig.service;

	stage_refuses(g, STAGE_CONFIG " trace_filter {}", "trace_filter");
	assert_int_equal(g->rig.service->sessions.last_session_id, before.sessions.last_session_id);
	assert_int_equal(g->rig.service->sessions.last_instance_id,
			 before.sessions.last_instance_id);
	assert_true(TAILQ_EMPTY(&g->rig.service->sessions.list));
	assert_true(peer_is_quiet(g->prod));
}
