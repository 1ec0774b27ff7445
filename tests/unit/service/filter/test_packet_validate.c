/* SPDX-License-Identifier: Apache-2.0 */

#include "unit/test.h"
#include "service/filter/packet_validate.h"
#include "wire/pb_dec.h"
#include "wire/pb_mem.h"

/* ---- packets ---- */

static struct pb_mem message;

static int setup(void **state)
{
	return pb_mem_init(&message);
}

static int teardown(void **state)
{
	pb_mem_deinit(&message);
	return 0;
}

/* The message as a packet in slices of n bytes, each in memory of its own size. */
static bool accepts_in_slices(const void *data, size_t len, size_t n)
{
	size_t n_slices = len ? (len + n - 1) / n : 0;
	struct iovec *slices = test_calloc(n_slices + 1, sizeof(*slices));
	bool accepted;

	for (size_t i = 0; i < n_slices; i++) {
		size_t part = MIN(n, len - i * n);

		slices[i].iov_base = malloc(part);
		assert_non_null(slices[i].iov_base);
		memcpy(slices[i].iov_base, (const char *)data + i * n, part);
		slices[i].iov_len = part;
	}
	accepted = packet_is_valid(slices, n_slices);
	for (size_t i = 0; i < n_slices; i++)
		free(slices[i].iov_base);
	test_free(slices);
	return accepted;
}

/* However it is cut, the answer is the same. */
static bool accepts(const void *data, size_t len)
{
	bool accepted = accepts_in_slices(data, len, len ? len : 1);

	for (size_t n = 1; n < MIN(len, 40); n++)
		assert_int_equal(accepts_in_slices(data, len, n), accepted);
	return accepted;
}

static bool accepts_message(void)
{
	return accepts(message.enc.begin, pb_mem_len(&message));
}

#define ACCEPTS(...) accepts((const uint8_t[]){__VA_ARGS__}, sizeof((uint8_t[]){__VA_ARGS__}))

/* ---- what may pass ---- */

#define FIXTURE_TEST(name) TEST_WITH(name, setup, teardown)

FIXTURE_TEST(nothing_is_a_packet)
{
	assert_true(packet_is_valid(NULL, 0));
	assert_true(accepts("", 0));
}

FIXTURE_TEST(a_simple_packet)
{
	pb_enc_str(&message.enc, 900, "for testing");
	assert_true(accepts_message());
}

FIXTURE_TEST(a_packet_with_all_types_of_fields)
{
	struct pb_enc *e = &message.enc;

	pb_enc_u64(e, 8, UINT64_MAX);
	pb_enc_fixed64(e, 1000, UINT64_MAX);
	pb_enc_fixed32(e, 1001, UINT32_MAX);
	pb_enc_open(e, 1);
	for (unsigned i = 0; i < 300; i++)
		pb_enc_u64(e, i + 1, i);
	pb_enc_close(e);
	pb_enc_bytes(e, (1u << 29) - 1, "", 0);
	pb_enc_bool(e, 87, true);
	assert_true(accepts_message());
}

/* Fields that look like the service's own, and still are a producer's to write. */
FIXTURE_TEST(what_producers_may_write)
{
	static const uint32_t fields[] = {1,  2,  4,  6,  8,   9,   11,	 32,  34,  37,	42,
					  45, 46, 49, 51, 58,  59,  68,	 70,  72,  78,	80,
					  87, 89, 97, 99, 107, 113, 123, 126, 132, 134, 20000};

	for (size_t i = 0; i < ARRAY_SIZE(fields); i++)
		pb_enc_u64(&message.enc, fields[i], 1);
	assert_true(accepts_message());
}

/* Reserved numbers deeper down belong to other messages. */
FIXTURE_TEST(contents_are_not_looked_at)
{
	pb_enc_open(&message.enc, 1);
	pb_enc_u64(&message.enc, 3, 0);
	pb_enc_u64(&message.enc, 10, 1);
	pb_enc_close(&message.enc);
	pb_enc_bytes(&message.enc, 900, "\xff\xff\xff\xff", 4);
	assert_true(accepts_message());
}

/* ---- what may not ---- */

FIXTURE_TEST(reserved_fields_with_any_value)
{
	static const uint32_t fields[] = {3, 10, 33, 35, 36, 50, 69, 79, 98, 124, 125, 133};

	for (size_t i = 0; i < ARRAY_SIZE(fields); i++) {
		static const int64_t values[] = {0, 1, -1, 42};

		for (size_t k = 0; k < ARRAY_SIZE(values); k++) {
			pb_mem_reset(&message);
			pb_enc_u64(&message.enc, 8, 1);
			pb_enc_i64(&message.enc, fields[i], values[k]);
			pb_enc_u64(&message.enc, 8, 2);
			assert_false(accepts_message());
		}
		pb_mem_reset(&message);
		pb_enc_bytes(&message.enc, fields[i], "", 0);
		assert_false(accepts_message());
		pb_mem_reset(&message);
		pb_enc_fixed32(&message.enc, fields[i], 0);
		assert_false(accepts_message());
		pb_mem_reset(&message);
		pb_enc_fixed64(&message.enc, fields[i], 0);
		assert_false(accepts_message());
	}
}

FIXTURE_TEST(a_reserved_field_in_a_longer_form)
{
	assert_false(ACCEPTS(0x18, 0x01)); /* 3, varint */
	assert_false(ACCEPTS(0x98, 0x00, 0x01));
	assert_false(ACCEPTS(0x98, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x00, 0x01));
	/* More than 32 bits: some readers would cut it down to 3. */
	assert_false(ACCEPTS(0x98, 0x80, 0x80, 0x80, 0x80, 0x01, 0x01));
	assert_false(ACCEPTS(0x98, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x02, 0x01));
}

FIXTURE_TEST(every_truncation)
{
	size_t len, starts[8], n = 0;
	struct pb_enc *e = &message.enc;

	starts[n++] = 0;
	pb_enc_u64(e, 8, 1000000);
	starts[n++] = pb_mem_len(&message);
	pb_enc_fixed64(e, 1000, 1);
	starts[n++] = pb_mem_len(&message);
	pb_enc_fixed32(e, 1001, 1);
	starts[n++] = pb_mem_len(&message);
	pb_enc_str(e, 900,
		   "a string that is longer than the 127 bytes of a short length: "
		   "................................................................"
		   "................................................................");
	len = pb_mem_len(&message);
	starts[n++] = len;
	for (size_t cut = 0; cut <= len; cut++) {
		bool at_start = false;

		for (size_t i = 0; i < n; i++)
			at_start |= starts[i] == cut;
		assert_int_equal(accepts(message.enc.begin, cut), at_start);
	}
}

FIXTURE_TEST(garbage_behind)
{
	pb_enc_str(&message.enc, 900, "fine");
	assert_true(accepts_message());
	pb_enc_raw(&message.enc, "\xff", 1);
	assert_false(accepts_message());
}

FIXTURE_TEST(varints_of_more_than_64_bits)
{
	assert_true(ACCEPTS(0x40, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01));
	assert_false(ACCEPTS(0x40, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x02));
	assert_false(
		ACCEPTS(0x40, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x81, 0x00));
}

FIXTURE_TEST(groups_and_unknown_types)
{
	assert_false(ACCEPTS(0x43, 0x44)); /* 8, start and end of a group */
	assert_false(ACCEPTS(0x44));
	assert_false(ACCEPTS(0x46, 0x00));
	assert_false(ACCEPTS(0x47, 0x00));
}

FIXTURE_TEST(field_numbers_out_of_range)
{
	assert_false(ACCEPTS(0x00, 0x01));
	assert_false(ACCEPTS(0x02, 0x00));
	assert_true(ACCEPTS(0xf8, 0xff, 0xff, 0xff, 0x0f, 0x01)); /* 2^29 - 1 */
	assert_false(ACCEPTS(0x80, 0x80, 0x80, 0x80, 0x10, 0x01)); /* 2^29 */
}

FIXTURE_TEST(lengths_past_the_end_and_past_the_limit)
{
	uint8_t head[] = {0xa2, 0x38, 0, 0, 0, 0, 0}; /* 900, bytes */
	struct iovec slices[3];
	uint8_t *big = calloc(1, PB_MAX_MESSAGE + 1u);

	assert_non_null(big);
	assert_false(ACCEPTS(0xa2, 0x38, 0x01));
	assert_false(
		ACCEPTS(0xa2, 0x38, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01));
	slices[0] = (struct iovec){head, (size_t)(pb_put_varint(head + 2, PB_MAX_MESSAGE) - head)};
	slices[1] = (struct iovec){big, PB_MAX_MESSAGE};
	assert_true(packet_is_valid(slices, 2));
	slices[0] =
		(struct iovec){head, (size_t)(pb_put_varint(head + 2, PB_MAX_MESSAGE + 1u) - head)};
	slices[1] = (struct iovec){big, PB_MAX_MESSAGE + 1u};
	assert_false(packet_is_valid(slices, 2));
	free(big);
}

/* Slices without bytes are no end. */
FIXTURE_TEST(empty_slices)
{
	uint8_t a[] = {0xa2}, b[] = {0x38, 0x02, 'x'}, c[] = {'y'}, none[1];
	struct iovec slices[] = {{none, 0}, {a, 1}, {none, 0}, {none, 0},
				 {b, 3},    {c, 1}, {none, 0}};

	assert_true(packet_is_valid(slices, ARRAY_SIZE(slices)));
	assert_false(packet_is_valid(slices, 5));
}

/* ---- the trailer ---- */

struct trailer {
	uint64_t uid, sequence_id, pid, machine_id, loss;
	unsigned fields;
};

static struct trailer read_trailer(const struct trace_packet *p, uint32_t sequence_id)
{
	uint8_t *buf = malloc(PACKET_MAX_TRAILER);
	struct trailer t = {0};
	struct pb_field f;
	struct pb_dec d;

	assert_non_null(buf);
	pb_dec_init(&d, buf, packet_validate_trailer(buf, p, sequence_id));
	while (pb_dec_next(&d, &f)) {
		t.fields++;
		assert_int_equal(f.wire_type, PB_WIRE_VARINT);
		switch (f.id) {
		case 3:
			t.uid = f.u64;
			break;
		case 10:
			t.sequence_id = f.u64;
			break;
		case 79:
			t.pid = f.u64;
			break;
		case 98:
			t.machine_id = f.u64;
			break;
		case 42:
			t.loss = f.u64;
			break;
		default:
			fail();
		}
	}
	assert_true(pb_dec_ok(&d));
	free(buf);
	return t;
}

FIXTURE_TEST(the_trailer_tells_who_wrote)
{
	struct trace_packet p = {.writer = {.producer_id = 1, .uid = 1000, .pid = 4711}};
	struct trailer t = read_trailer(&p, 12);

	assert_int_equal(t.fields, 3);
	assert_int_equal(t.uid, 1000);
	assert_int_equal(t.sequence_id, 12);
	assert_int_equal(t.pid, 4711);
}

FIXTURE_TEST(root_is_told_as_well)
{
	uint8_t buf[PACKET_MAX_TRAILER];
	struct trace_packet p = {.writer = {.producer_id = 1, .uid = 0, .pid = 1}};

	assert_int_equal(packet_validate_trailer(buf, &p, 2), 2 + 2 + 3);
	assert_memory_equal(buf, "\x18\x00\x50\x02\xf8\x04\x01", 7);
}

FIXTURE_TEST(an_unknown_pid_is_left_out)
{
	struct trace_packet p = {.writer = {.producer_id = 1, .uid = 5}};

	assert_int_equal(read_trailer(&p, 2).fields, 2);
	p.writer.pid = -1;
	assert_int_equal(read_trailer(&p, 2).fields, 2);
}

FIXTURE_TEST(the_trailer_tells_the_other_machine)
{
	struct trace_packet p = {
		.writer = {.producer_id = 1, .uid = (uid_t)-1, .machine_id = UINT32_MAX}};
	struct trailer t = read_trailer(&p, 12);

	assert_int_equal(t.fields, 3);
	assert_int_equal((int64_t)t.uid, -1);
	assert_int_equal(t.machine_id, UINT32_MAX);
}

FIXTURE_TEST(the_trailer_tells_of_loss)
{
	struct trace_packet p = {.writer = {.producer_id = 1, .uid = 5, .pid = 6},
				 .loss = DATA_LOSS_PRESENT | DATA_LOSS_OVERWRITE};
	struct trailer t = read_trailer(&p, 2);

	assert_int_equal(t.fields, 4);
	assert_int_equal(t.loss, 65);
}

FIXTURE_TEST(the_largest_trailer_fits)
{
	struct trace_packet p = {
		.writer = {.producer_id = 1,
			   .uid = UINT32_MAX,
			   .pid = INT32_MAX,
			   .machine_id = UINT32_MAX},
		.loss = UINT32_MAX,
	};
	struct trailer t = read_trailer(&p, UINT32_MAX);

	assert_int_equal((int32_t)t.uid, -1);
	assert_true(t.uid == UINT64_MAX);
	assert_int_equal(t.sequence_id, UINT32_MAX);
	assert_int_equal(t.pid, INT32_MAX);
	assert_int_equal(t.loss, UINT32_MAX);
}

static uint32_t state_of(const uint8_t *bytes, size_t len, size_t cut)
{
	struct iovec slices[2] = {{(void *)bytes, cut}, {(void *)(bytes + cut), len - cut}};

	return packet_validate_state(slices, 2);
}

TEST(incremental_state_is_read_over_slices)
{
	/* timestamp 5, sequence_flags 3 or 2, for a field of bytes that looks like more of them */
	static const uint8_t both[] = {0x40, 5, 0x68, 3, 0x7a, 2, 0x68, 1};
	static const uint8_t needed[] = {0x7a, 2, 0x68, 1, 0x68, 2};
	static const uint8_t old[] = {0xc8, 2, 1}; /* incremental_state_cleared: true */
	static const uint8_t none[] = {0x40, 5, 0xc8, 2, 0};

	for (size_t cut = 0; cut <= sizeof(both); cut++)
		assert_int_equal(state_of(both, sizeof(both), cut),
				 PACKET_STATE_CLEARED | PACKET_STATE_NEEDED);
	for (size_t cut = 0; cut <= sizeof(needed); cut++)
		assert_int_equal(state_of(needed, sizeof(needed), cut), PACKET_STATE_NEEDED);
	for (size_t cut = 0; cut <= sizeof(old); cut++)
		assert_int_equal(state_of(old, sizeof(old), cut), PACKET_STATE_CLEARED);
	assert_int_equal(state_of(none, sizeof(none), 1), 0);
}
