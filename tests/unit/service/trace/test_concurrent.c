/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/test.h"
#define STAGE_SETUP setup
#define STAGE_TEARDOWN teardown
#include "service/ipc/limits.h"
#include "unit/service/rig.h"

/* g->cons watches, this one is watched. */
static struct peer *other;

static int setup(void **state)
{
	struct stage *g = stage_new(0, false);

	other = rig_consumer(&g->rig);
	*state = g;
	return 0;
}

static int teardown(void **state)
{
	struct stage *g = *state;

	rig_hang_up(&g->rig, other);
	stage_free(g);
	return 0;
}

#define WATCH "builtin_data_sources { enable_concurrent_session_events: true } "

/* Reads the events that were not read yet, and compares their states, "2 3 1". The last one is in
 * *ret_event. */
static void expect_states(struct stage *g, const char *expected, struct pb_field *ret_event)
{
	char states[64] = "";
	int i = -1;

	stage_read(g);
	while ((i = peer_find_packet(&g->got, (size_t)(i + 1),
				     PB_TRACE_PACKET_CONCURRENT_SESSION_EVENT)) >= 0) {
		peer_packet_field(&g->got, (size_t)i, PB_TRACE_PACKET_CONCURRENT_SESSION_EVENT,
				  ret_event);
		sprintf(states + strlen(states), "%s%d", *states ? " " : "",
			(int)peer_number(ret_event, PB_CONCURRENT_SESSION_EVENT_STATE));
	}
	assert_string_equal(states, expected);
}

STAGE_TEST(life_of_another_session_is_in_the_trace)
{
	struct pb_field event, f;

	stage_start(g, WATCH STAGE_CONFIG);
	peer_enable(other, "buffers { size_kb: 4 } unique_session_name: 'watched'");
	assert_true(peer_accepted(other, peer_call(other, C_DISABLE, NULL, 0)));
	peer_next(other);
	expect_states(g, "2 3 1", &event);
	assert_int_equal(peer_number(&event, PB_CONCURRENT_SESSION_EVENT_SESSION_ID), 2);
	assert_int_equal(peer_number(&event, PB_CONCURRENT_SESSION_EVENT_CONSUMER_UID), getuid());
	assert_true(peer_subfield(&event, PB_CONCURRENT_SESSION_EVENT_SESSION_NAME, &f));
	assert_memory_equal(f.data, "watched", 7);
	expect_states(g, "", &event); /* each is written once */
}

STAGE_TEST(stopping_is_announced_only_when_a_source_must_acknowledge)
{
	struct peer *slow = rig_producer(&g->rig);
	uint64_t stream = peer_become_producer(slow, "slow", "slow", DS_NOTIFY_STOP, false);
	struct peer_session s = {0};
	struct pb_field stop, event;
	uint64_t call;

	stage_start(g, WATCH STAGE_CONFIG);
	peer_enable(other, "buffers { size_kb: 4 } data_sources { config { name: 'slow' } }");
	assert_true(peer_await_session(slow, stream, true, &s));
	call = peer_call(other, C_DISABLE, NULL, 0);
	assert_true(peer_accepted(other, call));
	expect_states(g, "2 3 4", &event); /* the acknowledgement is outstanding */
	assert_true(peer_command(slow, stream, CMD(STOP_DATA_SOURCE), &stop));
	assert_true(peer_accepted(slow, peer_call_number(slow, P_STOPPED, 1, s.instance)));
	expect_states(g, "1", &event);
	peer_unmap(&s);
	rig_hang_up(&g->rig, slow);
}

STAGE_TEST(sessions_that_ran_before_come_first)
{
	struct pb_field event, f;

	peer_enable(other, "buffers { size_kb: 4 }");
	rig_until(&g->rig, !TAILQ_EMPTY(&g->rig.sessions->list));
	stage_start(g, WATCH STAGE_CONFIG);
	expect_states(g, "3", &event);
	assert_false(peer_subfield(&event, PB_CONCURRENT_SESSION_EVENT_SESSION_NAME, &f));
}

STAGE_TEST(a_session_without_the_option_has_no_events)
{
	struct pb_field event;

	stage_start(g, STAGE_CONFIG);
	peer_enable(other, "buffers { size_kb: 4 }");
	rig_until(&g->rig, rig_session(&g->rig)->id == 2);
	expect_states(g, "", &event);
}

STAGE_TEST(names_are_for_their_own_user)
{
	struct pb_field event, f;

	stage_start(g, WATCH STAGE_CONFIG);
	rig_session(&g->rig)->uid = 4711;
	peer_enable(other, "buffers { size_kb: 4 } unique_session_name: 'secret'");
	rig_until(&g->rig, rig_session(&g->rig)->id == 2);
	expect_states(g, "2 3", &event);
	assert_false(peer_subfield(&event, PB_CONCURRENT_SESSION_EVENT_SESSION_NAME, &f));
}

STAGE_TEST(events_have_a_limit)
{
	stage_start(g, WATCH STAGE_CONFIG);
	peer_enable(other, "buffers { size_kb: 4 }");
	rig_until(&g->rig, rig_session(&g->rig)->id == 2);
	for (unsigned i = 0; i < MAX_CONCURRENT_EVENTS + 10; i++)
		session_set_state(rig_session(&g->rig), SESSION_STARTED);
	assert_in_range(g->rig.quota->refused[REFUSED_CONCURRENT_EVENTS], 10, 20);
}
