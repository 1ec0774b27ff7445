/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What comes out, by the message sequences of the protocol: the bytes of a trace, over the socket
 * and in a file, and what of it outlives those that wrote it. Frame by frame against the service on
 * the sockets of the environment.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/event_loop/sock.h"
#include "service_peer_consumer.h"
#include "service_peer_producer.h"
#include "service_tap.h"

#define CONFIG "buffers { size_kb: 64 } data_sources { config { name: 'conf.src' } } "

static struct peer producer, consumer; /* large */
static uint64_t stream, enable;
static struct peer_session session;

static void hang_up(void)
{
	if (session.smb.base)
		peer_unmap(&session);
	peer_close(&producer);
	peer_close(&consumer);
}

static void begin(void)
{
	hang_up(); /* of a test that failed */
	memset(&session, 0, sizeof(session));
	peer_connect(&producer, sock_default_producer());
	peer_connect(&consumer, sock_default_consumer());
	stream = peer_become_producer(&producer, "conf.producer", "conf.src", 0, true);
}

static bool commit_text(uint32_t chunk_id, const char *text)
{
	peer_write_chunk(&session.smb, 0, 1, chunk_id, &text, 1, true);
	return peer_accepted(&producer, peer_commit(&producer, 0, 0, session.buffer, 0));
}

static bool stop(void)
{
	return peer_accepted(&consumer, peer_call(&consumer, C_DISABLE, NULL, 0)) &&
	       peer_tracing_ended(&consumer, enable, NULL);
}

/* The packets of a file: records of 0A, a length and a packet, and nothing else. */
static bool parse_file(int fd, struct peer_packets *t)
{
	struct stat st;
	struct pb_field f;
	struct pb_dec d;
	void *bytes;

	memset(t, 0, sizeof(*t));
	if (fstat(fd, &st) < 0)
		return false;
	if (st.st_size == 0)
		return true;
	bytes = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	assert(bytes != MAP_FAILED);
	pb_dec_init(&d, bytes, (size_t)st.st_size);
	while (pb_dec_next(&d, &f) && f.id == 1 && f.wire_type == PB_WIRE_BYTES) {
		t->list = realloc(t->list, (t->n + 1) * sizeof(*t->list));
		assert(t->list);
		t->list[t->n].data = malloc(f.len + 1);
		assert(t->list[t->n].data);
		memcpy(t->list[t->n].data, f.data, f.len);
		t->list[t->n++].len = f.len;
	}
	munmap(bytes, (size_t)st.st_size);
	return pb_dec_ok(&d) && f.id == 1;
}

static bool has(const struct peer_packets *t, size_t i, uint32_t field)
{
	struct pb_field f;

	return peer_packet_field(t, i, field, &f);
}

/* A clock snapshot first, unless there is none; the config before any producer's packet; in the
 * first pass a marker, whose bytes end its packet. */
static bool is_in_order(const struct peer_packets *t, bool clocks)
{
	static const uint8_t marker[] = {0x82, 0x47, 0x7a, 0x76, 0xb2, 0x8d, 0x42, 0xba,
					 0x81, 0xdc, 0x33, 0x32, 0x6d, 0x57, 0xa0, 0x79};
	int config = peer_find_packet(t, 0, PB_TRACE_PACKET_TRACE_CONFIG);
	int sync = peer_find_packet(t, 0, PB_TRACE_PACKET_SYNCHRONIZATION_MARKER);
	int data = peer_find_packet(t, 0, PEER_FIELD);

	CHECK(t->n > 0 && has(t, 0, PB_TRACE_PACKET_CLOCK_SNAPSHOT) == clocks);
	CHECK(clocks || peer_find_packet(t, 0, PB_TRACE_PACKET_CLOCK_SNAPSHOT) < 0);
	CHECK(config >= 0 && data >= 0 && config < data);
	CHECK(sync >= 0 && sync < data);
	CHECK(t->list[sync].len > sizeof(marker));
	CHECK(!memcmp(t->list[sync].data + t->list[sync].len - sizeof(marker), marker,
		      sizeof(marker)));
	for (size_t i = 0; i < t->n; i++)
		CHECK(has(t, i, PB_TRACE_PACKET_TRUSTED_PACKET_SEQUENCE_ID) &&
		      has(t, i, PB_TRACE_PACKET_TRUSTED_UID));
	return true;
}

static bool trace_has_its_order(const char *builtin, bool clocks)
{
	char config[256];
	struct peer_packets t;

	begin();
	snprintf(config, sizeof(config), CONFIG "builtin_data_sources { %s }", builtin);
	enable = peer_enable(&consumer, config);
	CHECK(peer_await_session(&producer, stream, true, &session));
	CHECK(commit_text(0, "data") && stop());
	CHECK(peer_read(&consumer, &t));
	CHECK(is_in_order(&t, clocks) && peer_count_text(&t, "data") == 1);
	peer_packets_free(&t);
	hang_up();
	return true;
}

static bool trace_over_the_socket(void)
{
	return trace_has_its_order("", true);
}

static bool trace_without_clocks(void)
{
	return trace_has_its_order("disable_clock_snapshotting: true", false);
}

static bool trace_in_a_file(void)
{
	int fd = memfd_create("trace", MFD_CLOEXEC);
	struct peer_packets t;

	begin();
	enable = peer_enable_into(&consumer, CONFIG "write_into_file: true", fd);
	CHECK(peer_await_session(&producer, stream, true, &session));
	CHECK(commit_text(0, "data") && commit_text(1, "more"));
	/* It is the file's: not for the socket. */
	CHECK(peer_read(&consumer, &t) && t.n == 0);
	peer_packets_free(&t);
	CHECK(stop());
	CHECK(parse_file(fd, &t) && is_in_order(&t, true));
	CHECK(peer_count_text(&t, "data") == 1 && peer_count_text(&t, "more") == 1);
	CHECK(has(&t, t.n - 1, PB_TRACE_PACKET_TRACE_STATS)); /* the last word */
	peer_packets_free(&t);
	close(fd);
	hang_up();
	return true;
}

#define START_TRIGGER                                                                              \
	"trigger_config { trigger_mode: START_TRACING trigger_timeout_ms: 50 "                     \
	"triggers { name: 'conf.never' } } "

/* M: the trigger does not come. */
static bool no_trigger_no_trace(void)
{
	struct peer_packets t;

	begin();
	enable = peer_enable(&consumer, CONFIG START_TRIGGER);
	CHECK(peer_await_session(&producer, stream, false, &session));
	CHECK(peer_tracing_ended(&consumer, enable, NULL));
	CHECK(peer_read(&consumer, &t) && t.n == 0 && t.n_replies == 1);
	peer_packets_free(&t);
	hang_up();
	return true;
}

static bool no_trigger_no_bytes_in_the_file(void)
{
	int fd = memfd_create("trace", MFD_CLOEXEC);
	struct peer_packets t;

	begin();
	enable = peer_enable_into(&consumer, CONFIG START_TRIGGER "write_into_file: true", fd);
	CHECK(peer_await_session(&producer, stream, false, &session));
	CHECK(peer_tracing_ended(&consumer, enable, NULL));
	CHECK(parse_file(fd, &t) && t.n == 0);
	close(fd);
	hang_up();
	return true;
}

/* J: data for a session that has ended is counted as discarded, and in no other buffer. */
static bool late_data_is_counted(void)
{
	static struct peer second;
	uint64_t discarded;

	begin();
	peer_connect(&second, sock_default_consumer());
	peer_enable(&second, "buffers { size_kb: 4 }");
	discarded = peer_stat(&second, PB_TRACE_STATS_CHUNKS_DISCARDED);
	enable = peer_enable(&consumer, CONFIG);
	CHECK(peer_await_session(&producer, stream, true, &session));
	peer_close(&consumer);
	CHECK(peer_command(&producer, stream, CMD(STOP_DATA_SOURCE), &(struct pb_field){0}));
	CHECK(commit_text(0, "late"));
	CHECK(peer_stat(&second, PB_TRACE_STATS_CHUNKS_DISCARDED) == discarded + 1);
	CHECK(peer_stat(&second, PB_TRACE_STATS_TOTAL_BUFFERS) == 1);
	CHECK(peer_buffer_stat(&second, PB_TRACE_STATS_BUFFER_STATS_CHUNKS_WRITTEN) == 0);
	peer_close(&second);
	hang_up();
	return true;
}

/* K: the packets of a producer that has gone are signed as its others were, though another
 * producer may have its number by now. */
static bool data_outlives_its_producer(void)
{
	struct peer_packets t;
	struct pb_field state, f;
	uint64_t sequence;

	begin();
	enable = peer_enable(&consumer, CONFIG);
	CHECK(peer_await_session(&producer, stream, true, &session));
	CHECK(commit_text(0, "before"));
	CHECK(peer_read(&consumer, &t));
	sequence = peer_packet_number(&t, (size_t)peer_find_packet(&t, 0, PEER_FIELD),
				      PB_TRACE_PACKET_TRUSTED_PACKET_SEQUENCE_ID);
	peer_packets_free(&t);
	CHECK(commit_text(1, "left behind"));
	peer_close(&producer);
	peer_connect(&producer, sock_default_producer());
	CHECK(peer_accepted(&producer, peer_initialize(&producer, "next", false)));
	CHECK(peer_accepted(&consumer, peer_call(&consumer, C_QUERY_STATE, NULL, 0)));
	CHECK(peer_field(&consumer, PB_QUERY_SERVICE_STATE_RESPONSE_SERVICE_STATE, &state));
	CHECK(!peer_subfield(&state, PB_TRACING_SERVICE_STATE_DATA_SOURCES, &f));
	CHECK(peer_read(&consumer, &t) && peer_count_text(&t, "left behind") == 1);
	for (int i = peer_find_packet(&t, 0, PEER_FIELD); i >= 0;
	     i = peer_find_packet(&t, (size_t)i + 1, PEER_FIELD)) {
		CHECK(peer_packet_number(&t, (size_t)i,
					 PB_TRACE_PACKET_TRUSTED_PACKET_SEQUENCE_ID) == sequence);
		CHECK(peer_packet_number(&t, (size_t)i, PB_TRACE_PACKET_TRUSTED_PID) ==
		      (uint64_t)getpid());
	}
	peer_packets_free(&t);
	hang_up();
	return true;
}

int main(void)
{
	static const struct tap_test tests[] = {
		{"L: a trace over the socket has its order", trace_over_the_socket},
		{"L: a trace without clocks has none", trace_without_clocks},
		{"L: a trace in a file has its order", trace_in_a_file},
		{"M: without its trigger a trace is empty", no_trigger_no_trace},
		{"M: without its trigger a file stays empty", no_trigger_no_bytes_in_the_file},
		{"J: late data is counted, and goes nowhere", late_data_is_counted},
		{"K: data outlives its producer", data_outlives_its_producer},
	};

	producer.fd = producer.got_fd = consumer.fd = consumer.got_fd = -1;
	return tap_run(tests, sizeof(tests) / sizeof(tests[0]));
}
