/* SPDX-License-Identifier: Apache-2.0 */

#include "unit/test.h"
#include "unit/wire/random_message.h"
#include "wire/pb_enc.h"

TEST(grows_under_open_messages)
{
	struct pb_mem m;
	char text[1000];
	uint64_t len;

	memset(text, 't', sizeof(text));
	assert_int_equal(pb_mem_init(&m), 0);
	for (unsigned i = 0; i < PB_MAX_DEPTH; i++)
		pb_enc_open(&m.enc, 1);
	for (int i = 0; i < 300; i++)
		pb_enc_bytes(&m.enc, 2, text, sizeof(text));
	for (unsigned i = 0; i < PB_MAX_DEPTH; i++)
		pb_enc_close(&m.enc);
	assert_false(m.failed);
	assert_int_equal(pb_mem_len(&m), 300 * 1003 + PB_MAX_DEPTH * 5);
	assert_ptr_equal(m.enc.begin, m.buf);
	for (unsigned i = 0; i < PB_MAX_DEPTH; i++) {
		assert_int_equal(m.buf[5 * i], 0x0a);
		pb_get_varint(m.buf + 5 * i + 1, m.buf + 5 * i + 5, &len);
		assert_int_equal(len, 300 * 1003 + (PB_MAX_DEPTH - 1 - i) * 5);
	}
	pb_mem_deinit(&m);
	assert_null(m.buf);
}

TEST(every_message_starts_anew_after_reset)
{
	struct pb_mem m;

	assert_int_equal(pb_mem_init(&m), 0);
	for (uint64_t seed = 1; seed <= 2000; seed++) {
		uint64_t rng = seed;

		assert_int_equal(pb_mem_len(&m), 0);
		random_message_write(&m.enc, &rng, 0);
		rng = seed;
		assert_true(random_message_matches(m.buf, pb_mem_len(&m), &rng, 0));
		pb_mem_reset(&m);
	}
	pb_mem_deinit(&m);
}

/* Whatever is written, and however deep: it stays inside the buffer, and the flag stays set. */
TEST(out_of_memory_only_breaks_the_message)
{
	for (uint64_t seed = 1; seed <= 300; seed++) {
		uint64_t rng = seed;
		struct pb_mem m;

		assert_int_equal(pb_mem_init(&m), 0);
		for (unsigned i = 0; i < seed % 5; i++)
			pb_enc_open(&m.enc, 1);
		m.failed = true;
		for (int i = 0; i < 5; i++)
			random_message_write(&m.enc, &rng, PB_MAX_DEPTH - 3);
		for (unsigned i = 0; i < 200; i++) {
			pb_enc_open(&m.enc, 7);
			pb_enc_str(&m.enc, 7, "some text that takes the rest of the buffer");
			pb_enc_close(&m.enc);
		}
		for (unsigned i = 0; i < seed % 5; i++)
			pb_enc_close(&m.enc);
		assert_true(m.failed);
		assert_ptr_equal(m.enc.begin, m.buf);
		pb_mem_reset(&m);
		assert_false(m.failed);
		pb_enc_u64(&m.enc, 1, 150);
		assert_int_equal(pb_mem_len(&m), 3);
		assert_memory_equal(m.buf, "\x08\x96\x01", 3);
		pb_mem_deinit(&m);
	}
}
