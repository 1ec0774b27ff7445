/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Packets byte by byte. The bytes are those that Perfetto's library needs for the same events
 * (made with protoc, and read by trace_processor), so an event costs no more than there.
 */
#include "unit/lib/track_event/fake_writer.h"

SONDA_CATEGORY_DEFINE(net, "net", "Requests");
SONDA_DYNAMIC_CATEGORY_DEFINE(any);

TEST(a_new_sequence_and_its_first_slice_take_188_bytes)
{
	size_t bytes = 0;

	fake_start(NULL, 0);
	SONDA_BEGIN(net, "send", SONDA_INT("rc", -5), SONDA_TIMESTAMP(1000000250));
	SONDA_END(net, SONDA_TIMESTAMP(1000001250));
	assert_int_equal(fake.n, 5);
	/* The writer adds first_packet_on_sequence, 3 bytes. */
	expect_bytes(0,
		     "32 18 0A 08 08 06 10 80 94 EB DC 03 0A 0C 08 40 10 80 94 EB DC 03 18 01 20 01"
		     " 40 00 68 01 DA 03 0F 5A 0A 58 F5 A8 83 CA 89 BC BB B3 2B D0 03 40");
	expect_bytes(1, "40 00 68 02 E2 03 20 08 F5 A8 83 CA 89 BC BB B3 2B"
			" 22 0A 08 E1 21 10 E2 21 2A 02 69 6F 28 97 89 83 CA 89 BC BB B3 2B");
	expect_bytes(2, "40 00 68 02 E2 03 19 08 97 89 83 CA 89 BC BB B3 2B"
			" 1A 0D 08 E1 21 12 03 61 70 70 32 03 61 70 70");
	expect_bytes(3,
		     "40 FA 01 5A 15 18 01 22 0D 08 01 20 FB FF FF FF FF FF FF FF FF 01 48 01 50 01"
		     /* Texts in the order in which the event uses them. */
		     " 62 1B 0A 07 08 01 12 03 6E 65 74 1A 06 08 01 12 02 72 63"
		     " 12 08 08 01 12 04 73 65 6E 64 68 02");
	expect_bytes(4, "40 E8 07 5A 02 48 02 68 02");
	for (size_t i = 0; i < fake.n; i++)
		bytes += fake.packets[i].len;
	assert_int_equal(bytes + 3, 188);
}

TEST(a_steady_slice_takes_13_and_9_bytes)
{
	fake_start(NULL, 0);
	for (int i = 0; i < 2; i++) {
		fake_now += 250;
		SONDA_BEGIN(net, "send");
		fake_now += 1000;
		SONDA_END(net);
	}
	assert_int_equal(fake.n, 7);
	expect_bytes(5, "40 FA 01 5A 06 18 01 48 01 50 01 68 02");
	expect_bytes(6, "40 E8 07 5A 02 48 02 68 02");
}

TEST(a_counter_in_units_of_1024_bytes)
{
	struct sonda_track ram = sonda_track_counter("ram", NULL);

	ram.unit = SONDA_UNIT_BYTES;
	ram.unit_multiplier = 1024;
	fake_start(NULL, 0);
	SONDA_INSTANT(net, "first");
	fake_now += 40;
	SONDA_COUNTER(net, &ram, 300);
	assert_int_equal(fake.n, 6);
	expect_bytes(4,
		     "40 00 68 02 E2 03 20 08 CA B9 BC 86 C8 90 A3 9A 13 28 97 89 83 CA 89 BC BB B3"
		     " 2B 42 05 18 03 20 80 08 52 03 72 61 6D");
	expect_bytes(5, "40 28 5A 10 48 04 58 CA B9 BC 86 C8 90 A3 9A 13 F0 01 AC 02 68 02");
}

TEST(a_named_track_a_dynamic_category_a_flow_and_a_nested_annotation)
{
	struct sonda_track queue = sonda_track_named("queue", 7, NULL);

	queue.dynamic_name = 1;
	fake_start(NULL, 0);
	SONDA_INSTANT(net, "first");
	fake_now += 17;
	SONDA_INSTANT_DYNAMIC(any, "put", SONDA_TRACK(&queue), SONDA_IN_CATEGORY("dyn"),
			      SONDA_FLOW_GLOBAL(42),
			      sonda_arg_named(sonda_arg_u(SONDA_ARG_DICT, NULL, 0), "m"),
			      sonda_arg_named(SONDA_BOOL_ITEM(true), "ok"),
			      sonda_arg_named(sonda_arg_u(SONDA_ARG_ARRAY, NULL, 0), "v"),
			      SONDA_INT_ITEM(1), SONDA_STRING_ITEM("x"),
			      sonda_arg_end(SONDA_ARG_CLOSE), sonda_arg_end(SONDA_ARG_CLOSE));
	assert_int_equal(fake.n, 6);
	expect_bytes(4, "40 00 68 02 E2 03 1B 08 EC AA A6 FE 91 86 DE 97 57 12 05 71 75 65 75 65"
			" 28 97 89 83 CA 89 BC BB B3 2B");
	expect_bytes(5, "40 11 5A 3D 22 19 52 01 6D 5A 06 10 01 52 02 6F 6B 5A 0C 52 01 76"
			" 62 02 20 01 62 03 32 01 78 48 03 58 EC AA A6 FE 91 86 DE 97 57"
			" B2 01 03 64 79 6E BA 01 03 70 75 74 F9 02 2A 00 00 00 00 00 00 00 68 02");
}
