/* SPDX-License-Identifier: Apache-2.0 */

#include <protobuf-c/protobuf-c.h>

#include "unit/rng.h"
#include "unit/test.h"
#include "unit/wire/random_message.h"
#include "wire/pb_dec.h"
#include "wire/pb_enc.h"
#include "wire/pb_varint.h"

/* In a heap block of its own size, so that a sanitizer sees one byte too far. Gives the number of
 * fields, or -1 when a rule is broken. */
static int count_fields(const void *data, size_t len)
{
	uint8_t *copy = malloc(len ? len : 1);
	struct pb_field f;
	struct pb_dec d;
	int n = 0;

	if (len)
		memcpy(copy, data, len);
	pb_dec_init(&d, copy, len);
	while (pb_dec_next(&d, &f)) {
		n++;
		if (f.wire_type == PB_WIRE_BYTES) {
			assert_true(f.data >= copy && f.len <= (size_t)(copy + len - f.data));
			assert_int_equal(f.u64, f.len);
		} else {
			assert_null(f.data);
			assert_int_equal(f.len, 0);
		}
	}
	if (!pb_dec_ok(&d)) {
		n = -1;
		assert_false(pb_dec_next(&d, &f)); /* and stays so */
	}
	free(copy);
	return n;
}

#define COUNT(s) count_fields(s, sizeof(s) - 1)

TEST(nothing_is_an_empty_message)
{
	struct pb_field f;
	struct pb_dec d;

	assert_int_equal(COUNT(""), 0);
	pb_dec_init(&d, NULL, 0);
	assert_false(pb_dec_next(&d, &f));
	assert_true(pb_dec_ok(&d));
}

TEST(groups_and_unknown_wire_types_are_rejected)
{
	assert_int_equal(COUNT("\x0b\x0c"), -1);
	assert_int_equal(COUNT("\x0b"), -1);
	assert_int_equal(COUNT("\x0c"), -1);
	assert_int_equal(COUNT("\x0e\x00"), -1);
	assert_int_equal(COUNT("\x0f\x00"), -1);
	/* what came before is given all the same */
	assert_int_equal(COUNT("\x08\x01\x0e\x00"), -1);
}

TEST(field_numbers_out_of_range_are_rejected)
{
	assert_int_equal(COUNT("\x00\x01"), -1);
	assert_int_equal(COUNT("\x02\x00"), -1);
	assert_int_equal(COUNT("\xf8\xff\xff\xff\x0f\x01"), 1); /* 2^29-1 */
	assert_int_equal(COUNT("\x80\x80\x80\x80\x10\x01"), -1); /* 2^29 */
	assert_int_equal(COUNT("\xf8\xff\xff\xff\xff\xff\xff\xff\xff\x01\x01"), -1);
	assert_int_equal(COUNT("\x88\x80\x80\x80\x80\x00\x01"), 1); /* 1, redundantly */
}

/* Of 1 to 10 bytes, with up to 10 bytes behind them, and cut off anywhere. */
TEST(varints_of_every_length_are_read_at_every_distance_from_the_end)
{
	for (unsigned bits = 1; bits <= 64; bits++) {
		uint64_t v = (UINT64_MAX >> (64 - bits)) & 0xf5a596e1d4c3b2a7, got = 0;
		uint8_t bytes[20];
		size_t len = (size_t)(pb_put_varint(bytes, v) - bytes);

		memset(bytes + len, 0xff, sizeof(bytes) - len);
		for (size_t after = 0; after <= 10; after++) {
			assert_ptr_equal(pb_get_varint(bytes, bytes + len + after, &got),
					 bytes + len);
			assert_true(got == v);
		}
		for (size_t there = 0; there < len; there++)
			assert_null(pb_get_varint(bytes, bytes + there, &got));
	}
}

TEST(varints_of_more_than_64_bits_are_rejected)
{
	assert_int_equal(COUNT("\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"), 1);
	assert_int_equal(COUNT("\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02"), -1);
	assert_int_equal(COUNT("\x08\x80\x80\x80\x80\x80\x80\x80\x80\x80\x00"), 1);
	assert_int_equal(COUNT("\x08\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x00"), -1);
	assert_int_equal(COUNT("\x0a\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x00"), -1);
}

TEST(lengths_past_the_end_are_rejected)
{
	assert_int_equal(COUNT("\x0a\x01"), -1);
	assert_int_equal(COUNT("\x0a\x01x"), 1);
	assert_int_equal(COUNT("\x0a\x02x"), -1);
	assert_int_equal(COUNT("\x0a\xff\xff\xff\xff\x0f"
			       "x"),
			 -1);
	/* as a pointer offset these would wrap */
	assert_int_equal(COUNT("\x0a\xff\xff\xff\xff\xff\xff\xff\xff\x7f"
			       "x"),
			 -1);
	assert_int_equal(COUNT("\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"
			       "x"),
			 -1);
	assert_int_equal(COUNT("\x0a\xf4\xff\xff\xff\xff\xff\xff\xff\xff\x01"
			       "x"),
			 -1);
}

TEST(every_end_inside_a_field_is_rejected)
{
	static const char bytes[] = "\x88\x01\x96\x01"
				    "\x11\x01\x02\x03\x04\x05\x06\x07\x08"
				    "\x1a\x83\x00xyz"
				    "\x25\x01\x02\x03\x04";
	static const uint8_t ends[] = {0, 4, 13, 19, 24};

	assert_int_equal(sizeof(bytes) - 1, 24);
	for (size_t len = 0; len < sizeof(bytes); len++) {
		int want = -1;

		for (int i = 0; i < 5; i++)
			if (ends[i] == len)
				want = i;
		assert_int_equal(count_fields(bytes, len), want);
	}
}

TEST(every_cut_of_a_random_message_is_safe)
{
	struct pb_mem m;

	assert_int_equal(pb_mem_init(&m), 0);
	for (uint64_t seed = 1; seed <= 60; seed++) {
		uint64_t rng = seed;
		size_t len;

		pb_mem_reset(&m);
		random_message_write(&m.enc, &rng, 0);
		len = pb_mem_len(&m);
		assert_true(count_fields(m.buf, len) >= 0);
		for (size_t cut = 0; cut < len; cut++)
			count_fields(m.buf, cut);
	}
	pb_mem_deinit(&m);
}

TEST(strings_are_compared_whole)
{
	struct pb_field f = {
		.wire_type = PB_WIRE_BYTES, .data = (const uint8_t *)"ftrace", .len = 5};

	assert_true(pb_field_is(&f, "ftrac"));
	assert_false(pb_field_is(&f, "ftrace"));
	assert_false(pb_field_is(&f, "ftra"));
	assert_false(pb_field_is(&f, "Ftrac"));
	f.len = 0;
	assert_true(pb_field_is(&f, ""));
	f.data = NULL; /* a number */
	assert_false(pb_field_is(&f, ""));
}

static size_t unpack(const struct pb_field *f, uint64_t *values)
{
	size_t n = 0;

	for (struct pb_packed p = pb_packed_of(f); pb_packed_next(&p, &values[n]);)
		n++;
	return n;
}

TEST(packed_and_unpacked_fields_read_alike)
{
	uint64_t v[16] = {0};
	struct pb_field f = {
		.wire_type = PB_WIRE_BYTES, .data = (const uint8_t *)"\x01\xac\x02\x00", .len = 4};

	assert_int_equal(unpack(&f, v), 3);
	assert_true(v[0] == 1 && v[1] == 300 && v[2] == 0);
	f.len = 0;
	assert_int_equal(unpack(&f, v), 0);
	f = (struct pb_field){.wire_type = PB_WIRE_VARINT, .u64 = 77};
	assert_int_equal(unpack(&f, v), 1);
	assert_true(v[0] == 77);
	/* fixed fields are not varints */
	f = (struct pb_field){.wire_type = PB_WIRE_FIXED32, .u64 = 77};
	assert_int_equal(unpack(&f, v), 0);
}

TEST(broken_packed_field_ends_there)
{
	uint64_t v[16];
	struct pb_field f = {
		.wire_type = PB_WIRE_BYTES, .data = (const uint8_t *)"\x05\x06\x80", .len = 3};
	struct pb_packed p;

	assert_int_equal(unpack(&f, v), 2);
	p = pb_packed_of(&f);
	for (int i = 0; i < 2; i++)
		assert_true(pb_packed_next(&p, v));
	assert_false(pb_packed_next(&p, v));
	assert_false(pb_packed_next(&p, v));
}

TEST(the_last_inner_field_with_bytes_is_found)
{
	/* 1: "a"  2: 7  1: "bc"  1: 5 */
	static const uint8_t message[] = {0x0a, 1, 'a', 0x10, 7, 0x0a, 2, 'b', 'c', 0x08, 5};
	const struct pb_field outer = {.id = 9, .data = message, .len = sizeof(message)};
	const struct pb_field number = {.id = 9};

	assert_int_equal(pb_inner_field(&outer, 1).len, 2);
	assert_ptr_equal(pb_inner_field(&outer, 1).data, message + 7);
	assert_int_equal(pb_inner_field(&outer, 2).id, 0); /* a number */
	assert_int_equal(pb_inner_field(&outer, 3).id, 0);
	assert_int_equal(pb_inner_field(&number, 1).id, 0);
}

TEST(zigzag_goes_both_ways)
{
	static const int64_t values[] = {0,   -1,	 1,	    -2,	       63,
					 -64, INT32_MAX, INT32_MIN, INT64_MAX, INT64_MIN};

	for (size_t i = 0; i < ARRAY_SIZE(values); i++)
		assert_true(pb_unzigzag(pb_zigzag(values[i])) == values[i]);
}

/* ---- against protobuf-c: to a message without fields, every field is an unknown one ---- */

static const ProtobufCMessageDescriptor no_fields = {
	.magic = PROTOBUF_C__MESSAGE_DESCRIPTOR_MAGIC,
	.name = "NoFields",
	.sizeof_message = sizeof(ProtobufCMessage),
};

static uint64_t raw_value(const ProtobufCMessageUnknownField *u)
{
	uint64_t v = 0;

	if (u->wire_type == PROTOBUF_C_WIRE_TYPE_VARINT)
		for (size_t i = 0; i < u->len && i < 10; i++)
			v |= (uint64_t)(u->data[i] & 0x7f) << 7 * i;
	else if (u->wire_type != PROTOBUF_C_WIRE_TYPE_LENGTH_PREFIXED)
		memcpy(&v, u->data, u->len);
	return v;
}

static void expect_same_field(const struct pb_field *f, const ProtobufCMessageUnknownField *u)
{
	assert_int_equal(f->id, u->tag);
	assert_int_equal(f->wire_type, u->wire_type);
	if (f->wire_type == PB_WIRE_BYTES) {
		/* protobuf-c keeps the length in front */
		assert_true(u->len >= f->len);
		assert_memory_equal(f->data, u->data + u->len - f->len, f->len);
	} else {
		assert_true(f->u64 == raw_value(u));
	}
}

static size_t varint_bytes(const uint8_t *p, const uint8_t *end)
{
	size_t n = 1;

	while (p < end && *p++ >= 0x80)
		n++;
	return n;
}

/* What protobuf-c takes and we do not: field 0, and bits above the 64th or the tag's 32nd. */
static bool is_stricter_rule(const uint8_t *p, const uint8_t *end)
{
	size_t n = varint_bytes(p, end);

	if (n == 1 && *p >> 3 == 0)
		return true;
	if (n == 5 && p[4] > 0x0f)
		return true;
	return varint_bytes(p + n, end) == 10 && p[n + 9] > 1;
}

/* Accepted by both or by neither, but for tags of more than 5 bytes, which protobuf-c does not
 * read, and the stricter rules above. */
static bool expect_same(const uint8_t *data, size_t len)
{
	ProtobufCMessage *m = protobuf_c_message_unpack(&no_fields, NULL, len, data);
	bool long_tag = false;
	struct pb_field f;
	struct pb_dec d;
	unsigned n = 0;

	pb_dec_init(&d, data, len);
	for (const uint8_t *start = d.cur; pb_dec_next(&d, &f); start = d.cur) {
		long_tag |= varint_bytes(start, d.end) > 5;
		if (m) {
			assert_in_range(n, 0, m->n_unknown_fields - 1);
			expect_same_field(&f, &m->unknown_fields[n]);
		}
		n++;
	}
	if (!m) {
		assert_true(!pb_dec_ok(&d) || long_tag);
		return false;
	}
	if (pb_dec_ok(&d))
		assert_int_equal(n, m->n_unknown_fields);
	else
		assert_true(is_stricter_rule(d.cur, d.end));
	protobuf_c_message_free_unpacked(m, NULL);
	return pb_dec_ok(&d);
}

TEST(gives_what_protobuf_c_gives)
{
	unsigned whole = 0, spoilt_whole = 0;
	uint64_t dice = 99;
	struct pb_mem m;

	assert_int_equal(pb_mem_init(&m), 0);
	for (uint64_t seed = 1; seed <= 3000; seed++) {
		uint64_t rng = seed;
		size_t len;

		pb_mem_reset(&m);
		random_message_write(&m.enc, &rng, 0);
		len = pb_mem_len(&m);
		whole += expect_same(m.buf, len);
		for (int i = 0; i < 5 && len > 0; i++) {
			m.buf[rng_below(&dice, (uint32_t)len)] = (uint8_t)rng_next(&dice);
			spoilt_whole += expect_same(m.buf, len);
		}
	}
	assert_int_equal(whole, 3000);
	assert_in_range(spoilt_whole, 1000, 14000);
	pb_mem_deinit(&m);
}
