/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The message sequences of the protocol, frame by frame, against the service on the sockets of the
 * environment: what comes, in which order, and what does not.
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

#define CONFIG "buffers { size_kb: 64 } data_sources { config { name: 'conf.src' } }"

#define ALL_STARTED PB__OBSERVABLE_EVENTS__TYPE__TYPE_ALL_DATA_SOURCES_STARTED

static struct peer producer, consumer; /* large */
static uint64_t stream;
static struct peer_session session;

static void connect_both(void)
{
	peer_connect(&producer, sock_default_producer());
	peer_connect(&consumer, sock_default_consumer());
	memset(&session, 0, sizeof(session));
}

static void hang_up(void)
{
	if (session.smb.base)
		peer_unmap(&session);
	peer_close(&producer);
	peer_close(&consumer);
}

/* A producer that has said who it is and offers conf.src. */
static void begin(unsigned flags, bool scraping)
{
	connect_both();
	stream = peer_become_producer(&producer, "conf.producer", "conf.src", flags, scraping);
}

static bool stop_comes(void)
{
	struct pb_field f;

	return peer_command(&producer, stream, CMD(STOP_DATA_SOURCE), &f) &&
	       peer_number(&f, CMD(STOP_DATA_SOURCE_INSTANCE_ID)) == session.instance;
}

static bool commit_text(uint32_t page, uint32_t chunk_id, const char *text)
{
	peer_write_chunk(&session.smb, page, 1, chunk_id, &text, 1, true);
	return peer_accepted(&producer, peer_commit(&producer, page, 0, session.buffer, 0)) &&
	       smb_load_word(&session.smb, page) == 0;
}

static bool free_buffers(void)
{
	return peer_accepted(&consumer, peer_call(&consumer, C_FREE, NULL, 0));
}

/* A: bind, InitializeConnection and GetAsyncCommand back to back, RegisterDataSource. */
static bool producer_starts_up(void)
{
	uint64_t initialize, commands, registered;

	connect_both();
	peer_bind(&producer, "ProducerPort");
	CHECK(peer_next(&producer) && producer.f.success && producer.f.service_id > 0);
	initialize = peer_initialize(&producer, "conf.producer", false);
	commands = peer_call(&producer, P_GET_ASYNC, NULL, 0);
	CHECK(peer_accepted(&producer, initialize));
	registered = peer_register(&producer, "conf.src", 0);
	CHECK(peer_accepted(&producer, registered));
	CHECK(peer_is_quiet(&producer));
	CHECK(commands == initialize + 1);
	hang_up();
	return true;
}

/* B, D, E, F, G: a whole recording, seen from both sides. */
static bool recording_from_both_sides(void)
{
	uint64_t enable, flush, disable, id;
	const char *text = "with the ack";
	struct peer_packets t;
	struct pb_field f;

	begin(DS_NOTIFY_START | DS_NOTIFY_STOP, false);
	peer_bind(&consumer, "ConsumerPort");
	CHECK(peer_next(&consumer) && consumer.f.success);
	enable = peer_enable(&consumer, CONFIG);
	CHECK(peer_await_session(&producer, stream, true, &session));
	CHECK(session.buffer > 0 && session.instance > 0 && session.id > 0);
	CHECK(peer_accepted(&producer,
			    peer_call_number(&producer, P_STARTED, 1, session.instance)));
	CHECK(peer_is_quiet(&consumer));
	CHECK(peer_accepted(&producer, peer_register_writer(&producer, 1, session.buffer)));
	CHECK(commit_text(0, 0, "first"));

	flush = peer_call_number(&consumer, C_FLUSH, PB_FLUSH_REQUEST_TIMEOUT_MS, 5000);
	CHECK(peer_command(&producer, stream, CMD(FLUSH), &f));
	CHECK(peer_number(&f, CMD(FLUSH_DATA_SOURCE_IDS)) == session.instance);
	id = peer_number(&f, CMD(FLUSH_REQUEST_ID));
	peer_write_chunk(&session.smb, 1, 1, 1, &text, 1, true);
	CHECK(peer_accepted(&producer, peer_commit(&producer, 1, 0, session.buffer, id)));
	CHECK(peer_accepted(&consumer, flush));

	/* H: the answer to DisableTracing comes before the end of EnableTracing. */
	disable = peer_call(&consumer, C_DISABLE, NULL, 0);
	CHECK(peer_accepted(&consumer, disable));
	CHECK(stop_comes());
	CHECK(peer_is_quiet(&consumer));
	CHECK(peer_accepted(&producer,
			    peer_call_number(&producer, P_STOPPED, 1, session.instance)));
	CHECK(peer_tracing_ended(&consumer, enable, NULL));

	CHECK(peer_read(&consumer, &t));
	CHECK(peer_count_text(&t, "first") == 1 && peer_count_text(&t, "with the ack") == 1);
	/* L: a clock snapshot first, the config before any producer's packet, a marker. */
	CHECK(peer_find_packet(&t, 0, PB_TRACE_PACKET_CLOCK_SNAPSHOT) == 0);
	CHECK(peer_find_packet(&t, 0, PB_TRACE_PACKET_TRACE_CONFIG) <
	      peer_find_packet(&t, 0, PEER_FIELD));
	CHECK(peer_find_packet(&t, 0, PB_TRACE_PACKET_SYNCHRONIZATION_MARKER) >= 0);
	peer_packets_free(&t);
	CHECK(free_buffers());
	CHECK(peer_is_quiet(&consumer) && peer_is_quiet(&producer));
	hang_up();
	return true;
}

/* C: who has not promised to say when it starts or stops is not listened to about it. */
static bool notifications_are_for_who_promised_them(void)
{
	uint64_t observe, enable;
	struct pb_field f;

	begin(0, false);
	observe = peer_call_number(&consumer, C_OBSERVE,
				   PB_OBSERVE_EVENTS_REQUEST_EVENTS_TO_OBSERVE, ALL_STARTED);
	enable = peer_enable(&consumer, CONFIG);
	CHECK(peer_await_session(&producer, stream, true, &session));
	CHECK(peer_reply(&consumer, observe) && consumer.f.has_more); /* at once */
	for (int i = 0; i < 2; i++) {
		CHECK(peer_accepted(&producer,
				    peer_call_number(&producer, P_STARTED, 1, session.instance)));
		CHECK(peer_accepted(&producer,
				    peer_call_number(&producer, P_STOPPED, 1, session.instance)));
	}
	CHECK(peer_is_quiet(&consumer) && peer_is_quiet(&producer));
	CHECK(commit_text(0, 0, "it runs on"));
	CHECK(peer_accepted(&consumer, peer_call(&consumer, C_DISABLE, NULL, 0)));
	CHECK(peer_tracing_ended(&consumer, enable, NULL));
	CHECK(peer_command(&producer, stream, CMD(STOP_DATA_SOURCE), &f));
	hang_up();
	return true;
}

static bool stop_without_promises_is_immediate(void)
{
	uint64_t enable, disable;

	begin(0, false);
	enable = peer_enable(&consumer, CONFIG);
	CHECK(peer_await_session(&producer, stream, true, &session));
	disable = peer_call(&consumer, C_DISABLE, NULL, 0);
	CHECK(peer_accepted(&consumer, disable));
	CHECK(peer_tracing_ended(&consumer, enable, NULL));
	CHECK(stop_comes());
	hang_up();
	return true;
}

static bool duration_ends_tracing(void)
{
	uint64_t enable;
	struct pb_field f;

	begin(0, false);
	enable = peer_enable(&consumer, CONFIG " duration_ms: 50");
	CHECK(peer_await_session(&producer, stream, true, &session));
	CHECK(peer_command(&producer, stream, CMD(FLUSH), &f));
	CHECK(peer_number(&f, CMD(FLUSH_FLAGS)) == 0x12);
	CHECK(peer_accepted(&producer,
			    peer_ack_flush(&producer, peer_number(&f, CMD(FLUSH_REQUEST_ID)))));
	CHECK(stop_comes());
	CHECK(peer_tracing_ended(&consumer, enable, NULL));
	hang_up();
	return true;
}

static bool deferred_start_waits_for_its_call(void)
{
	uint64_t enable;
	struct pb_field f;

	begin(0, false);
	enable = peer_enable(&consumer, CONFIG " deferred_start: true");
	CHECK(peer_await_session(&producer, stream, false, &session));
	CHECK(peer_is_quiet(&producer));
	CHECK(peer_accepted(&consumer, peer_call(&consumer, C_START, NULL, 0)));
	CHECK(peer_command(&producer, stream, CMD(START_DATA_SOURCE), &f));
	CHECK(free_buffers());
	CHECK(peer_tracing_ended(&consumer, enable, NULL));
	CHECK(stop_comes());
	hang_up();
	return true;
}

/* I: the refusal names the field, and the connection goes on. */
static bool refused_config_names_the_field(void)
{
	static const char *const refused[][2] = {
		{"write_into_file: true", "write_into_file"},
		{"output_path: '/tmp/never'", "output_path"},
		{"trigger_config { trigger_mode: START_TRACING }", "trigger_timeout_ms"},
		{"trace_filter { bytecode_v2: 'x' }", "trace_filter"},
		{"priority_boost {}", "priority_boost"},
		{"buffers { size_kb: 0 }", "size_kb"},
		{"duration_ms: 4000000000", "duration_ms"},
		{"data_sources { config { name: 'conf.src' } }", "conf.src"},
		{"buffers { size_kb: 4 } data_sources { config { name: 'a' protovm_config {} } }",
		 "protovm_config"},
		{CONFIG " data_sources { config { name: 'b' } producer_name_regex_filter: '(' }",
		 "producer_name_regex_filter"},
	};
	uint64_t enable;

	begin(0, false);
	for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++)
		CHECK(peer_tracing_ended(&consumer, peer_enable(&consumer, refused[i][0]),
					 refused[i][1]));
	CHECK(peer_is_quiet(&producer));
	enable = peer_enable(&consumer, CONFIG);
	CHECK(peer_await_session(&producer, stream, true, &session));
	CHECK(free_buffers());
	CHECK(peer_tracing_ended(&consumer, enable, NULL));
	hang_up();
	return true;
}

/* J: what the consumer leaves behind. */
static bool consumer_that_hangs_up_ends_its_session(void)
{
	struct peer_packets t;
	const char *text = "late";

	begin(0, false);
	peer_enable(&consumer, CONFIG);
	CHECK(peer_await_session(&producer, stream, true, &session));
	peer_close(&consumer);
	CHECK(stop_comes());
	/* Late data is taken off the shared memory, and goes nowhere. */
	peer_write_chunk(&session.smb, 0, 1, 0, &text, 1, true);
	CHECK(peer_accepted(&producer, peer_commit(&producer, 0, 0, session.buffer, 0)));
	CHECK(smb_load_word(&session.smb, 0) == 0);
	peer_connect(&consumer, sock_default_consumer());
	peer_enable(&consumer, CONFIG);
	CHECK(peer_await_session(&producer, stream, true, &session));
	CHECK(peer_read(&consumer, &t));
	CHECK(peer_count_text(&t, "late") == 0);
	peer_packets_free(&t);
	hang_up();
	return true;
}

/* K: what the producer leaves behind. */
static bool producer_that_hangs_up_is_scraped(void)
{
	static const char *const texts[] = {"one", "two", "three"};
	struct peer_packets t;
	uint64_t enable;

	begin(DS_NOTIFY_STOP, true);
	enable = peer_enable(&consumer, CONFIG);
	CHECK(peer_await_session(&producer, stream, true, &session));
	CHECK(peer_accepted(&producer, peer_register_writer(&producer, 1, session.buffer)));
	CHECK(commit_text(0, 0, "committed"));
	peer_write_chunk(&session.smb, 1, 1, 1, texts, 3, false);
	peer_close(&producer);
	/* The session continues until a consumer ends it, which does not wait for the producer. */
	CHECK(peer_is_quiet(&consumer));
	CHECK(peer_accepted(&consumer, peer_call(&consumer, C_DISABLE, NULL, 0)));
	CHECK(peer_tracing_ended(&consumer, enable, NULL));
	CHECK(peer_read(&consumer, &t));
	CHECK(peer_count_text(&t, "committed") == 1);
	CHECK(peer_count_text(&t, "one") == 1 && peer_count_text(&t, "two") == 1);
	peer_packets_free(&t);
	hang_up();
	return true;
}

/* N: doing it twice changes nothing. */
static bool repeated_calls_succeed(void)
{
	uint64_t enable;

	begin(0, false);
	enable = peer_enable(&consumer, CONFIG);
	CHECK(peer_await_session(&producer, stream, true, &session));
	CHECK(peer_accepted(&consumer, peer_call(&consumer, C_START, NULL, 0)));
	CHECK(peer_is_quiet(&producer));
	CHECK(peer_accepted(&consumer, peer_call(&consumer, C_DISABLE, NULL, 0)));
	CHECK(peer_tracing_ended(&consumer, enable, NULL));
	CHECK(peer_accepted(&consumer, peer_call(&consumer, C_DISABLE, NULL, 0)));
	CHECK(free_buffers());
	CHECK(free_buffers());
	CHECK(stop_comes());
	CHECK(peer_is_quiet(&producer) && peer_is_quiet(&consumer));
	hang_up();
	return true;
}

static bool calls_without_a_session(void)
{
	struct peer_packets t;

	connect_both();
	CHECK(peer_rejected(&consumer, peer_call(&consumer, C_FLUSH, NULL, 0)));
	CHECK(peer_rejected(&consumer, peer_call(&consumer, C_STATS, NULL, 0)));
	CHECK(peer_read(&consumer, &t) && t.n == 0);
	peer_packets_free(&t);
	hang_up();
	return true;
}

static bool calls_before_initialize(void)
{
	connect_both();
	for (uint32_t m = P_REGISTER_SOURCE; m <= P_UPDATE_SOURCE; m++)
		CHECK(peer_rejected(&producer, peer_call(&producer, m, NULL, 0)));
	CHECK(peer_accepted(&producer, peer_initialize(&producer, "x", false)));
	CHECK(peer_rejected(&producer, peer_initialize(&producer, "x", false)));
	hang_up();
	return true;
}

static bool sync_answers_after_what_came_before(void)
{
	uint64_t ids[20];

	connect_both();
	CHECK(peer_accepted(&producer, peer_initialize(&producer, "x", false)));
	for (int i = 0; i < 20; i++)
		ids[i] = i % 2 ? peer_call(&producer, P_SYNC, NULL, 0)
			       : peer_register(&producer, "conf.src", 0);
	for (int i = 0; i < 20; i++)
		CHECK(peer_accepted(&producer, ids[i]));
	hang_up();
	return true;
}

static bool second_session_of_a_producer_needs_no_memory(void)
{
	static struct peer second;

	begin(0, false);
	peer_enable(&consumer, CONFIG);
	CHECK(peer_await_session(&producer, stream, true, &session));
	peer_connect(&second, sock_default_consumer());
	peer_enable(&second, CONFIG);
	CHECK(peer_await_session(&producer, stream, true, &session)); /* maps nothing anew */
	peer_close(&second);
	CHECK(stop_comes());
	hang_up();
	return true;
}

static bool unique_name_is_refused_while_taken(void)
{
	static struct peer second;
	uint64_t enable;

	connect_both();
	enable = peer_enable(&consumer, "buffers { size_kb: 4 } unique_session_name: 'only'");
	CHECK(peer_is_quiet(&consumer));
	peer_connect(&second, sock_default_consumer());
	CHECK(peer_tracing_ended(
		&second, peer_enable(&second, "buffers { size_kb: 4 } unique_session_name: 'only'"),
		"only"));
	peer_close(&second);
	CHECK(free_buffers());
	CHECK(peer_tracing_ended(&consumer, enable, NULL));
	hang_up();
	return true;
}

int main(void)
{
	static const struct tap_test tests[] = {
		{"A: a producer starts up", producer_starts_up},
		{"B-H, L: a recording from both sides", recording_from_both_sides},
		{"C: notifications are for who promised them",
		 notifications_are_for_who_promised_them},
		{"F: a stop without promises is immediate", stop_without_promises_is_immediate},
		{"the duration ends with a flush", duration_ends_tracing},
		{"a deferred start waits for its call", deferred_start_waits_for_its_call},
		{"I: a refused config names the field", refused_config_names_the_field},
		{"J: a consumer that hangs up ends its session",
		 consumer_that_hangs_up_ends_its_session},
		{"K: a producer that hangs up is scraped", producer_that_hangs_up_is_scraped},
		{"N: repeated calls succeed", repeated_calls_succeed},
		{"calls without a session", calls_without_a_session},
		{"calls before InitializeConnection", calls_before_initialize},
		{"Sync answers after what came before", sync_answers_after_what_came_before},
		{"a second session needs no second memory",
		 second_session_of_a_producer_needs_no_memory},
		{"a unique name is refused while it is taken", unique_name_is_refused_while_taken},
	};

	return tap_run(tests, sizeof(tests) / sizeof(tests[0]));
}
