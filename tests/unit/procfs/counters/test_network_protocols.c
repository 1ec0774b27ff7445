/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/fixture.h"
#include "unit/client/read_tracks.h"
#include "procfs/counters/network_tables.h"

static struct polled_source p;
static struct counter_patterns counters;
static struct network_protocols protocols;

SETUP
{
	char *wanted[] = {(char[]){"Tcp *"}, (char[]){"TcpExt Listen*"}, (char[]){"IpExt *Octets"},
			  (char[]){"P* *"}};

	fake_reset();
	p = (struct polled_source){.writer = writer_new(NULL, 1, WRITER_STALL)};
	protocols = (struct network_protocols){.poll = &p, .counters = &counters};
	assert_int_equal(counter_patterns_init(&counters, "counters", wanted, 4, NULL) ||
				 tracks_new("test", p.writer, &p.tracks),
			 0);
}

TEARDOWN
{
	network_protocols_deinit(&protocols);
	counter_patterns_deinit(&counters);
	tracks_free(p.tracks);
	writer_free(p.writer);
	fake_reset();
}

static int put(uint64_t ns, const char *text)
{
	int r;

	tracks_begin(p.tracks, ns);
	r = network_protocols_read(&protocols, (struct span){text, strlen(text)});
	tracks_end(p.tracks);
	read_tracks();
	return r;
}

FIXTURE_TEST(each_protocol_is_a_group)
{
	struct pb_field counter;

	assert_int_equal(put(1, "Tcp: CurrEstab InErrs MaxConn\nTcp: 3 4 -1\n"
				"Udp: InErrors\nUdp: 9\n"),
			 0);
	assert_int_equal(put(1, "TcpExt: ListenDrops Other\nTcpExt: 5 6\n"
				"IpExt: InOctets InNoRoutes\nIpExt: 7 8\n"),
			 0);
	assert_int_equal(read_last("Tcp/CurrEstab"), 3);
	assert_int_equal(read_last("Tcp/InErrs"), 4);
	assert_int_equal(read_last("Tcp/MaxConn"), -1);
	assert_int_equal(read_last("TcpExt/ListenDrops"), 5);
	assert_int_equal(read_last("IpExt/InOctets"), 7);
	assert_null(read_find("TcpExt/Other"));
	assert_null(read_find("Udp/InErrors"));
	assert_null(read_find("IpExt/InNoRoutes"));
	assert_true(read_sub(read_find("IpExt/InOctets")->descriptor, PB_TRACK_DESCRIPTOR_COUNTER,
			     &counter));
	assert_int_equal(fake_u64(counter, PB_COUNTER_DESCRIPTOR_UNIT), TRACK_UNIT_BYTES);
}

FIXTURE_TEST(newer_kernels_have_further_names)
{
	assert_int_equal(put(1, "Tcp: A B\nTcp: 1 2\n"), 0);
	assert_int_equal(put(2, "Tcp: A New B\nTcp: 1 9 3\n"), 0);
	assert_int_equal(read_last("Tcp/New"), 9);
	assert_int_equal(read_last("Tcp/B"), 3);
	assert_int_equal(read_count("Tcp/A"), 1);
}

FIXTURE_TEST(an_invalid_line_loses_itself_only)
{
	assert_true(put(1, "Tcp: A B\nTcp: 1 x\nTcpExt: ListenDrops\nTcpExt: 5\n") < 0);
	assert_int_equal(read_last("Tcp/A"), 1);
	assert_int_equal(read_last("TcpExt/ListenDrops"), 5);
	assert_true(put(1, "") < 0);
	assert_true(put(1, "nothing\n") < 0);
}

FIXTURE_TEST(too_many_protocols)
{
	char text[64];

	for (unsigned i = 0; i <= NETWORK_PROTOCOLS_MAX; i++) {
		snprintf(text, sizeof(text), "P%u: A\nP%u: 1\n", i, i);
		assert_int_equal(put(i, text) == 0, i < NETWORK_PROTOCOLS_MAX);
	}
	assert_true(put(1, "P-with-a-name-that-is-much-too-long: A\n"
			   "P-with-a-name-that-is-much-too-long: 1\n") < 0);
}
