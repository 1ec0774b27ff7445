/* SPDX-License-Identifier: Apache-2.0 */

#include <zlib.h>
#include <zstd.h>

#include "analyze/packets.h"
#include "gen/fields.h"
#include "unit/test.h"

#define DEFLATE PB_TRACE_PACKET_COMPRESSED_PACKETS
#define ZSTD PB_TRACE_PACKET_ZSTD_COMPRESSED_PACKETS

#define LIMIT (64u << 20) /* bytes of the contents of a packet */

static const uint32_t formats[] = {DEFLATE, ZSTD};

static uint8_t *pack(uint32_t format, const void *data, size_t len, size_t *ret_len)
{
	uLongf n = compressBound(len) + ZSTD_compressBound(len);
	uint8_t *packed = malloc(n);

	assert_non_null(packed);
	if (format == DEFLATE) {
		assert_int_equal(compress2(packed, &n, data, len, 1), Z_OK);
		*ret_len = n;
	} else {
		*ret_len = ZSTD_compress(packed, n, data, len, 1);
		assert_false(ZSTD_isError(*ret_len));
	}
	return packed;
}

TEST(what_was_packed_comes_out)
{
	size_t sizes[] = {0, 1, 1000, 65536, 65537, 3000000}, len;
	struct strbuf b = {0};
	uint8_t *data = malloc(3000000), *packed;

	assert_non_null(data);
	for (size_t i = 0; i < 3000000; i++)
		data[i] = (uint8_t)(i * i >> 7);
	for (size_t f = 0; f < 2; f++)
		for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
			packed = pack(formats[f], data, sizes[i], &len);
			assert_int_equal(packets_unpack(formats[f], packed, len, &b), 0);
			assert_int_equal(b.len, sizes[i]);
			if (b.len)
				assert_memory_equal(b.s, data, b.len);
			free(packed);
		}
	strbuf_deinit(&b);
	free(data);
}

TEST(what_is_cut_off_or_something_else_is_refused)
{
	struct strbuf b = {0};
	uint8_t *packed;
	size_t len;

	for (size_t f = 0; f < 2; f++) {
		packed = pack(formats[f], "some text, some text", 20, &len);
		for (size_t cut = 0; cut < len; cut++)
			assert_int_equal(packets_unpack(formats[f], packed, cut, &b), -EBADMSG);
		assert_int_equal(packets_unpack(formats[!f], packed, len, &b), -EBADMSG);
		free(packed);
	}
	strbuf_deinit(&b);
}

/* Packs texts one after the other; returns the length. */
static size_t pack_all(uint32_t format, const char *const *texts, size_t n, uint8_t *ret)
{
	size_t at = 0, len;

	for (size_t i = 0; i < n; i++) {
		uint8_t *packed = pack(format, texts[i], strlen(texts[i]), &len);

		memcpy(ret + at, packed, len);
		at += len;
		free(packed);
	}
	return at;
}

TEST(all_streams_of_a_packet_come_out)
{
	static const char *const texts[] = {"one", "", "two"};
	struct strbuf b = {0};
	uint8_t packed[1024];

	for (size_t f = 0; f < 2; f++) {
		size_t len = pack_all(formats[f], texts, 3, packed);

		assert_int_equal(packets_unpack(formats[f], packed, len, &b), 0);
		assert_int_equal(b.len, 6);
		assert_memory_equal(b.s, "onetwo", 6);
	}
	strbuf_deinit(&b);
}

TEST(an_invalid_rest_is_reported_and_what_is_before_it_comes_out)
{
	static const char *const texts[] = {"some text, some text", "more of it, more of it"};
	struct strbuf b = {0};
	uint8_t packed[1024];

	for (size_t f = 0; f < 2; f++) {
		size_t one = pack_all(formats[f], texts, 1, packed);
		size_t len = pack_all(formats[f], texts, 2, packed);

		for (size_t cut = one + 1; cut < len; cut++) {
			assert_int_equal(packets_unpack(formats[f], packed, cut, &b), 1);
			assert_int_equal(b.len, 20);
		}
		memset(packed + one, 'x', 9);
		assert_int_equal(packets_unpack(formats[f], packed, one + 9, &b), 1);
		assert_int_equal(b.len, 20);
		assert_memory_equal(b.s, texts[0], 20);
	}
	strbuf_deinit(&b);
}

TEST(text_may_begin_with_the_byte_of_a_packet)
{
	static const struct {
		const char *data;
		size_t len;
		bool is_text;
	} cases[] = {
		{"\n", 1, true},
		{"\n\n\n\n", 4, true},
		{"\n{ \"traceEvents\": [] }", 22, true},
		{"\n# tracer: nop\n", 15, true},
		{"# tracer: nop\n", 14, true},
		{"\n\x02P!", 4, false}, /* sequence 33 */
		{"\n\x04P!", 4, false}, /* cut off, but no text */
		{"", 0, false},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_int_equal(packets_are_text((const uint8_t *)cases[i].data, cases[i].len,
						  cases[i].len),
				 cases[i].is_text);
}

/* Thirty kilobytes may be gigabytes of nothing. */
TEST(what_grows_without_end_is_refused)
{
	const size_t huge = LIMIT + 1;
	struct strbuf b = {0};
	uint8_t *data = calloc(1, huge), *packed;
	size_t len;

	assert_non_null(data);
	for (size_t f = 0; f < 2; f++) {
		packed = pack(formats[f], data, huge, &len);
		assert_int_equal(packets_unpack(formats[f], packed, len, &b), -EFBIG);
		free(packed);
		packed = pack(formats[f], data, LIMIT, &len);
		assert_int_equal(packets_unpack(formats[f], packed, len, &b), 0);
		assert_int_equal(b.len, LIMIT);
		free(packed);
	}
	strbuf_deinit(&b);
	free(data);
}
