/* SPDX-License-Identifier: Apache-2.0 */
#include "common/observable_events.pb-c.h"
#include "ipc/consumer_port.pb-c.h"
#include "unit/test.h"
#define STAGE_FLAGS (DS_NOTIFY_START | DS_NOTIFY_STOP)
#include "unit/service/rig.h"

enum { INSTANCES = 1, ALL_STARTED = 2, CLONE_HIT = 4 };

static uint64_t observe(struct stage *g, unsigned events)
{
	struct pb_mem m;

	assert_int_equal(pb_mem_init(&m), 0);
	for (unsigned bit = 1; bit <= CLONE_HIT; bit *= 2)
		if (events & bit)
			pb_enc_u64(&m.enc, PB_OBSERVE_EVENTS_REQUEST_EVENTS_TO_OBSERVE, bit);
	return peer_call_mem(g->cons, C_OBSERVE, &m);
}

/* The next reply of the stream, to be freed. */
static Pb__ObserveEventsResponse *await(struct stage *g, uint64_t stream)
{
	Pb__ObserveEventsResponse *r;

	assert_true(peer_reply(g->cons, stream));
	assert_true(g->cons->f.success && g->cons->f.has_more);
	r = pb__observe_events_response__unpack(NULL, g->cons->f.payload_len, g->cons->f.payload);
	assert_non_null(r);
	assert_non_null(r->events);
	return r;
}

static void expect_instance(struct stage *g, uint64_t stream, unsigned state)
{
	Pb__ObserveEventsResponse *r = await(g, stream);

	assert_int_equal(r->events->n_instance_state_changes, 1);
	assert_string_equal(r->events->instance_state_changes[0]->producer_name, "prod");
	assert_string_equal(r->events->instance_state_changes[0]->data_source_name, "src");
	assert_int_equal(r->events->instance_state_changes[0]->state, state);
	pb__observe_events_response__free_unpacked(r, NULL);
}

static bool notify(struct stage *g, uint32_t method)
{
	return peer_accepted(g->prod, peer_call_number(g->prod, method, 1, g->s.instance));
}

STAGE_TEST(changes_of_instances_are_reported)
{
	uint64_t stream = observe(g, INSTANCES);

	stage_start(g, STAGE_CONFIG);
	expect_instance(g, stream, 1); /* it is there, and does not run yet */
	assert_true(peer_is_quiet(g->cons)); /* starting is no state to tell */
	assert_true(notify(g, P_STARTED));
	expect_instance(g, stream, 2);
	assert_true(peer_accepted(g->cons, peer_call(g->cons, C_DISABLE, NULL, 0)));
	assert_true(peer_is_quiet(g->cons));
	peer_call_number(g->prod, P_STOPPED, 1, g->s.instance);
	/* also the events that led to the end come before it */
	expect_instance(g, stream, 1);
	assert_true(peer_tracing_ended(g->cons, g->enable, NULL));
}

STAGE_TEST(subscriber_hears_what_is_the_case)
{
	uint64_t stream;

	stage_configure(g, STAGE_CONFIG " deferred_start: true");
	stream = observe(g, INSTANCES);
	expect_instance(g, stream, 1); /* configured counts as stopped */
}

STAGE_TEST(all_started_is_reported_once)
{
	struct peer *late = rig_producer(&g->rig);
	uint64_t stream = observe(g, ALL_STARTED);
	Pb__ObserveEventsResponse *r;

	stage_start(g, STAGE_CONFIG);
	assert_true(peer_is_quiet(g->cons));
	assert_true(notify(g, P_STARTED));
	r = await(g, stream);
	assert_true(r->events->has_all_data_sources_started);
	assert_true(r->events->all_data_sources_started);
	assert_int_equal(r->events->n_instance_state_changes, 0);
	pb__observe_events_response__free_unpacked(r, NULL);
	peer_become_producer(late, "late", "src", 0, false);
	assert_true(peer_is_quiet(g->cons));
	rig_hang_up(&g->rig, late);
}

STAGE_TEST(who_asks_late_hears_it_too)
{
	Pb__ObserveEventsResponse *r;

	stage_start(g, STAGE_CONFIG);
	assert_true(notify(g, P_STARTED));
	r = await(g, observe(g, ALL_STARTED | INSTANCES));
	/* Events of one turn are in one reply. */
	assert_true(r->events->all_data_sources_started);
	assert_int_equal(r->events->n_instance_state_changes, 1);
	pb__observe_events_response__free_unpacked(r, NULL);
}

STAGE_TEST(new_call_ends_the_stream_before)
{
	uint64_t first = observe(g, INSTANCES), second;

	assert_true(peer_is_quiet(g->cons));
	second = observe(g, ALL_STARTED);
	assert_true(peer_accepted(g->cons, first));
	assert_int_equal(g->cons->f.payload_len, 0);
	stage_start(g, STAGE_CONFIG);
	assert_true(notify(g, P_STARTED));
	pb__observe_events_response__free_unpacked(await(g, second), NULL);
}

STAGE_TEST(no_events_end_the_stream_at_once)
{
	uint64_t first = observe(g, INSTANCES), none;

	none = observe(g, 0);
	assert_true(peer_accepted(g->cons, first));
	assert_true(peer_accepted(g->cons, none));
	stage_start(g, STAGE_CONFIG);
	assert_true(notify(g, P_STARTED));
	assert_true(peer_is_quiet(g->cons));
}

STAGE_TEST(packed_events_are_understood)
{
	uint64_t stream = peer_call(g->cons, C_OBSERVE, "\x0a\x02\x01\x02", 4);
	Pb__ObserveEventsResponse *r;

	g->enable = peer_enable(g->cons, "buffers { size_kb: 4 }");
	r = await(g, stream);
	assert_true(r->events->all_data_sources_started);
	pb__observe_events_response__free_unpacked(r, NULL);
}

TEST(many_changes_fit_their_replies)
{
	struct stage *g = stage_new(0, false);
	unsigned n = 0;
	uint64_t stream;

	for (int i = 1; i < 500; i++)
		assert_true(peer_accepted(g->prod, peer_register(g->prod, "src", 0)));
	stream = observe(g, INSTANCES);
	peer_enable(g->cons, STAGE_CONFIG STAGE_CONFIG STAGE_CONFIG STAGE_CONFIG STAGE_CONFIG
		    "buffers { size_kb: 64 }");
	while (n < 2 * 2500) { /* each is set up, and starts */
		Pb__ObserveEventsResponse *r = await(g, stream);

		n += (unsigned)r->events->n_instance_state_changes;
		pb__observe_events_response__free_unpacked(r, NULL);
	}
	assert_int_equal(n, 2 * 2500);
	assert_true(peer_is_quiet(g->cons));
	stage_free(g);
}
