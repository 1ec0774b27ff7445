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

static const struct concurrent_events *events(struct stage *g)
{
	struct session *s;

	TAILQ_FOREACH (s, &g->rig.service->sessions.list, link)
		if (s->config->builtin_data_sources)
			return &s->trace->concurrent;
	return NULL;
}

/* Also that they are in the order of time. */
static void assert_states(const struct concurrent_events *c, const uint32_t *states, size_t n)
{
	assert_int_equal(c->n, n);
	for (size_t i = 0; i < n; i++) {
		assert_int_equal(c->list[i].state, states[i]);
		assert_true(i == 0 || c->list[i - 1].boot_ns <= c->list[i].boot_ns);
	}
}

STAGE_TEST(life_of_another_session_is_in_the_trace)
{
	static const uint32_t states[] = {2, 3, 1};
	struct pb_field event, f;
	int i = -1;

	stage_start(g, WATCH STAGE_CONFIG);
	peer_enable(other, "buffers { size_kb: 4 } unique_session_name: 'watched'");
	assert_true(peer_accepted(other, peer_call(other, C_DISABLE, NULL, 0)));
	peer_next(other);
	assert_states(events(g), states, 3);
	stage_read(g);
	for (size_t k = 0; k < 3; k++) {
		i = peer_find_packet(&g->got, (size_t)(i + 1),
				     PB_TRACE_PACKET_CONCURRENT_SESSION_EVENT);
		assert_true(i >= 0);
		peer_packet_field(&g->got, (size_t)i, PB_TRACE_PACKET_CONCURRENT_SESSION_EVENT,
				  &event);
		assert_int_equal(peer_number(&event, PB_CONCURRENT_SESSION_EVENT_STATE), states[k]);
		assert_int_equal(peer_number(&event, PB_CONCURRENT_SESSION_EVENT_SESSION_ID), 2);
		assert_int_equal(peer_number(&event, PB_CONCURRENT_SESSION_EVENT_CONSUMER_UID),
				 getuid());
		assert_true(peer_subfield(&event, PB_CONCURRENT_SESSION_EVENT_SESSION_NAME, &f));
		assert_memory_equal(f.data, "watched", 7);
	}
	assert_int_equal(events(g)->n, 0); /* each is written once */
}

STAGE_TEST(stopping_is_announced_only_when_a_source_must_acknowledge)
{
	static const uint32_t waited_for[] = {2, 3, 4, 1};
	struct peer *slow = rig_producer(&g->rig);
	uint64_t stream = peer_become_producer(slow, "slow", "slow", DS_NOTIFY_STOP, false);
	struct peer_session s = {0};
	struct pb_field stop;
	uint64_t call;

	stage_start(g, WATCH STAGE_CONFIG);
	peer_enable(other, "buffers { size_kb: 4 } data_sources { config { name: 'slow' } }");
	assert_true(peer_await_session(slow, stream, true, &s));
	call = peer_call(other, C_DISABLE, NULL, 0);
	assert_true(peer_accepted(other, call));
	assert_states(events(g), waited_for, 3); /* the acknowledgement is outstanding */
	assert_true(peer_command(slow, stream, CMD(STOP_DATA_SOURCE), &stop));
	assert_true(peer_accepted(slow, peer_call_number(slow, P_STOPPED, 1, s.instance)));
	assert_states(events(g), waited_for, 4);
	peer_unmap(&s);
	rig_hang_up(&g->rig, slow);
}

STAGE_TEST(sessions_that_ran_before_are_told_first)
{
	static const uint32_t started = 3;
	uint64_t since;

	peer_enable(other, "buffers { size_kb: 4 }");
	rig_until(&g->rig, !TAILQ_EMPTY(&g->rig.service->sessions.list));
	since = rig_session(&g->rig)->state_boot_ns;
	stage_start(g, WATCH STAGE_CONFIG);
	assert_states(events(g), &started, 1);
	assert_int_equal(events(g)->list[0].boot_ns, since);
	assert_null(events(g)->list[0].name);
}

STAGE_TEST(who_did_not_ask_hears_nothing)
{
	stage_start(g, STAGE_CONFIG);
	peer_enable(other, "buffers { size_kb: 4 }");
	rig_until(&g->rig, rig_session(&g->rig)->id == 2);
	assert_int_equal(TAILQ_FIRST(&g->rig.service->sessions.list)->trace->concurrent.n, 0);
}

STAGE_TEST(names_are_for_their_own_user)
{
	stage_start(g, WATCH STAGE_CONFIG);
	rig_session(&g->rig)->uid = 4711;
	peer_enable(other, "buffers { size_kb: 4 } unique_session_name: 'secret'");
	rig_until(&g->rig, rig_session(&g->rig)->id == 2);
	assert_true(events(g)->n > 0);
	assert_null(events(g)->list[0].name);
}

STAGE_TEST(they_are_bounded)
{
	stage_start(g, WATCH STAGE_CONFIG);
	peer_enable(other, "buffers { size_kb: 4 }");
	rig_until(&g->rig, rig_session(&g->rig)->id == 2);
	for (unsigned i = 0; i < MAX_CONCURRENT_EVENTS + 10; i++)
		session_set_state(rig_session(&g->rig), SESSION_STARTED);
	assert_int_equal(events(g)->n, MAX_CONCURRENT_EVENTS);
	assert_in_range(g->rig.service->quota.refused[REFUSED_CONCURRENT_EVENTS], 10, 20);
}
