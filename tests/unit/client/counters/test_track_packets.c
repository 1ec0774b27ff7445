/* SPDX-License-Identifier: Apache-2.0 */
#include "client/counters/track_packets.h"
#include "unit/fixture.h"
#include "unit/procfs/fake_producer.h"

static struct writer *w;

SETUP
{
	fake_reset();
	w = writer_new(NULL, 1, WRITER_STALL);
}

TEARDOWN
{
	writer_free(w);
	fake_reset();
}

static void assert_packet(size_t i, const void *bytes, size_t len)
{
	assert_true(i < fake.n);
	assert_int_equal(fake.packets[i].len, len);
	assert_memory_equal(fake.packets[i].data, bytes, len);
}
#define assert_bytes(i, s) assert_packet(i, s, sizeof(s) - 1)

/* Byte by byte, against the numbers of the format: nothing more is in them. */
FIXTURE_TEST(a_state_sets_the_clock_for_all_that_follows)
{
	track_packet_begin_state(w, 300);
	assert_bytes(0, "\x40\xac\x02" /* timestamp */
			"\x68\x01" /* sequence_flags */
			"\xda\x03\x05\xd0\x03\x06\x5a\x00"); /* trace_packet_defaults */
}

FIXTURE_TEST(a_value_alone)
{
	const struct track_batch b = {.ns = 300, .n = 1, .uuids = {5}, .values = {{.i = 300}}};

	track_packet_values(w, &b);
	assert_bytes(0, "\x40\xac\x02\x68\x02"
			"\x5a\x08\x48\x04\x58\x05\xf0\x01\xac\x02");
}

FIXTURE_TEST(what_is_0_comes_last)
{
	const struct track_batch b = {.ns = 1,
				      .n = 4,
				      .uuids = {5, 6, 7, 8},
				      .values = {{.i = 0}, {.i = 2}, {.i = 0}, {.i = 3}}};

	track_packet_values(w, &b);
	assert_bytes(0, "\x40\x01\x68\x02\x5a\x16\x48\x04\x58\x06\xf0\x01\x02"
			"\xf8\x01\x08\x60\x03\xf8\x01\x05\x60\x00\xf8\x01\x07\x60\x00");
}

FIXTURE_TEST(real_numbers)
{
	const struct track_batch b = {
		.ns = 1,
		.n = 2,
		.uuids = {5, 6},
		.values = {{.is_double = true, .d = 1}, {.is_double = true, .d = -0.0}}};

	track_packet_values(w, &b);
	assert_bytes(0, "\x40\x01\x68\x02\x5a\x1b\x48\x04\x58\x05"
			"\xe1\x02\x00\x00\x00\x00\x00\x00\xf0\x3f"
			"\xe8\x02\x06\xf1\x02\x00\x00\x00\x00\x00\x00\x00\x80");
}

FIXTURE_TEST(a_process_without_a_name_has_none)
{
	const struct track_spec p = {.kind = TRACK_PROCESS, .pid = 71};
	const struct track_spec t = {.kind = TRACK_THREAD, .pid = 71, .tid = 72, .name = "x"};

	track_packet_descriptor(w, 3, &p, 9, 0);
	assert_bytes(0, "\x40\x03\xe2\x03\x08\x08\x09\x1a\x02\x08\x47\x58\x01");
	track_packet_descriptor(w, 4, &t, 10, 0);
	assert_bytes(1, "\x40\x04\xe2\x03\x0d\x08\x0a\x22\x07\x08\x47\x10\x48\x2a\x01x\x58\x01");
}

FIXTURE_TEST(a_counter_under_a_group)
{
	const struct track_spec c = {
		.kind = TRACK_COUNTER, .name = "c", .unit = TRACK_UNIT_BYTES, .rank = -1};

	track_packet_descriptor(w, 5, &c, 10, 9);
	assert_bytes(0, "\x40\x05\xe2\x03\x16\x08\x0a\x28\x09\x12\x01"
			"c\x42\x02\x18\x03\x60\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01");
}
