/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>

#include "base/text/str.h"
#include "unit/rng.h"
#include "unit/test.h"
#include "wire/frame.h"
#include "wire/pb_dec.h"
#include "wire/pb_enc.h"

/* ---- a frame as text ---- */

static void put_span(struct strbuf *b, const char *name, const void *text, size_t len)
{
	if (!len)
		return;
	strbuf_printf(b, " %s ", name);
	strbuf_put_json_n(b, text, len);
}

/* The bytes are in a heap block of their own size, so that a sanitizer sees one byte too far. */
static void describe(const void *data, size_t len, struct strbuf *b)
{
	static const char *const kinds[] = {"unknown", "bind",	"bind reply", "invoke",
					    "reply",   "error", "identity"};
	uint8_t *copy = memcpy(malloc(len + 1), data, len);
	struct frame f = {.request_id = 77};
	size_t pos = 0, name_len;
	const char *name;
	uint32_t id;

	strbuf_clear(b);
	if (frame_decode(copy, len, &f) < 0) {
		assert_int_equal(f.request_id, 77);
		strbuf_puts(b, "invalid");
		free(copy);
		return;
	}
	strbuf_printf(b, "%s %" PRIu64, kinds[f.kind], f.request_id);
	if (f.service_id || f.method_id)
		strbuf_printf(b, " service %u method %u", f.service_id, f.method_id);
	strbuf_printf(b, "%s%s%s", f.drop_reply ? " drop" : "", f.success ? " success" : "",
		      f.has_more ? " more" : "");
	assert_true(!f.payload_len ||
		    (f.payload >= copy && f.payload + f.payload_len <= copy + len));
	put_span(b, "text", f.text, f.text_len);
	if (f.kind != FRAME_BIND_SERVICE_REPLY)
		put_span(b, "payload", f.payload, f.payload_len);
	while (frame_next_method(&f, &pos, &id, &name, &name_len)) {
		assert_true((const uint8_t *)name >= f.payload &&
			    (const uint8_t *)name + name_len <= f.payload + f.payload_len);
		strbuf_printf(b, " %u=%.*s", id, (int)name_len, name);
	}
	assert_false(frame_next_method(&f, &pos, &id, &name, &name_len));
	free(copy);
}

/* ---- decoding ---- */

#define FRAME(bytes, text)                                                                         \
	{                                                                                          \
		bytes, sizeof(bytes) - 1, text                                                     \
	}

static const struct frame_case {
	const char *bytes;
	size_t len;
	const char *text;
} cases[] = {
	FRAME("\x10\x07\x1a\x0e\x0a\x0c"
	      "ProducerPort",
	      "bind 7 text \"ProducerPort\""),
	FRAME("\x10\x08\x22\x14\x08\x01\x10\x02\x1a\x07\x08\xac\x02\x12\x02"
	      "AB"
	      "\x1a\x05\x08\x02\x12\x01"
	      "C",
	      "bind reply 8 service 2 method 0 success 300=AB 2=C"),
	FRAME("\x10\x05\x2a\x0f\x08\x03\x10\xff\xff\xff\xff\x0f\x20\x01\x1a\x03"
	      "a\0b",
	      "invoke 5 service 3 method 4294967295 drop payload \"a\\u0000b\""),
	FRAME("\x10\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x32\x00", "reply 18446744073709551615"),
	FRAME("\x10\x05\x32\x0b\x08\x01\x10\x01\x1a\x05"
	      "reply",
	      "reply 5 success more payload \"reply\""),
	FRAME("\x10\x0a\x3a\x11\x0a\x0f"
	      "unknown request",
	      "error 10 text \"unknown request\""),
	/* The payload is the whole sub-message. */
	FRAME("\x10\x01\x42\x02\x08\x05", "identity 1 payload \"\\u0008\\u0005\""),
	/* Methods with id 0, without a name or an id, or with a broken end are skipped. */
	FRAME("\x22\x28\x1a\x04\x08\x00\x12\x00\x1a\x05\x08\x00\x12\x01x\x1a\x02\x08\x05"
	      "\x1a\x03\x12\x01x\x1a\x05\x08\x01\x12\x01"
	      "a"
	      "\x1a\x02\x08\x80\x1a\x05\x08\x02\x12\x01"
	      "b",
	      "bind reply 0 1=a 2=b"),
	/* The last kind counts, with nothing of the ones before; the id may follow it. */
	FRAME("\x2a\x06\x08\x01\x10\x02\x20\x01\x32\x02\x08\x01\x10\x05", "reply 5 success"),
	FRAME("", "unknown 0"),
	FRAME("\x10\x09", "unknown 9"),
	FRAME("\x0a\x03xyz\x10\x09", "unknown 9"), /* data_for_testing */
	FRAME("\xfa\x7f\x00\x10\x09", "unknown 9"), /* field 2047 */
	/* Known numbers with other wire types are unknown fields. */
	FRAME("\x18\x01\x12\x01x\x28\x01", "unknown 0"),
	FRAME("\x2a\x08\x0d\1\2\3\4\x1a\x01x", "invoke 0 payload \"x\""),
	FRAME("\x0b", "invalid"),
	FRAME("\x10", "invalid"),
	FRAME("\x2a\x05\x08\x01", "invalid"),
	FRAME("\x2a\x00\x00\x00", "invalid"),
	/* The sub-message is broken. */
	FRAME("\x2a\x02\x08\x80", "invalid"),
	FRAME("\x42\x02\x08\x80", "invalid"),
	FRAME("\x22\x02\x08\x80\x10\x01", "invalid"),
};

TEST(frames_are_decoded)
{
	struct strbuf b = {0};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		describe(cases[i].bytes, cases[i].len, &b);
		assert_string_equal(b.s, cases[i].text);
	}
	strbuf_deinit(&b);
}

/* ---- encoding ---- */

TEST(whole_frames_are_encoded)
{
	static const struct frame_method methods[] = {{300, "AB"}, {2, "C"}};
	struct strbuf b = {0};
	struct pb_mem m;

	assert_int_equal(pb_mem_init(&m), 0);
	for (int i = 0; i < 4; i++) {
		pb_mem_reset(&m);
		if (i == 0)
			frame_put_bind(&m.enc, 7, "ProducerPort");
		else if (i == 1)
			frame_put_bind_reply(&m.enc, 8, true, 2, methods, 2);
		else if (i == 2)
			frame_put_error(&m.enc, 10, "unknown request");
		else
			frame_put_bind_reply(&m.enc, 9, false, 2, methods, 2);
		describe(m.buf, pb_mem_len(&m), &b);
		assert_string_equal(b.s, i == 0	  ? cases[0].text
					 : i == 1 ? cases[1].text
					 : i == 2 ? cases[5].text
						  : "bind reply 9");
	}
	pb_mem_deinit(&m);
	strbuf_deinit(&b);
}

/* Heads of invoke and reply frames, with numbers and payloads of all lengths of varints. */
TEST(heads_are_encoded)
{
	static const uint64_t numbers[] = {0, 1, 127, 128, 70000, UINT32_MAX, UINT64_MAX};
	static const size_t lengths[] = {0, 1, 127, 128, 16384, 130000};
	static uint8_t payload[130000], buf[FRAME_MAX_HEAD + sizeof(payload)];
	uint64_t rng = 1;

	rng_bytes(&rng, payload, sizeof(payload));
	for (size_t i = 0; i < ARRAY_SIZE(numbers) * ARRAY_SIZE(lengths) * 8; i++) {
		uint64_t number = numbers[i / 8 % ARRAY_SIZE(numbers)];
		size_t len = lengths[i / 8 / ARRAY_SIZE(numbers)], head;
		bool is_reply = i & 4, first = i & 1, second = i & 2;
		struct frame f;

		head = is_reply ? frame_put_reply(buf, number, first, second, len)
				: frame_put_invoke(buf, number, (uint32_t)number, (uint32_t)number,
						   first, len);
		assert_in_range(head, 1, FRAME_MAX_HEAD);
		memcpy(buf + head, payload, len);
		assert_int_equal(frame_decode(buf, head + len, &f), 0);
		assert_int_equal(f.kind,
				 is_reply ? FRAME_INVOKE_METHOD_REPLY : FRAME_INVOKE_METHOD);
		assert_true(f.request_id == number);
		assert_int_equal(f.service_id, is_reply ? 0 : (uint32_t)number);
		assert_int_equal(f.method_id, f.service_id);
		assert_true(is_reply ? f.success == first && f.has_more == second
				     : f.drop_reply == first);
		assert_int_equal(f.payload_len, len);
		assert_true(!len || f.payload == buf + head);
	}
	memset(buf, 0xc5, FRAME_MAX_HEAD + 16);
	assert_in_range(
		frame_put_invoke(buf, UINT64_MAX, UINT32_MAX, UINT32_MAX, true, SIZE_MAX / 2), 1,
		FRAME_MAX_HEAD);
	for (size_t i = FRAME_MAX_HEAD; i < FRAME_MAX_HEAD + 16; i++)
		assert_int_equal(buf[i], 0xc5);
}

/* describe() checks that what is accepted has views inside the frame only. */
TEST(damaged_frames_have_no_views_outside)
{
	struct strbuf b = {0};
	unsigned accepted = 0;
	uint64_t rng = 12;

	for (int round = 0; round < 20000; round++) {
		const struct frame_case *c = &cases[rng_below(&rng, 8)];
		uint8_t bytes[64];
		size_t len = c->len;

		memcpy(bytes, c->bytes, len);
		for (uint32_t bad = rng_below(&rng, 4); bad > 0; bad--)
			bytes[rng_below(&rng, (uint32_t)len)] = (uint8_t)rng_next(&rng);
		len -= rng_below(&rng, 4) ? 0 : rng_below(&rng, (uint32_t)len);
		describe(bytes, len, &b);
		accepted += strcmp(b.s, "invalid") != 0;
	}
	assert_in_range(accepted, 5000, 19000);
	strbuf_deinit(&b);
}
