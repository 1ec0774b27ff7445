/* SPDX-License-Identifier: Apache-2.0 */
#include "common/observable_events.pb-c.h"
#include "service/ipc/limits.h"
#include "service/session/triggers.h"
#include "unit/service/rig.h"
#include "unit/test.h"

#define TRIGGERS(mode, timeout, triggers)                                                          \
	" trigger_config { trigger_mode: " mode " trigger_timeout_ms: " timeout " " triggers " }"

static void pull(struct stage *g, const char *name)
{
	assert_true(peer_accepted(g->prod, peer_trigger(g->prod, name)));
}

/* All commands that end an instance come, and then the end of tracing. */
static void assert_ends(struct stage *g, bool flushes)
{
	struct pb_field f;

	if (flushes) {
		assert_true(peer_command(g->prod, g->stream, CMD(FLUSH), &f));
		stage_ack_flush(g, &f);
	}
	assert_true(peer_command(g->prod, g->stream, CMD(STOP_DATA_SOURCE), &f));
	assert_true(peer_tracing_ended(g->cons, g->enable, NULL));
}

static void assert_nothing_to_read(struct stage *g)
{
	stage_read(g);
	assert_int_equal(g->got.n, 0);
}

/* The one Trigger of this field that is in the trace. */
static void assert_trigger(const struct peer_packets *t, uint32_t field, const char *name,
			   uint64_t delay)
{
	int i = peer_find_packet(t, 0, field);
	struct pb_field trigger, f;

	assert_true(i >= 0);
	assert_int_equal(peer_find_packet(t, (size_t)i + 1, field), -1);
	assert_true(peer_packet_field(t, (size_t)i, field, &trigger));
	assert_true(peer_subfield(&trigger, PB_TRIGGER_TRIGGER_NAME, &f));
	assert_int_equal(f.len, strlen(name));
	assert_memory_equal(f.data, name, f.len);
	assert_true(peer_subfield(&trigger, PB_TRIGGER_PRODUCER_NAME, &f));
	assert_memory_equal(f.data, "prod", 4);
	assert_true(peer_subfield(&trigger, PB_TRIGGER_TRUSTED_PRODUCER_UID, &f));
	assert_int_equal(f.u64, getuid());
	peer_subfield(&trigger, PB_TRIGGER_STOP_DELAY_MS, &f);
	assert_int_equal(f.u64, delay);
	assert_true(peer_packet_field(t, (size_t)i, PB_TRACE_PACKET_TIMESTAMP, &f));
	assert_true(f.u64 > 0);
}

/* ---- START_TRACING ---- */

STAGE_TEST(start_waits_for_its_trigger)
{
	struct pb_field f;
	uint64_t begin;

	stage_configure(g, STAGE_CONFIG TRIGGERS("START_TRACING", "60000",
						 "triggers { name: 'go' stop_delay_ms: 100 }"));
	pull(g, "other");
	assert_true(peer_is_quiet(g->prod));
	assert_int_equal(rig_session(&g->rig)->state, SESSION_CONFIGURED);
	assert_nothing_to_read(g);
	begin = clock_mono_ns();
	pull(g, "go");
	assert_int_equal(rig_session(&g->rig)->state, SESSION_STARTED);
	assert_true(peer_command(g->prod, g->stream, CMD(START_DATA_SOURCE), &f));
	stage_write(g, 0, 1, 0, "data");
	assert_ends(g, true);
	assert_true(clock_mono_ns() - begin >= 100 * NS_PER_MS);
	stage_read(g);
	assert_int_equal(peer_count_text(&g->got, "data"), 1);
	assert_trigger(&g->got, PB_TRACE_PACKET_TRIGGER, "go", 100);
	assert_true(peer_find_packet(&g->got, 0, PB_TRACE_PACKET_TRACE_CONFIG) <
		    peer_find_packet(&g->got, 0, PB_TRACE_PACKET_TRIGGER));
}

STAGE_TEST(start_gives_up)
{
	stage_configure(g, STAGE_CONFIG TRIGGERS("START_TRACING", "50", "triggers { name: 'go' }"));
	assert_ends(g, false);
	assert_nothing_to_read(g);
	pull(g, "go");
	assert_int_equal(rig_session(&g->rig)->state, SESSION_DISABLED);
	assert_nothing_to_read(g);
}

STAGE_TEST(start_without_a_consumer_goes_when_it_gives_up)
{
	stage_configure(g, STAGE_CONFIG TRIGGERS("START_TRACING", "50", "triggers { name: 'go' }"));
	assert_true(peer_accepted(g->cons, peer_detach(g->cons, "key")));
	rig_until(&g->rig, TAILQ_EMPTY(&g->rig.sessions->list));
}

/* stop_delay_ms 0 is no limit. */
STAGE_TEST(start_without_delay_runs_on)
{
	stage_configure(g, STAGE_CONFIG TRIGGERS("START_TRACING", "50", "triggers { name: 'go' }"));
	pull(g, "go");
	usleep(60000);
	rig_pump(&g->rig);
	assert_int_equal(rig_session(&g->rig)->state, SESSION_STARTED);
}

/* ---- STOP_TRACING ---- */

STAGE_TEST(stop_ends_after_its_trigger)
{
	stage_start(g, STAGE_CONFIG TRIGGERS("STOP_TRACING", "60000",
					     "triggers { name: 'end' stop_delay_ms: 50 } "
					     "triggers { name: 'later' stop_delay_ms: 60000 }"));
	assert_int_equal(rig_session(&g->rig)->config->duration_ms, 60000);
	stage_write(g, 0, 1, 0, "before");
	assert_nothing_to_read(g);
	pull(g, "end");
	pull(g, "later"); /* the first one counts */
	assert_ends(g, true);
	stage_read(g);
	assert_int_equal(peer_count_text(&g->got, "before"), 1);
	stage_read(g); /* each trigger is written once */
	assert_int_equal(peer_find_packet(&g->got, 0, PB_TRACE_PACKET_TRIGGER), -1);
}

STAGE_TEST(all_that_were_pulled_are_in_the_trace)
{
	static const char *const names[] = {"end", "more", "end"};
	int at = -1;

	stage_start(g,
		    STAGE_CONFIG TRIGGERS("STOP_TRACING", "60000",
					  "triggers { name: 'end' stop_delay_ms: 50 } "
					  "triggers { name: 'more' } triggers { name: 'none' }"));
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		pull(g, names[i]);
	assert_ends(g, true);
	stage_read(g);
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		struct pb_field trigger, f;

		at = peer_find_packet(&g->got, (size_t)(at + 1), PB_TRACE_PACKET_TRIGGER);
		assert_true(at >= 0);
		assert_true(
			peer_packet_field(&g->got, (size_t)at, PB_TRACE_PACKET_TRIGGER, &trigger));
		assert_true(peer_subfield(&trigger, PB_TRIGGER_TRIGGER_NAME, &f));
		assert_int_equal(f.len, strlen(names[i]));
		assert_memory_equal(f.data, names[i], f.len);
	}
	assert_int_equal(peer_find_packet(&g->got, (size_t)(at + 1), PB_TRACE_PACKET_TRIGGER), -1);
}

/* The timeout is for the trigger, not for what follows it. */
STAGE_TEST(stop_delay_may_be_longer_than_the_timeout)
{
	uint64_t begin = clock_mono_ns();

	stage_start(g, STAGE_CONFIG TRIGGERS("STOP_TRACING", "300",
					     "triggers { name: 'end' stop_delay_ms: 600 }"));
	pull(g, "end");
	assert_ends(g, true);
	assert_true(clock_mono_ns() - begin >= 600 * NS_PER_MS);
	assert_true(rig_session(&g->rig)->triggers.hit);
}

/* ---- CLONE_SNAPSHOT ---- */

static bool hit_comes(struct stage *g, uint64_t observe, const char *name)
{
	struct pb_field events, hit, f;

	return peer_reply(g->cons, observe) && g->cons->f.has_more &&
	       peer_field(g->cons, PB_OBSERVE_EVENTS_RESPONSE_EVENTS, &events) &&
	       peer_subfield(&events, PB_OBSERVABLE_EVENTS_CLONE_TRIGGER_HIT, &hit) &&
	       peer_subfield(&hit, PB_OBSERVABLE_EVENTS_CLONE_TRIGGER_HIT_TRACING_SESSION_ID, &f) &&
	       f.u64 == rig_session(&g->rig)->id &&
	       peer_subfield(&hit, PB_OBSERVABLE_EVENTS_CLONE_TRIGGER_HIT_PRODUCER_NAME, &f) &&
	       f.len == 4 && !memcmp(f.data, "prod", 4) &&
	       peer_subfield(&hit, PB_OBSERVABLE_EVENTS_CLONE_TRIGGER_HIT_BOOT_TIME_NS, &f) &&
	       f.u64 > 0 &&
	       peer_subfield(&hit, PB_OBSERVABLE_EVENTS_CLONE_TRIGGER_HIT_TRIGGER_NAME, &f) &&
	       f.len == strlen(name) && !memcmp(f.data, name, f.len);
}

static uint64_t observe_clones(struct stage *g)
{
	return peer_call_number(g->cons, C_OBSERVE, PB_OBSERVE_EVENTS_REQUEST_EVENTS_TO_OBSERVE,
				PB__OBSERVABLE_EVENTS__TYPE__TYPE_CLONE_TRIGGER_HIT);
}

STAGE_TEST(each_clone_trigger_is_reported_after_its_delay)
{
	uint64_t observe, begin;

	stage_start(g, STAGE_CONFIG TRIGGERS("CLONE_SNAPSHOT", "60000",
					     "triggers { name: 'late' stop_delay_ms: 100 } "
					     "triggers { name: 'now' }"));
	observe = observe_clones(g);
	begin = clock_mono_ns();
	pull(g, "late");
	pull(g, "now");
	pull(g, "now"); /* in one turn, and still two */
	assert_true(hit_comes(g, observe, "now"));
	assert_true(hit_comes(g, observe, "now"));
	assert_true(hit_comes(g, observe, "late"));
	assert_true(clock_mono_ns() - begin >= 100 * NS_PER_MS);
	assert_nothing_to_read(g); /* only clones are read */
}

STAGE_TEST(clone_trigger_is_reported_to_observers)
{
	stage_start(g, STAGE_CONFIG TRIGGERS("CLONE_SNAPSHOT", "60000", "triggers { name: 'a' }"));
	pull(g, "a");
	assert_true(peer_is_quiet(g->cons));
	assert_true(peer_accepted(g->cons, peer_detach(g->cons, "key")));
	pull(g, "a");
	assert_true(peer_is_quiet(g->cons));
	assert_true(peer_accepted(g->cons, peer_attach(g->cons, "key")));
}

static void activate(struct stage *g, const char *name)
{
	uint64_t budget = MAX_TRIGGER_STEPS;

	triggers_activate(g->rig.sessions, "prod", 0, name, &budget);
}

STAGE_TEST(delayed_clones_are_bounded)
{
	const struct session_triggers *t;
	const uint64_t *refused;

	stage_start(g, STAGE_CONFIG TRIGGERS("CLONE_SNAPSHOT", "60000",
					     "triggers { name: 'a' stop_delay_ms: 50000 }"));
	for (unsigned i = 0; i < MAX_RECEIVED_TRIGGERS + 5; i++)
		activate(g, "a");
	t = &rig_session(&g->rig)->triggers;
	assert_int_equal(t->n_due, MAX_DUE_TRIGGERS);
	refused = g->rig.quota->refused;
	assert_int_equal(refused[REFUSED_DUE_TRIGGERS],
			 MAX_RECEIVED_TRIGGERS + 5 - MAX_DUE_TRIGGERS);
	assert_int_equal(refused[REFUSED_RECEIVED_TRIGGERS], 5);
	assert_int_equal(refused[REFUSED_TRIGGER_HITS], 0);
	for (unsigned i = 0; i < MAX_TRIGGER_HITS_PER_NAME; i++)
		activate(g, "a");
	assert_int_equal(refused[REFUSED_TRIGGER_HITS], MAX_RECEIVED_TRIGGERS + 5);
}

STAGE_TEST(clone_session_ends_at_its_timeout)
{
	stage_start(g, STAGE_CONFIG TRIGGERS("CLONE_SNAPSHOT", "100",
					     "triggers { name: 'a' stop_delay_ms: 60000 }"));
	pull(g, "a");
	assert_ends(g, true);
	assert_int_equal(rig_session(&g->rig)->triggers.n_due, 0);
	assert_nothing_to_read(g);
}

/* ---- what counts ---- */

/* Triggers of all sessions that were accepted so far. */
static size_t n_received(struct stage *g)
{
	return g->rig.sessions->trigger_history.n;
}

STAGE_TEST(regex_names_who_may)
{
	stage_start(g, STAGE_CONFIG TRIGGERS(
			       "CLONE_SNAPSHOT", "60000",
			       "triggers { name: 'mine' producer_name_regex: 'pr[aeiou]d' } "
			       "triggers { name: 'part' producer_name_regex: 'pro' } "
			       "triggers { name: 'others' producer_name_regex: 'x.*' }"));
	pull(g, "others");
	pull(g, "part"); /* the whole name must match */
	assert_int_equal(n_received(g), 0);
	pull(g, "mine");
	assert_int_equal(n_received(g), 1);
}

STAGE_TEST(probability_skips)
{
	size_t n;

	stage_start(g, STAGE_CONFIG TRIGGERS("CLONE_SNAPSHOT", "60000",
					     "triggers { name: 'never' skip_probability: 1 } "
					     "triggers { name: 'half' skip_probability: 0.5 } "
					     "triggers { name: 'always' skip_probability: 0 }"));
	for (int i = 0; i < 200; i++)
		activate(g, "never");
	assert_int_equal(n_received(g), 0);
	for (int i = 0; i < 200; i++)
		activate(g, "always");
	assert_int_equal(n_received(g), 200);
	for (int i = 0; i < 400; i++)
		activate(g, "half");
	n = n_received(g) - 200;
	assert_in_range(n, 100, 300); /* ten standard deviations */
}

STAGE_TEST(limit_holds_over_sessions)
{
	const char *config = STAGE_CONFIG TRIGGERS("CLONE_SNAPSHOT", "60000",
						   "triggers { name: 'a' max_per_24_h: 2 }");

	stage_start(g, config);
	for (int i = 0; i < 3; i++)
		pull(g, "a");
	assert_int_equal(n_received(g), 2);
	stage_free_buffers(g);
	stage_begin(g, config);
	activate(g, "a");
	assert_int_equal(n_received(g), 2);
}

STAGE_TEST(every_session_that_waits_acts)
{
	struct peer *other = rig_consumer(&g->rig);

	stage_start(g, STAGE_CONFIG TRIGGERS("STOP_TRACING", "60000", "triggers { name: 'a' }"));
	peer_enable(other, "buffers { size_kb: 4 }" TRIGGERS("START_TRACING", "60000",
							     "triggers { name: 'a' }"));
	rig_until(&g->rig, rig_session(&g->rig)->id == 2);
	pull(g, "a");
	assert_true(TAILQ_FIRST(&g->rig.sessions->list)->triggers.hit);
	assert_int_equal(rig_session(&g->rig)->state, SESSION_STARTED);
	rig_hang_up(&g->rig, other);
}

STAGE_TEST(too_many_names_at_once_are_rejected)
{
	struct pb_mem m;

	stage_start(g, STAGE_CONFIG TRIGGERS("CLONE_SNAPSHOT", "60000", "triggers { name: 'a' }"));
	assert_int_equal(pb_mem_init(&m), 0);
	for (unsigned i = 0; i <= MAX_TRIGGER_NAMES; i++)
		pb_enc_str(&m.enc, PB_ACTIVATE_TRIGGERS_REQUEST_TRIGGER_NAMES, "a");
	assert_true(peer_rejected(g->prod, peer_call_mem(g->prod, P_TRIGGERS, &m)));
	assert_int_equal(n_received(g), 0);
	assert_int_equal(g->rig.quota->refused[REFUSED_TRIGGER_NAMES], 1);
}

STAGE_TEST(equal_triggers_of_a_request_count_once)
{
	struct pb_mem m;

	stage_start(g, STAGE_CONFIG TRIGGERS("CLONE_SNAPSHOT", "60000", "triggers { name: 'a' }"));
	assert_int_equal(pb_mem_init(&m), 0);
	for (unsigned i = 0; i < MAX_TRIGGER_NAMES; i++)
		pb_enc_str(&m.enc, PB_ACTIVATE_TRIGGERS_REQUEST_TRIGGER_NAMES, "a");
	assert_true(peer_accepted(g->prod, peer_call_mem(g->prod, P_TRIGGERS, &m)));
	assert_int_equal(n_received(g), 1);
}

/* Each expression is another one, so that neither its compiled form nor its answer is kept. */
STAGE_TEST(triggers_of_a_request_have_a_budget_of_steps)
{
	static char config[MAX_TRIGGER_NAMES * 128];
	char name[16], *end = config;
	struct pb_mem m;

	end += sprintf(end, STAGE_CONFIG
		       " trigger_config { trigger_mode: CLONE_SNAPSHOT trigger_timeout_ms: 60000 ");
	assert_int_equal(pb_mem_init(&m), 0);
	for (unsigned i = 0; i + 1 < MAX_TRIGGER_NAMES; i++) {
		end += sprintf(end,
			       "triggers { name: 't%u' producer_name_regex: "
			       "'(.?.?.?.?.?.?.?.?.?.?){13}%u' } ",
			       i, i);
		snprintf(name, sizeof(name), "t%u", i);
		pb_enc_str(&m.enc, PB_ACTIVATE_TRIGGERS_REQUEST_TRIGGER_NAMES, name);
	}
	sprintf(end, "triggers { name: 'last' producer_name_regex: 'prod' } }");
	pb_enc_str(&m.enc, PB_ACTIVATE_TRIGGERS_REQUEST_TRIGGER_NAMES, "last");
	stage_start(g, config);
	assert_true(peer_accepted(g->prod, peer_call_mem(g->prod, P_TRIGGERS, &m)));
	assert_int_equal(n_received(g), 0);
	assert_int_equal(g->rig.quota->refused[REFUSED_TRIGGER_NAMES], 1);
	/* The next request has its own. */
	pull(g, "last");
	assert_int_equal(n_received(g), 1);
}
