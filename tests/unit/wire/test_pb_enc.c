/* SPDX-License-Identifier: Apache-2.0 */

#include "unit/rng.h"
#include "unit/test.h"
#include "unit/wire/random_message.h"
#include "wire/pb_enc.h"

/* ---- one array ---- */

static uint8_t array[1 << 17];

static void no_refill(struct pb_enc *e)
{
	fail_msg("the array is too small");
}

static void array_init(struct pb_enc *e)
{
	pb_enc_init(e, array, array + sizeof(array), no_refill);
}

#define EXPECT(e, ...)                                                                             \
	expect_bytes(e, (const uint8_t[]){__VA_ARGS__}, sizeof((const uint8_t[]){__VA_ARGS__}))

static void expect_bytes(const struct pb_enc *e, const uint8_t *want, size_t len)
{
	assert_int_equal(e->cur - e->begin, len);
	assert_memory_equal(e->begin, want, len);
}

/* ---- small ranges, as the chunks of a shared memory are ---- */

#define MAX_RANGES 8192

struct patch {
	size_t at; /* in the assembled bytes */
	uint8_t data[PB_SIZE_FIELD];
};

struct sink {
	struct pb_enc enc;
	uint64_t rng;
	uint32_t min, max; /* bytes in a range */
	uint8_t range[PB_SIMPLE_FIELD + 4096]; /* the current one, and a guard */
	uint32_t range_len;
	uint8_t out[1 << 17]; /* what the ranges before held */
	size_t out_len;
	struct patch patches[MAX_RANGES];
	size_t n_patches;
	unsigned n_ranges;
	bool broken_contract;
};

#define GUARD 0xc5

static void next_range(struct sink *s)
{
	s->range_len = s->min + rng_below(&s->rng, s->max - s->min + 1);
	s->n_ranges++;
	memset(s->range, GUARD, sizeof(s->range));
}

/* Takes the bytes of the current range; they must not be touched afterwards. */
static void leave_range(struct sink *s)
{
	struct pb_enc *e = &s->enc;
	size_t used = (size_t)(e->cur - e->begin);

	for (size_t i = s->range_len; i < sizeof(s->range); i++)
		s->broken_contract |= s->range[i] != GUARD;
	s->broken_contract |= used > s->range_len || used + PB_SIZE_FIELD <= s->range_len;
	for (unsigned i = 0; i < e->depth; i++) {
		struct patch *p = &s->patches[s->n_patches];
		uint8_t *f = e->nest[i].size_field;

		if (f < e->begin || f >= e->cur)
			continue;
		p->at = s->out_len + (size_t)(f - e->begin);
		e->nest[i].size_field = p->data;
		assert_true(++s->n_patches < MAX_RANGES);
	}
	assert_true(s->out_len + used <= sizeof(s->out));
	memcpy(s->out + s->out_len, e->begin, used);
	s->out_len += used;
}

static void sink_refill(struct pb_enc *e)
{
	struct sink *s = container_of(e, struct sink, enc);

	leave_range(s);
	next_range(s);
	pb_enc_set_range(e, s->range, s->range + s->range_len);
}

static struct sink *sink_new(uint64_t seed, uint32_t min, uint32_t max)
{
	static struct sink s;

	memset(&s, 0, sizeof(s));
	s.rng = seed;
	s.min = min;
	s.max = max;
	next_range(&s);
	pb_enc_init(&s.enc, s.range, s.range + s.range_len, sink_refill);
	return &s;
}

/* The whole message: the ranges, and the patches over them. */
static void assemble(struct sink *s)
{
	struct pb_enc *e = &s->enc;

	assert_int_equal(e->depth, 0);
	memcpy(s->out + s->out_len, e->begin, (size_t)(e->cur - e->begin));
	s->out_len += (size_t)(e->cur - e->begin);
	e->cur = e->begin;
	for (size_t i = 0; i < s->n_patches; i++)
		memcpy(s->out + s->patches[i].at, s->patches[i].data, PB_SIZE_FIELD);
	assert_false(s->broken_contract);
}

/* ---- fields ---- */

TEST(fields_have_the_bytes_of_the_format)
{
	struct pb_enc e;

	array_init(&e);
	pb_enc_u64(&e, 1, 150);
	EXPECT(&e, 0x08, 0x96, 0x01);
	array_init(&e);
	pb_enc_str(&e, 2, "testing");
	EXPECT(&e, 0x12, 0x07, 't', 'e', 's', 't', 'i', 'n', 'g');
	array_init(&e);
	pb_enc_fixed32(&e, 1, 0x04030201);
	EXPECT(&e, 0x0d, 1, 2, 3, 4);
	array_init(&e);
	pb_enc_fixed64(&e, 1, 0x0807060504030201);
	EXPECT(&e, 0x09, 1, 2, 3, 4, 5, 6, 7, 8);
	array_init(&e);
	pb_enc_double(&e, 1, -2.0);
	EXPECT(&e, 0x09, 0, 0, 0, 0, 0, 0, 0, 0xc0);
	array_init(&e);
	pb_enc_bool(&e, 15, true);
	pb_enc_bool(&e, 16, false);
	EXPECT(&e, 0x78, 1, 0x80, 0x01, 0);
	array_init(&e);
	pb_enc_bytes(&e, 1, NULL, 0);
	EXPECT(&e, 0x0a, 0);
	array_init(&e);
	pb_enc_header(&e, 1, 300);
	EXPECT(&e, 0x0a, 0xac, 0x02);
}

TEST(negative_numbers)
{
	struct pb_enc e;

	array_init(&e);
	pb_enc_i64(&e, 1, -1);
	EXPECT(&e, 0x08, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01);
	array_init(&e);
	pb_enc_i64(&e, 1, INT32_MIN);
	EXPECT(&e, 0x08, 0x80, 0x80, 0x80, 0x80, 0xf8, 0xff, 0xff, 0xff, 0xff, 0x01);
	array_init(&e);
	pb_enc_i64(&e, 1, INT64_MIN);
	EXPECT(&e, 0x08, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x01);
	array_init(&e);
	pb_enc_sint(&e, 1, 0);
	pb_enc_sint(&e, 1, -1);
	pb_enc_sint(&e, 1, 1);
	pb_enc_sint(&e, 1, -64);
	EXPECT(&e, 0x08, 0, 0x08, 1, 0x08, 2, 0x08, 127);
	array_init(&e);
	pb_enc_sint(&e, 1, INT64_MIN);
	EXPECT(&e, 0x08, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01);
}

TEST(varints_at_every_length)
{
	uint8_t buf[16];

	for (unsigned bits = 0; bits <= 64; bits++)
		for (int delta = -1; delta <= 1; delta++) {
			uint64_t v = (bits == 64 ? 0 : 1ull << bits) + (uint64_t)delta, back;
			size_t len = (size_t)(pb_put_varint(buf, v) - buf), want = 1;

			for (uint64_t x = v; x >= 0x80; x >>= 7)
				want++;
			assert_int_equal(len, want);
			assert_int_equal(pb_varint_len(v), want);
			assert_ptr_equal(pb_get_varint(buf, buf + len, &back), buf + len);
			assert_true(back == v);
			if (v < 1u << 28) {
				pb_put_varint4(buf, (uint32_t)v);
				assert_ptr_equal(pb_get_varint(buf, buf + 4, &back), buf + 4);
				assert_true(back == v);
			}
		}
}

TEST(tags_at_every_length)
{
	static const struct {
		uint32_t field;
		size_t len;
	} tags[] = {{1, 1},	   {15, 1},	  {16, 2},	 {2047, 2},
		    {2048, 3},	   {20000, 3},	  {262143, 3},	 {262144, 4},
		    {33554431, 4}, {33554432, 5}, {536870911, 5}};

	for (size_t i = 0; i < ARRAY_SIZE(tags); i++) {
		struct pb_field f;
		struct pb_dec d;
		struct pb_enc e;

		array_init(&e);
		pb_enc_u64(&e, tags[i].field, UINT64_MAX);
		assert_int_equal(pb_enc_pos(&e), tags[i].len + 10);
		pb_enc_fixed64(&e, tags[i].field, 5);
		pb_enc_open(&e, tags[i].field);
		pb_enc_close(&e);
		pb_dec_init(&d, e.begin, (size_t)pb_enc_pos(&e));
		for (int n = 0; n < 3; n++) {
			assert_true(pb_dec_next(&d, &f));
			assert_int_equal(f.id, tags[i].field);
		}
		assert_false(pb_dec_next(&d, &f));
		assert_true(pb_dec_ok(&d));
	}
}

/* ---- nested messages in one range ---- */

TEST(short_message_has_a_length_of_one_byte)
{
	struct pb_enc e;

	array_init(&e);
	pb_enc_open(&e, 3);
	pb_enc_u64(&e, 1, 150);
	pb_enc_close(&e);
	pb_enc_u64(&e, 2, 1);
	EXPECT(&e, 0x1a, 0x03, 0x08, 0x96, 0x01, 0x10, 0x01);
	array_init(&e);
	pb_enc_open(&e, 3);
	pb_enc_close(&e);
	EXPECT(&e, 0x1a, 0x00);
}

TEST(message_of_127_bytes_is_compacted_and_of_128_is_not)
{
	uint8_t payload[200];
	struct pb_enc e;

	for (size_t i = 0; i < sizeof(payload); i++)
		payload[i] = (uint8_t)i;
	array_init(&e);
	pb_enc_open(&e, 1);
	pb_enc_raw(&e, payload, 127);
	pb_enc_close(&e);
	assert_int_equal(pb_enc_pos(&e), 2 + 127);
	assert_int_equal(array[1], 127);
	assert_memory_equal(array + 2, payload, 127);

	array_init(&e);
	pb_enc_open(&e, 1);
	pb_enc_raw(&e, payload, 128);
	pb_enc_close(&e);
	assert_int_equal(pb_enc_pos(&e), 5 + 128);
	assert_memory_equal(array + 1, "\x80\x81\x80\x00", 4);
	assert_memory_equal(array + 5, payload, 128);
}

/* An inner message that shrinks takes its outer one below the limit. */
TEST(compaction_counts_for_the_outer_message)
{
	uint8_t payload[123] = {0};
	struct pb_enc e;

	array_init(&e);
	pb_enc_open(&e, 1);
	pb_enc_open(&e, 2);
	pb_enc_raw(&e, payload, sizeof(payload));
	pb_enc_close(&e);
	pb_enc_u64(&e, 3, 1);
	pb_enc_close(&e);
	/* 2 + 123 + 2 = 127, with 4 bytes of length it would be 130 */
	assert_int_equal(pb_enc_pos(&e), 2 + 127);
	assert_memory_equal(array, "\x0a\x7f\x12\x7b", 4);
}

TEST(messages_as_deep_as_allowed)
{
	struct pb_enc e;
	size_t len;

	array_init(&e);
	for (unsigned i = 0; i < PB_MAX_DEPTH; i++)
		pb_enc_open(&e, i + 1);
	pb_enc_u64(&e, 1, 7);
	for (unsigned i = 0; i < PB_MAX_DEPTH; i++)
		pb_enc_close(&e);
	len = (size_t)pb_enc_pos(&e);
	assert_int_equal(len, 2 * PB_MAX_DEPTH + 2);
	for (unsigned i = 0; i < PB_MAX_DEPTH; i++) {
		assert_int_equal(array[2 * i], (i + 1) << 3 | PB_WIRE_BYTES);
		assert_int_equal(array[2 * i + 1], len - 2 * i - 2);
	}
}

/* ---- ranges ---- */

TEST(range_is_filled_to_its_last_byte)
{
	struct sink *s = sink_new(1, 32, 32);
	uint8_t bytes[100];

	rng_bytes(&s->rng, bytes, sizeof(bytes));
	pb_enc_raw(&s->enc, bytes, 32);
	assert_int_equal(s->n_ranges, 1); /* full, but the next range is taken only when needed */
	pb_enc_raw(&s->enc, NULL, 0);
	assert_int_equal(s->n_ranges, 1);
	pb_enc_raw(&s->enc, bytes + 32, 1);
	assert_int_equal(s->n_ranges, 2);
	pb_enc_raw(&s->enc, bytes + 33, 67);
	assert_int_equal(s->n_ranges, 4);
	assert_int_equal(pb_enc_pos(&s->enc), 100);
	assemble(s);
	assert_int_equal(s->out_len, 100);
	assert_memory_equal(s->out, bytes, 100);
}

TEST(length_field_is_never_split)
{
	for (size_t before = 0; before <= 32; before++) {
		struct sink *s = sink_new(1, 32, 32);
		uint8_t zeros[32] = {0};
		struct pb_enc *e = &s->enc;

		pb_enc_raw(e, zeros, before);
		pb_enc_open(e, 2047);
		assert_ptr_equal(e->nest[0].size_field, e->cur - PB_SIZE_FIELD);
		assert_true(e->nest[0].size_field >= e->begin);
		pb_enc_u64(e, 1, 7);
		pb_enc_close(e);
		assert_int_equal(pb_enc_pos(e), e->before + (size_t)(e->cur - e->begin));
		assemble(s);
		assert_int_equal(s->out_len, before + 2 + s->n_patches * 3 + 1 + 2);
		assert_memory_equal(s->out + before, "\xfa\x7f", 2);
		if (s->n_patches)
			assert_memory_equal(s->out + before + 2, "\x82\x80\x80\x00\x08\x07", 6);
		else
			assert_memory_equal(s->out + before + 2, "\x02\x08\x07", 3);
	}
}

TEST(message_over_two_ranges_is_patched_and_not_compacted)
{
	struct sink *s = sink_new(1, 32, 32);
	uint8_t bytes[40];

	memset(bytes, 0x55, sizeof(bytes));
	pb_enc_open(&s->enc, 1);
	pb_enc_raw(&s->enc, bytes, 40);
	assert_int_equal(s->n_patches, 1);
	assert_int_equal(s->patches[0].at, 1);
	pb_enc_close(&s->enc);
	assert_memory_equal(s->patches[0].data, "\xa8\x80\x80\x00", 4);
	/* and the next one, whole in its range, is */
	pb_enc_open(&s->enc, 2);
	pb_enc_close(&s->enc);
	assemble(s);
	assert_int_equal(s->n_patches, 1);
	assert_int_equal(s->out_len, 5 + 40 + 2);
	assert_memory_equal(s->out + 45, "\x12\x00", 2);
}

TEST(each_open_message_is_patched_once)
{
	struct sink *s = sink_new(1, 64, 64);
	uint8_t bytes[64] = {0};
	uint64_t len;

	for (unsigned i = 0; i < 5; i++)
		pb_enc_open(&s->enc, 1);
	for (int i = 0; i < 10; i++)
		pb_enc_raw(&s->enc, bytes, sizeof(bytes));
	assert_int_equal(s->n_patches, 5);
	for (unsigned i = 0; i < 5; i++)
		pb_enc_close(&s->enc);
	assemble(s);
	for (size_t i = 0; i < 5; i++) {
		assert_int_equal(s->patches[i].at, 5 * i + 1);
		pb_get_varint(s->patches[i].data, s->patches[i].data + 4, &len);
		assert_int_equal(len, 640 + 5 * (4 - i));
	}
}

TEST(random_messages_over_small_ranges)
{
	static const uint32_t sizes[][2] = {{32, 32}, {32, 64}, {33, 47}, {100, 300}, {4000, 4096}};
	unsigned patched = 0, ranges = 0;

	for (uint64_t seed = 1; seed <= 3000; seed++) {
		const uint32_t *size = sizes[seed % ARRAY_SIZE(sizes)];
		struct sink *s = sink_new(seed, size[0], size[1]);
		uint64_t rng = seed, position;
		struct pb_enc plain;

		array_init(&plain);
		random_message_write(&plain, &rng, 0);
		rng = seed;
		if (!random_message_matches(plain.begin, (size_t)pb_enc_pos(&plain), &rng, 0))
			fail_msg("seed %u in one array", (unsigned)seed);
		rng = seed;
		random_message_write(&s->enc, &rng, 0);
		position = pb_enc_pos(&s->enc);
		assemble(s);
		assert_int_equal(s->out_len, position);
		rng = seed;
		if (!random_message_matches(s->out, s->out_len, &rng, 0))
			fail_msg("seed %u over ranges", (unsigned)seed);
		patched += s->n_patches > 0;
		ranges += s->n_ranges > 1;
	}
	assert_true(patched > 500 && ranges > 1500);
}
