/* SPDX-License-Identifier: Apache-2.0 */

#include "config/limits.h"
#include "unit/test.h"
#define STAGE_FLAGS (DS_NOTIFY_START | DS_NOTIFY_STOP)
#include "service/consumer/consumer_port.h"
#include "service/ipc/limits.h"
#include "service/session/session_state.h"
#include "unit/service/rig.h"

static bool has_event(const struct session *s, enum service_event_kind kind)
{
	for (size_t i = 0; i < s->trace->service_events.n; i++)
		if (s->trace->service_events.events[i].kind == kind)
			return true;
	return false;
}

STAGE_TEST(starts_by_itself)
{
	struct session *s;

	stage_start(g, STAGE_CONFIG);
	s = rig_session(&g->rig);
	assert_int_equal(s->id, 1);
	assert_int_equal(s->state, SESSION_STARTED);
	assert_int_equal(s->uid, getuid());
	assert_true(has_event(s, SERVICE_EVENT_TRACING_STARTED));
	assert_false(has_event(s, SERVICE_EVENT_ALL_STARTED));
	assert_true(s->trace->clocks.has_initial);
	assert_true(s->trace->start_realtime_ns > 0);
	assert_true(s->trace->sync_marker_due && s->trace->stats_due);
}

STAGE_TEST(deferred_start_waits)
{
	struct session *s;

	stage_configure(g, STAGE_CONFIG " deferred_start: true");
	s = rig_session(&g->rig);
	assert_int_equal(s->state, SESSION_CONFIGURED);
	assert_false(has_event(s, SERVICE_EVENT_TRACING_STARTED));
	assert_int_equal(s->trace->start_realtime_ns, 0);
	session_start(s);
	assert_int_equal(s->state, SESSION_STARTED);
	session_start(s);
	assert_int_equal(s->state, SESSION_STARTED);
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

STAGE_TEST(all_started_when_the_last_one_is)
{
	stage_start(g, STAGE_CONFIG);
	assert_false(rig_session(&g->rig)->all_started_reported);
	assert_true(peer_accepted(g->prod, peer_call_number(g->prod, P_STARTED, 1, g->s.instance)));
	assert_true(rig_session(&g->rig)->all_started_reported);
	assert_true(has_event(rig_session(&g->rig), SERVICE_EVENT_ALL_STARTED));
}

/* Twenty seconds are too long for a test, so its timer is fired here. */
STAGE_TEST(those_that_are_slow_to_start_are_named)
{
	const struct slow_sources *slow;
	struct session *s;

	stage_start(g, STAGE_CONFIG);
	s = rig_session(&g->rig);
	assert_true(event_pending(s->timers[TIMER_SLOW_START].event, EV_TIMEOUT, NULL));
	s->timers[TIMER_SLOW_START].fire(s->timers[TIMER_SLOW_START].ctx);
	slow = service_events_sources(&s->trace->service_events, SERVICE_EVENT_SLOW_STARTING);
	assert_non_null(slow->bytes);
	assert_non_null(memmem(slow->bytes, slow->len, "prod", 4));
	assert_non_null(memmem(slow->bytes, slow->len, "src", 3));
	assert_true(peer_accepted(g->prod, peer_call_number(g->prod, P_STARTED, 1, g->s.instance)));
	assert_false(event_pending(s->timers[TIMER_SLOW_START].event, EV_TIMEOUT, NULL));
}

STAGE_TEST(session_without_sources_is_all_started)
{
	g->enable = peer_enable(g->cons, "buffers { size_kb: 4 }");
	assert_true(peer_is_quiet(g->cons));
	assert_true(has_event(rig_session(&g->rig), SERVICE_EVENT_ALL_STARTED));
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

STAGE_TEST(duration_ends_with_a_flush)
{
	uint64_t begin = clock_mono_ns();
	struct session *s;
	struct pb_field f;

	stage_start(g, STAGE_CONFIG " duration_ms: 50");
	assert_true(peer_accepted(g->prod, peer_call_number(g->prod, P_STARTED, 1, g->s.instance)));
	s = rig_session(&g->rig);
	assert_true(peer_command(g->prod, g->stream, CMD(FLUSH), &f));
	assert_true(clock_mono_ns() - begin >= 50 * NS_PER_MS);
	assert_int_equal(peer_number(&f, CMD(FLUSH_FLAGS)), FLUSH_REASON_STOP | FLUSH_BY_SERVICE);
	assert_int_equal(s->state, SESSION_STARTED);
	stage_ack_flush(g, &f);
	assert_true(peer_command(g->prod, g->stream, CMD(STOP_DATA_SOURCE), &f));
	assert_int_equal(s->state, SESSION_STOPPING);
	assert_true(peer_accepted(g->prod, peer_call_number(g->prod, P_STOPPED, 1, g->s.instance)));
	assert_true(peer_tracing_ended(g->cons, g->enable, NULL));
	assert_int_equal(s->state, SESSION_DISABLED);
	assert_int_equal(s->final_flush, FINAL_FLUSH_SUCCEEDED);
	assert_true(has_event(s, SERVICE_EVENT_TRACING_DISABLED));
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

STAGE_TEST(stop_is_not_waited_for_longer_than_the_timeout)
{
	uint64_t begin;

	stage_start(g, STAGE_CONFIG " data_source_stop_timeout_ms: 40");
	begin = clock_mono_ns();
	stage_disable(g);
	assert_true(clock_mono_ns() - begin >= 40 * NS_PER_MS);
}

STAGE_TEST(configured_session_is_disabled_at_once)
{
	struct pb_field f;

	stage_configure(g, STAGE_CONFIG " deferred_start: true");
	stage_disable(g);
	assert_true(peer_command(g->prod, g->stream, CMD(STOP_DATA_SOURCE), &f));
}

STAGE_TEST(disabling_twice_is_once)
{
	struct pb_field f;

	stage_start(g, STAGE_CONFIG);
	session_disable(rig_session(&g->rig), false);
	session_disable(rig_session(&g->rig), false);
	session_disable(rig_session(&g->rig), true);
	session_disable(rig_session(&g->rig), true);
	session_disable(rig_session(&g->rig), false);
	assert_true(peer_tracing_ended(g->cons, g->enable, NULL));
	assert_true(peer_command(g->prod, g->stream, CMD(STOP_DATA_SOURCE), &f));
	assert_true(peer_is_quiet(g->prod));
	assert_true(peer_is_quiet(g->cons));
}

STAGE_TEST(snapshot_tick_asks_for_marker_and_stats_again)
{
	struct session *s;

	peer_enable(g->cons, "builtin_data_sources { snapshot_interval_ms: 10 }");
	assert_true(peer_is_quiet(g->cons));
	s = rig_session(&g->rig);
	s->trace->sync_marker_due = s->trace->stats_due = false;
	rig_until(&g->rig, s->trace->sync_marker_due && s->trace->stats_due);
	session_disable(s, false);
	s->trace->sync_marker_due = s->trace->stats_due = false;
	usleep(25000);
	rig_pump(&g->rig);
	assert_false(s->trace->sync_marker_due || s->trace->stats_due);
}

/* By the clock that goes on while the machine is suspended. */
STAGE_TEST(snapshot_tick_can_count_suspended_time)
{
	struct session *s;

	peer_enable(g->cons, "builtin_data_sources { snapshot_interval_ms: 10 "
			     "prefer_suspend_clock_for_snapshot: true }");
	assert_true(peer_is_quiet(g->cons));
	s = rig_session(&g->rig);
	assert_non_null(s->timers[TIMER_SNAPSHOT].boot_event);
	assert_null(s->timers[TIMER_DURATION].boot_event);
	s->trace->sync_marker_due = s->trace->stats_due = false;
	rig_until(&g->rig, s->trace->sync_marker_due && s->trace->stats_due);
	session_disable(s, false);
	assert_null(s->timers[TIMER_SNAPSHOT].boot_event);
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
