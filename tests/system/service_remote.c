/* SPDX-License-Identifier: Apache-2.0 */
/*
 * usage: service_remote ADDRESS RELAY_ADDRESS
 *
 * Peers of another machine, which here come from 127.0.0.1, against a running service: ADDRESS is a
 * producer socket on TCP, RELAY_ADDRESS another one that offers RelayPort. They break the rules;
 * after each of them the service still works for the producers of its own machine.
 */
#include <stdlib.h>

#include "service/ipc/limits.h"
#include "service_good_pair.h"
#include "service_peer_remote.h"
#include "service_tap.h"

#define CONFIG                                                                                     \
	"trace_all_machines: true buffers { size_kb: 256 } "                                       \
	"data_sources { config { name: 'far.src' } }"

static struct peer p, c; /* large */
static const char *address, *relay_address;
static uint64_t stream;
static struct peer_session s;

static void connect_as(int32_t uid, const char *hint)
{
	peer_connect(&p, address);
	peer_identify(&p, uid, 4711, hint, "far");
}

/* A producer, and a session that records it. */
static bool begin(int32_t uid)
{
	connect_as(uid, "a");
	stream = peer_become_producer(&p, "far", "far.src", 0, false);
	peer_connect(&c, sock_default_consumer());
	peer_enable(&c, CONFIG);
	return peer_await_emulated(&p, stream, &s);
}

static bool end(void)
{
	peer_close(&p);
	peer_close(&c);
	CHECK(good_pair_records());
	return true;
}

/* How many packets have the text; the last one's fields go to the others. */
static bool read_text(const char *text, unsigned expected, uint64_t *uid, uint64_t *machine)
{
	struct peer_packets t;
	struct pb_field f;
	int i;

	CHECK(peer_read(&c, &t));
	CHECK(peer_count_text(&t, text) == expected);
	i = peer_find_packet(&t, 0, PEER_FIELD);
	if (i >= 0 && uid && peer_packet_field(&t, (size_t)i, PB_TRACE_PACKET_TRUSTED_UID, &f))
		*uid = f.u64;
	if (i >= 0 && machine && peer_packet_field(&t, (size_t)i, PB_TRACE_PACKET_MACHINE_ID, &f))
		*machine = f.u64;
	peer_packets_free(&t);
	return true;
}

static bool root_of_another_machine(void)
{
	uint64_t uid = 0, machine = 0;

	CHECK(begin(0));
	CHECK(peer_accepted(&p, peer_commit_text(&p, s.buffer, 1, 0, "far")));
	CHECK(read_text("far", 1, &uid, &machine));
	CHECK((int64_t)uid == -1);
	CHECK(machine != 0);
	return end();
}

static bool producer_does_not_identify_itself(void)
{
	uint64_t uid = 0, machine = 0;

	peer_connect(&p, address);
	stream = peer_become_producer(&p, "far", "far.src", 0, false);
	peer_identify(&p, 1000, 1, "late", "late"); /* too late */
	peer_connect(&c, sock_default_consumer());
	peer_enable(&c, "buffers { size_kb: 64 } data_sources { config { name: 'far.src' } }");
	CHECK(peer_await_emulated(&p, stream, &s));
	CHECK(peer_accepted(&p, peer_commit_text(&p, s.buffer, 1, 0, "far")));
	CHECK(read_text("far", 1, &uid, &machine));
	CHECK((int64_t)uid == -1);
	CHECK(machine == 0); /* on loopback: the service's machine */
	return end();
}

static bool chunks_of_every_size(void)
{
	static uint8_t chunk[70000] = {[4] = 1, [6] = 1};

	CHECK(begin(1000));
	for (uint32_t len = 0; len < sizeof(chunk); len = len < 300 ? len + 1 : len + 4999)
		CHECK(peer_accepted(&p, peer_commit_bytes(&p, s.buffer, chunk, len, false)));
	for (uint32_t len = 65530; len < 65540; len++)
		CHECK(peer_accepted(&p, peer_commit_bytes(&p, s.buffer, chunk, len, len & 1)));
	CHECK(peer_accepted(&p, peer_commit_text(&p, s.buffer, 2, 0, "good")));
	CHECK(read_text("good", 1, NULL, NULL));
	return end();
}

/* What the header of the chunk says is not so. */
static bool headers_that_lie(void)
{
	uint8_t chunk[256];
	size_t len = peer_make_chunk(chunk, 1, 0, "lie");

	CHECK(begin(1000));
	for (int i = 0; i < 256; i++) {
		chunk[0] = (uint8_t)i; /* chunk id */
		chunk[6] = (uint8_t)(255 - i); /* packets */
		chunk[7] = (uint8_t)i; /* more of them, and flags */
		chunk[8] = (uint8_t)i; /* size of the first */
		CHECK(peer_accepted(&p, peer_commit_bytes(&p, s.buffer, chunk, len, i & 1)));
	}
	CHECK(peer_accepted(&p, peer_commit_text(&p, s.buffer, 2, 0, "good")));
	CHECK(read_text("good", 1, NULL, NULL));
	return end();
}

static bool buffers_of_others(void)
{
	static struct peer other;
	uint32_t buffer;

	CHECK(begin(1000));
	peer_connect(&other, sock_default_consumer());
	peer_enable(&other, "buffers { size_kb: 64 }");
	CHECK(peer_is_quiet(&other));
	for (buffer = 0; buffer < 2000; buffer++)
		if (buffer != s.buffer)
			CHECK(peer_accepted(&p, peer_commit_text(&p, buffer, 1, buffer, "spy")));
	CHECK(peer_accepted(&p, peer_commit_text(&p, 65536u + s.buffer, 1, 0, "spy")));
	CHECK(read_text("spy", 0, NULL, NULL));
	peer_close(&c);
	c = other;
	other.fd = -1;
	CHECK(read_text("spy", 0, NULL, NULL));
	return end();
}

static bool places_in_a_memory_that_is_none(void)
{
	CHECK(begin(1000));
	for (uint32_t page = 0; page < 100; page++)
		CHECK(peer_accepted(&p, peer_commit(&p, page, page % 15, s.buffer, 0)));
	CHECK(peer_accepted(&p, peer_commit(&p, UINT32_MAX, UINT32_MAX, s.buffer, 0)));
	return end();
}

static bool ports_that_are_not_offered(void)
{
	static const char *const names[] = {"ConsumerPort", "RelayPort", ""};

	connect_as(1000, "a");
	for (size_t i = 0; i < 3; i++) {
		peer_bind(&p, names[i]);
		CHECK(peer_next(&p) && !p.f.success && p.f.service_id == 0);
	}
	CHECK(peer_rejected(&p, peer_init_relay(&p, "", 0)));
	CHECK(peer_rejected(&p, peer_sync_clock(&p, 1, 6, 1, 1)));
	return end();
}

static bool relay_that_lies(void)
{
	static uint8_t info[20000];

	peer_connect(&p, relay_address);
	peer_identify(&p, 0, 1, "a", "far");
	CHECK(peer_rejected(&p, peer_init_relay(&p, info, sizeof(info))));
	CHECK(peer_rejected(&p, peer_init_relay(&p, "\x0a\x7f", 2)));
	CHECK(peer_rejected(&p, peer_sync_clock(&p, 1, 100, 1, 1)));
	CHECK(peer_rejected(&p, peer_sync_clock(&p, 1, 1, 60, 1)));
	CHECK(peer_accepted(&p, peer_init_relay(&p, "", 0)));
	for (int i = 0; i < 100; i++)
		CHECK(peer_accepted(&p, peer_sync_clock(&p, 1 + i % 2, 6, 1, UINT64_MAX)));
	return end();
}

/* More machines than are remembered. */
static bool relays_of_many_machines(void)
{
	char hint[32];

	for (int i = 0; i < 2 * MAX_MACHINES; i++) {
		snprintf(hint, sizeof(hint), "machine %d", i);
		peer_connect(&p, relay_address);
		peer_identify(&p, 0, 1, hint, hint);
		CHECK(peer_accepted(&p, peer_init_relay(&p, "", 0)));
		peer_close(&p);
	}
	return end();
}

static bool frames_that_are_too_long(void)
{
	connect_as(1000, "a");
	peer_send_raw(&p, "\xfd\xff\x01\x00", 4, -1); /* 131069 */
	CHECK(peer_is_hung_up(&p));
	return end();
}

/* One more than an address may have is closed, and others are not kept out by them. */
static bool too_many_connections(void)
{
	static int fds[MAX_PRODUCER_CONNECTIONS_PER_ADDRESS];
	bool good;

	for (size_t i = 0; i < MAX_PRODUCER_CONNECTIONS_PER_ADDRESS; i++)
		CHECK(sock_connect(address, &fds[i]) == 0);
	/* The service takes them in their order, so those before have been. */
	peer_connect(&p, address);
	CHECK(peer_is_hung_up(&p));
	peer_close(&p);
	good = good_pair_records();
	for (size_t i = 0; i < MAX_PRODUCER_CONNECTIONS_PER_ADDRESS; i++)
		close(fds[i]);
	CHECK(good);
	/* It hears of the ends in turns. */
	for (int i = 0; i < 100; i++) {
		connect_as(1000, "a");
		if (peer_accepted(&p, peer_initialize(&p, "far", false)))
			return end();
		peer_close(&p);
		usleep(20000);
	}
	CHECK(!"it comes in again");
	return false;
}

static const struct tap_test tests[] = {
	{"root of another machine has no rights here", root_of_another_machine},
	{"a producer on loopback that does not identify itself is of this machine",
	 producer_does_not_identify_itself},
	{"chunks of every size", chunks_of_every_size},
	{"headers that lie", headers_that_lie},
	{"buffers of others", buffers_of_others},
	{"places in a memory that is none", places_in_a_memory_that_is_none},
	{"ports that are not offered", ports_that_are_not_offered},
	{"a relay that lies", relay_that_lies},
	{"relays of more machines than are remembered", relays_of_many_machines},
	{"frames that are too long", frames_that_are_too_long},
	{"more connections than an address may have", too_many_connections},
};

int main(int argc, char **argv)
{
	if (argc != 3) {
		fprintf(stderr, "usage: service_remote ADDRESS RELAY_ADDRESS\n");
		return 2;
	}
	address = argv[1];
	relay_address = argv[2];
	return tap_run(tests, sizeof(tests) / sizeof(tests[0]));
}
