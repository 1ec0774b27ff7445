/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The life of sessions, frame by frame, against the service on the sockets of the environment:
 * detached, triggered, cloned, pushed aside.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/event_loop/sock.h"
#include "common/observable_events.pb-c.h"
#include "service_peer_consumer.h"
#include "service_peer_producer.h"
#include "service_tap.h"

#define CONFIG "buffers { size_kb: 64 } data_sources { config { name: 'life.src' } } "

static struct peer producer, consumer, other; /* large */
static uint64_t stream;
static struct peer_session session;

static void begin(void)
{
	peer_connect(&producer, sock_default_producer());
	peer_connect(&consumer, sock_default_consumer());
	peer_connect(&other, sock_default_consumer());
	memset(&session, 0, sizeof(session));
	stream = peer_become_producer(&producer, "life.producer", "life.src", 0, false);
}

static void hang_up(void)
{
	if (session.smb.base)
		peer_unmap(&session);
	peer_close(&producer);
	peer_close(&consumer);
	peer_close(&other);
}

static bool commit_text(uint32_t chunk_id, const char *text)
{
	peer_write_chunk(&session.smb, 0, 1, chunk_id, &text, 1, true);
	return peer_accepted(&producer, peer_commit(&producer, 0, 0, session.buffer, 0));
}

static bool flush_comes(uint64_t flags)
{
	struct pb_field f;

	return peer_command(&producer, stream, CMD(FLUSH), &f) &&
	       peer_number(&f, CMD(FLUSH_FLAGS)) == flags &&
	       peer_accepted(&producer,
			     peer_ack_flush(&producer, peer_number(&f, CMD(FLUSH_REQUEST_ID))));
}

static bool reads(struct peer *p, const char *text, unsigned n)
{
	struct peer_packets t;
	bool good = peer_read(p, &t) && peer_count_text(&t, text) == n;

	peer_packets_free(&t);
	return good;
}

/* The id of the only session, by QueryServiceState. */
static uint64_t session_id(struct peer *p)
{
	struct pb_field state, s;

	if (!peer_accepted(p, peer_call_number(p, C_QUERY_STATE, 1, 1)) ||
	    !peer_field(p, PB_QUERY_SERVICE_STATE_RESPONSE_SERVICE_STATE, &state) ||
	    !peer_subfield(&state, PB_TRACING_SERVICE_STATE_TRACING_SESSIONS, &s))
		return 0;
	return peer_number(&s, PB_TRACING_SERVICE_STATE_TRACING_SESSION_ID);
}

static bool detached_session_is_taken_over(void)
{
	uint64_t end;

	begin();
	peer_enable(&consumer, CONFIG);
	CHECK(peer_await_session(&producer, stream, true, &session));
	CHECK(commit_text(0, "kept"));
	CHECK(peer_rejected(&other, peer_attach(&other, "")));
	CHECK(peer_accepted(&consumer, peer_detach(&consumer, "life.key")));
	peer_close(&consumer);
	CHECK(peer_is_quiet(&producer));
	CHECK(peer_rejected(&other, peer_attach(&other, "life.other")));
	CHECK(peer_accepted(&other, peer_attach(&other, "life.key")));
	end = peer_await_end(&other);
	CHECK(peer_accepted(&other, peer_call(&other, C_DISABLE, NULL, 0)));
	CHECK(peer_tracing_ended(&other, end, NULL));
	CHECK(reads(&other, "kept", 1));
	hang_up();
	return true;
}

static bool clone_leaves_the_source_as_it_is(void)
{
	uint64_t clone;
	struct pb_field f;

	begin();
	peer_enable(&consumer, CONFIG);
	CHECK(peer_await_session(&producer, stream, true, &session));
	CHECK(commit_text(0, "data"));
	clone = peer_call_number(&other, C_CLONE, PB_CLONE_SESSION_REQUEST_SESSION_ID,
				 session_id(&consumer));
	CHECK(flush_comes(0x13)); /* by the service, for a clone */
	CHECK(peer_accepted(&other, clone));
	CHECK(peer_field(&other, PB_CLONE_SESSION_RESPONSE_SUCCESS, &f) && f.u64);
	CHECK(reads(&other, "data", 1));
	CHECK(reads(&consumer, "data", 1));
	hang_up();
	return true;
}

static bool source_that_ends_ends_its_clones(void)
{
	uint64_t clone;
	struct pb_field f;

	begin();
	peer_enable(&consumer, CONFIG);
	CHECK(peer_await_session(&producer, stream, true, &session));
	clone = peer_call_number(&other, C_CLONE, PB_CLONE_SESSION_REQUEST_SESSION_ID,
				 session_id(&consumer));
	CHECK(peer_is_quiet(&other));
	peer_close(&consumer);
	CHECK(peer_accepted(&other, clone));
	CHECK(peer_field(&other, PB_CLONE_SESSION_RESPONSE_ERROR, &f));
	CHECK(memmem(f.data, f.len, "Original session ended", 22));
	hang_up();
	return true;
}

#define TRIGGER(mode)                                                                              \
	"trigger_config { trigger_mode: " mode " trigger_timeout_ms: 60000 "                       \
	"triggers { name: 'life.hit' stop_delay_ms: 100 } } "

/* M: nothing is read before the trigger, a trace with the trigger after it. */
static bool trigger_ends_a_session(void)
{
	uint64_t enable;
	struct peer_packets t;

	begin();
	enable = peer_enable(&consumer, CONFIG TRIGGER("STOP_TRACING"));
	CHECK(peer_await_session(&producer, stream, true, &session));
	CHECK(commit_text(0, "data"));
	CHECK(peer_read(&consumer, &t) && t.n == 0);
	peer_packets_free(&t);
	CHECK(peer_accepted(&producer, peer_trigger(&producer, "life.hit")));
	CHECK(flush_comes(0x12)); /* by the service, for the end */
	CHECK(peer_tracing_ended(&consumer, enable, NULL));
	CHECK(peer_read(&consumer, &t) && peer_count_text(&t, "data") == 1);
	CHECK(peer_find_packet(&t, 0, PB_TRACE_PACKET_TRIGGER) > 0);
	peer_packets_free(&t);
	hang_up();
	return true;
}

static bool trigger_asks_for_a_clone(void)
{
	uint64_t observe;
	struct pb_field events, hit;

	begin();
	peer_enable(&consumer, CONFIG TRIGGER("CLONE_SNAPSHOT"));
	CHECK(peer_await_session(&producer, stream, true, &session));
	observe =
		peer_call_number(&consumer, C_OBSERVE, PB_OBSERVE_EVENTS_REQUEST_EVENTS_TO_OBSERVE,
				 PB__OBSERVABLE_EVENTS__TYPE__TYPE_CLONE_TRIGGER_HIT);
	CHECK(peer_accepted(&producer, peer_trigger(&producer, "life.hit")));
	CHECK(peer_reply(&consumer, observe) && consumer.f.has_more);
	CHECK(peer_field(&consumer, PB_OBSERVE_EVENTS_RESPONSE_EVENTS, &events));
	CHECK(peer_subfield(&events, PB_OBSERVABLE_EVENTS_CLONE_TRIGGER_HIT, &hit));
	CHECK(peer_number(&hit, PB_OBSERVABLE_EVENTS_CLONE_TRIGGER_HIT_TRIGGER_DELAY_MS) == 100);
	hang_up();
	return true;
}

/* The command line is found by BUILD, as test scripts find it. */
static bool verb_pulls_the_names_that_it_is_given(void)
{
	uint64_t enable;
	struct peer_packets t;
	struct pb_field trigger, f;
	int i;

	begin();
	enable = peer_enable(&consumer, CONFIG TRIGGER("STOP_TRACING"));
	CHECK(peer_await_session(&producer, stream, true, &session));
	CHECK(system("\"$BUILD/bin/sonda\" trigger no-session-waits life.hit") == 0);
	CHECK(flush_comes(0x12));
	CHECK(peer_tracing_ended(&consumer, enable, NULL));
	CHECK(peer_read(&consumer, &t));
	i = peer_find_packet(&t, 0, PB_TRACE_PACKET_TRIGGER);
	CHECK(i > 0 && peer_packet_field(&t, (size_t)i, PB_TRACE_PACKET_TRIGGER, &trigger));
	CHECK(peer_subfield(&trigger, PB_TRIGGER_PRODUCER_NAME, &f));
	CHECK(f.len == 5 && !memcmp(f.data, "sonda", 5));
	peer_packets_free(&t);
	hang_up();
	return true;
}

static bool exclusive_session_ends_the_others(void)
{
	uint64_t enable;

	begin();
	enable = peer_enable(&consumer, CONFIG);
	CHECK(peer_await_session(&producer, stream, true, &session));
	if (getuid() != 0) {
		CHECK(peer_tracing_ended(&other, peer_enable(&other, CONFIG "exclusive_prio: 2"),
					 "root"));
	} else {
		peer_enable(&other, CONFIG "exclusive_prio: 2");
		CHECK(peer_tracing_ended(&consumer, enable, "higher-priority (2)"));
		CHECK(peer_tracing_ended(&consumer, peer_enable(&consumer, CONFIG),
					 "exclusive_prio 2"));
	}
	hang_up();
	return true;
}

int main(void)
{
	static const struct tap_test tests[] = {
		{"a detached session is taken over by its key", detached_session_is_taken_over},
		{"a clone leaves its source as it is", clone_leaves_the_source_as_it_is},
		{"a source that ends ends the clones on their way",
		 source_that_ends_ends_its_clones},
		{"M: nothing is read before the trigger, all after it", trigger_ends_a_session},
		{"a trigger asks the consumer for a clone", trigger_asks_for_a_clone},
		{"sonda trigger pulls the names that it is given",
		 verb_pulls_the_names_that_it_is_given},
		{"an exclusive session ends the others", exclusive_session_ends_the_others},
	};

	return tap_run(tests, sizeof(tests) / sizeof(tests[0]));
}
