/* SPDX-License-Identifier: Apache-2.0 */

#include "config/limits.h"
#include "unit/test.h"
#define STAGE_FLAGS (DS_NOTIFY_START | DS_NOTIFY_STOP)
#include "service/ipc/limits.h"
#include "service/session/session_state.h"
#include "unit/service/rig.h"

/* Reads the trace. Returns true if it has an event of the service with this field. */
static bool reads_event(struct stage *g, uint32_t id, struct pb_field *ret)
{
	struct pb_field event;

	stage_read(g);
	for (size_t i = 0; i < g->got.n; i++)
		if (peer_packet_field(&g->got, i, PB_TRACE_PACKET_SERVICE_EVENT, &event) &&
		    peer_subfield(&event, id, ret))
			return true;
	return false;
}

#define SHORT_PERIODS                                                                              \
	" flush_period_ms: 1 incremental_state_config { clear_period_ms: 2 } "                     \
	"builtin_data_sources { snapshot_interval_ms: 3 }"

STAGE_TEST(short_periods_are_for_root)
{
	struct session *s;

	for (uid_t uid = 0; uid <= 4242; uid += 4242) {
		struct peer *c = rig_consumer(&g->rig);

		peer_enable(c, "buffers { size_kb: 4 } deferred_start: true" SHORT_PERIODS);
		assert_true(peer_is_quiet(c));
		s = rig_session(&g->rig);
		s->uid = uid; /* as if another user had connected */
		session_start(s);
		assert_int_equal(s->timers[TIMER_FLUSH].period_ms, uid ? MIN_PERIOD_MS : 1);
		assert_int_equal(s->timers[TIMER_CLEAR].period_ms, uid ? MIN_PERIOD_MS : 2);
		assert_int_equal(s->timers[TIMER_SNAPSHOT].period_ms, uid ? MIN_PERIOD_MS : 3);
		rig_hang_up(&g->rig, c);
	}
}

/* Twenty seconds are too long for a test, so its timer is fired here. */
STAGE_TEST(sources_that_are_slow_to_start_are_named)
{
	struct pb_field slow;
	struct session *s;

	stage_start(g, STAGE_CONFIG);
	s = rig_session(&g->rig);
	s->timers[TIMER_SLOW_START].fire(s->timers[TIMER_SLOW_START].ctx);
	assert_true(reads_event(g, PB_TRACING_SERVICE_EVENT_SLOW_STARTING_DATA_SOURCES, &slow));
	assert_non_null(memmem(slow.data, slow.len, "prod", 4));
	assert_non_null(memmem(slow.data, slow.len, "src", 3));
	assert_true(peer_accepted(g->prod, peer_call_number(g->prod, P_STARTED, 1, g->s.instance)));
	assert_false(event_pending(s->timers[TIMER_SLOW_START].event, EV_TIMEOUT, NULL));
}

STAGE_TEST(a_session_without_sources_is_all_started)
{
	struct pb_field f;

	g->enable = peer_enable(g->cons, "buffers { size_kb: 4 }");
	assert_true(reads_event(g, PB_TRACING_SERVICE_EVENT_ALL_DATA_SOURCES_STARTED, &f));
}

STAGE_TEST(duration_counts_from_when_all_have_started)
{
	uint64_t duration_ns = 60000 * NS_PER_MS, wait_ns = DURATION_START_WAIT_MS * NS_PER_MS;
	uint64_t begin = clock_mono_ns();
	struct session *s;

	stage_start(g, STAGE_CONFIG " duration_ms: 60000");
	s = rig_session(&g->rig);
	assert_true(s->timers[TIMER_DURATION].due_ns >= begin + duration_ns + wait_ns);
	assert_true(s->timers[TIMER_DURATION].due_ns <= clock_mono_ns() + duration_ns + wait_ns);
	begin = clock_mono_ns();
	assert_true(peer_accepted(g->prod, peer_call_number(g->prod, P_STARTED, 1, g->s.instance)));
	assert_true(s->timers[TIMER_DURATION].due_ns >= begin + duration_ns);
	assert_true(s->timers[TIMER_DURATION].due_ns <= clock_mono_ns() + duration_ns);
}

STAGE_TEST(start_that_comes_after_the_end_does_not_begin_the_duration_again)
{
	struct session *s;
	struct pb_field f;

	stage_start(g, STAGE_CONFIG " duration_ms: 60000");
	s = rig_session(&g->rig);
	s->timers[TIMER_DURATION].fire(s->timers[TIMER_DURATION].ctx);
	loop_timer_stop(&s->timers[TIMER_DURATION]);
	assert_true(peer_command(g->prod, g->stream, CMD(FLUSH), &f));
	assert_true(peer_accepted(g->prod, peer_call_number(g->prod, P_STARTED, 1, g->s.instance)));
	assert_true(s->all_started_reported);
	assert_false(event_pending(s->timers[TIMER_DURATION].event, EV_TIMEOUT, NULL));
}

STAGE_TEST(duration_can_count_suspended_time)
{
	g->enable = peer_enable(g->cons, "buffers { size_kb: 4 } duration_ms: 30 "
					 "prefer_suspend_clock_for_duration: true");
	assert_true(peer_tracing_ended(g->cons, g->enable, NULL));
}

STAGE_TEST(failed_final_flush_is_remembered)
{
	stage_start(g, STAGE_CONFIG " duration_ms: 10 flush_timeout_ms: 10 "
				    "data_source_stop_timeout_ms: 10");
	assert_true(peer_accepted(g->prod, peer_call_number(g->prod, P_STARTED, 1, g->s.instance)));
	assert_true(peer_tracing_ended(g->cons, g->enable, NULL));
	assert_int_equal(rig_session(&g->rig)->final_flush, FINAL_FLUSH_FAILED);
}

STAGE_TEST(configured_session_is_disabled_at_once)
{
	struct pb_field f;

	stage_configure(g, STAGE_CONFIG " deferred_start: true");
	stage_disable(g);
	assert_true(peer_command(g->prod, g->stream, CMD(STOP_DATA_SOURCE), &f));
}

/* With the second option by the clock that goes on while the machine is suspended. */
STAGE_TEST(snapshots_come_with_markers_and_stats_until_the_end)
{
	static const char *const options[] = {"", "prefer_suspend_clock_for_snapshot: true"};
	char config[128];

	for (size_t i = 0; i < ARRAY_SIZE(options); i++) {
		snprintf(config, sizeof(config),
			 "builtin_data_sources { snapshot_interval_ms: 10 %s }", options[i]);
		g->enable = peer_enable(g->cons, config);
		stage_read(g);
		for (int n = 0; n < 2; n++) /* those of the start, and of a tick */
			do
				stage_read(g);
			while (peer_find_packet(&g->got, 0,
						PB_TRACE_PACKET_SYNCHRONIZATION_MARKER) < 0);
		assert_true(peer_find_packet(&g->got, 0, PB_TRACE_PACKET_TRACE_STATS) >= 0);
		stage_disable(g);
		stage_read(g);
		usleep(25000);
		stage_read(g);
		assert_int_equal(
			peer_find_packet(&g->got, 0, PB_TRACE_PACKET_SYNCHRONIZATION_MARKER), -1);
		assert_true(peer_accepted(g->cons, peer_call(g->cons, C_FREE, NULL, 0)));
	}
}

/* ---- a session as a whole ---- */

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

STAGE_TEST(buffers_are_numbered_service_wide)
{
	struct peer *second = rig_consumer(&g->rig);
	const struct trace *t;

	g->rig.sessions->last_buffer_id = UINT16_MAX - 1;
	peer_enable(g->cons, "buffers { size_kb: 4 } buffers { size_kb: 8 }");
	assert_true(peer_is_quiet(g->cons));
	t = rig_session(&g->rig)->trace;
	assert_int_equal(trace_find_buffer(t, UINT16_MAX), 0);
	assert_int_equal(trace_find_buffer(t, 1), 1); /* 0 is no number */
	assert_int_equal(trace_find_buffer(t, 2), -1);
	assert_int_equal(trace_buffer_size(trace_get_buffer(t, 1)), 8192);
	g->rig.sessions->last_buffer_id = UINT16_MAX - 1;
	peer_enable(second, "buffers { size_kb: 4 }");
	assert_true(peer_is_quiet(second));
	assert_int_equal(trace_get_buffer_id(rig_session(&g->rig)->trace, 0), 2);
	rig_hang_up(&g->rig, second);
}

STAGE_TEST(refused_config_changes_nothing)
{
	struct sessions before = *g->rig.sessions;

	stage_refuses(g, STAGE_CONFIG " trace_filter {}", "trace_filter");
	assert_int_equal(g->rig.sessions->last_session_id, before.last_session_id);
	assert_int_equal(g->rig.sessions->last_instance_id, before.last_instance_id);
	assert_true(TAILQ_EMPTY(&g->rig.sessions->list));
	assert_true(peer_is_quiet(g->prod));
}
