/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/host/packet_stream.h"

#include <errno.h>

#include "unit/test.h"

static struct strbuf seen; /* the packets, each with a ';' */

static int note(void *ctx, const uint8_t *packet, size_t len)
{
	strbuf_add(&seen, packet, len);
	strbuf_putc(&seen, ';');
	return ctx ? -ENOSPC : 0;
}

#define TRACE                                                                                      \
	"\x0a\x03"                                                                                 \
	"abc"                                                                                      \
	"\x0a\x00"                                                                                 \
	"\x0a\x81\x00"                                                                             \
	"d"

TEST(packets_arrive_in_pieces_of_any_size)
{
	for (size_t piece = 1; piece < sizeof(TRACE); piece++) {
		struct packet_stream s = {0};

		for (size_t at = 0; at < sizeof(TRACE) - 1; at += piece) {
			size_t n = sizeof(TRACE) - 1 - at;

			assert_int_equal(packet_stream_add(&s, (const uint8_t *)TRACE + at,
							   n < piece ? n : piece, note, NULL),
					 0);
		}
		assert_string_equal(seen.s, "abc;;d;");
		assert_false(packet_stream_is_inside(&s));
		strbuf_clear(&seen);
		packet_stream_deinit(&s);
	}
	strbuf_deinit(&seen);
}

TEST(half_a_packet_is_not_passed_on)
{
	struct packet_stream s = {0};

	assert_int_equal(packet_stream_add(&s, (const uint8_t *)TRACE, 4, note, NULL), 0);
	assert_null(seen.s);
	assert_true(packet_stream_is_inside(&s));
	packet_stream_deinit(&s);
}

TEST(other_bytes_are_refused)
{
	static const struct {
		const char *bytes;
		size_t len;
		int error;
	} cases[] = {
		{"hello", 5, -EBADMSG},
		{"\x0a\x00\x12", 3, -EBADMSG},
		{"\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", 11, -EBADMSG},
		{"\x0a\xff\xff\xff\xff\x0f", 6, -EFBIG},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct packet_stream s = {0};

		assert_int_equal(packet_stream_add(&s, (const uint8_t *)cases[i].bytes,
						   cases[i].len, note, NULL),
				 cases[i].error);
		packet_stream_deinit(&s);
	}
	strbuf_deinit(&seen);
}

TEST(an_error_of_the_reader_ends_the_call)
{
	struct packet_stream s = {0};
	int ctx;

	assert_int_equal(
		packet_stream_add(&s, (const uint8_t *)TRACE, sizeof(TRACE) - 1, note, &ctx),
		-ENOSPC);
	assert_string_equal(seen.s, "abc;");
	strbuf_deinit(&seen);
	packet_stream_deinit(&s);
}
