/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/host/host_stream.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "unit/test.h"

TEST(a_frame_is_decoded_when_it_is_complete)
{
	struct strbuf b = {0};
	struct host_frame f;

	host_frame_put(&b, HOST_TRACE, "abc", 3);
	for (size_t len = 0; len < b.len; len++)
		assert_int_equal(host_frame_decode((uint8_t *)b.s, len, &f), 0);
	assert_int_equal(host_frame_decode((uint8_t *)b.s, b.len, &f), b.len);
	assert_int_equal(f.type, HOST_TRACE);
	assert_int_equal(f.len, 3);
	assert_memory_equal(f.data, "abc", 3);
	strbuf_deinit(&b);
}

TEST(a_frame_that_is_too_long_is_refused)
{
	static const uint8_t bytes[] = {HOST_TRACE, 1, 0, 0x40, 0};
	struct host_frame f;

	assert_int_equal(host_frame_decode(bytes, sizeof(bytes), &f), -EBADMSG);
}

TEST(numbers_need_their_size)
{
	const uint64_t three[] = {1, 1ull << 40, UINT64_MAX};
	struct strbuf b = {0};
	struct host_frame f;
	uint64_t v[3];
	uint32_t two[2];

	host_frame_put_u64(&b, HOST_PONG, three, 3);
	assert_true(host_frame_decode((uint8_t *)b.s, b.len, &f) > 0);
	assert_true(host_frame_u64(&f, v, 3));
	assert_memory_equal(v, three, sizeof(v));
	assert_false(host_frame_u64(&f, v, 2));
	assert_false(host_frame_u32(&f, two, 2));
	strbuf_deinit(&b);
}

static char *args[] = {(char *)"record", (char *)"", (char *)"a 'b'\n", NULL};

TEST(a_request_arrives_as_it_was)
{
	const struct host_request r = {.argv = args,
				       .argc = 3,
				       .output = "x.pftrace",
				       .is_one_of_several = true,
				       .has_config = true,
				       .config = "\0\1",
				       .config_len = 2};
	struct host_request got;
	struct strbuf b = {0};
	struct host_frame f;

	assert_int_equal(host_request_put(&b, &r), 0);
	assert_true(host_frame_decode((uint8_t *)b.s, b.len, &f) > 0);
	assert_int_equal(host_request_decode(f.data, f.len, &got), 0);
	assert_int_equal(got.argc, 3);
	for (int i = 0; i < 3; i++)
		assert_string_equal(got.argv[i], args[i]);
	assert_null(got.argv[3]);
	assert_string_equal(got.output, "x.pftrace");
	assert_true(got.is_one_of_several);
	assert_false(got.has_color);
	assert_int_equal(got.config_len, 2);
	assert_memory_equal(got.config, "\0\1", 2);
	free(got.argv);
	/* Cut anywhere before the config, it is refused. */
	for (size_t len = 0; len < f.len - 2; len++)
		assert_int_equal(host_request_decode(f.data, len, &got), -EBADMSG);
	strbuf_deinit(&b);
}

TEST(a_request_without_a_config_has_nothing_behind_it)
{
	const struct host_request r = {.argv = args, .argc = 1, .output = "x"};
	struct host_request got;
	struct strbuf b = {0};

	assert_int_equal(host_request_put(&b, &r), 0);
	strbuf_putc(&b, 'x');
	assert_int_equal(host_request_decode((uint8_t *)b.s + HOST_FRAME_HEAD,
					     b.len - HOST_FRAME_HEAD, &got),
			 -EBADMSG);
	strbuf_deinit(&b);
}

TEST(a_request_that_does_not_fit_is_not_sent)
{
	char *large = calloc(1, HOST_FRAME_MAX);
	const struct host_request r = {.argv = args,
				       .argc = 1,
				       .output = "x",
				       .config = large,
				       .config_len = HOST_FRAME_MAX};
	struct strbuf b = {0};

	assert_int_equal(host_request_put(&b, &r), -E2BIG);
	assert_int_equal(b.len, 0);
	free(large);
}

TEST(lines_and_frames_share_a_stream)
{
	struct host_stream s = {0};
	struct host_frame f;
	int ends[2];

	assert_int_equal(pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
	s.in = ends[0];
	s.out = ends[1];
	assert_int_equal(host_stream_receive(&s), 1);
	assert_null(host_stream_next_line(&s));
	strbuf_puts(&s.to_send, "one\n\ntw");
	assert_int_equal(host_stream_send(&s), 0);
	assert_int_equal(host_stream_waiting(&s), 0);
	assert_int_equal(host_stream_receive(&s), 1);
	assert_string_equal(host_stream_next_line(&s), "one");
	assert_string_equal(host_stream_next_line(&s), "");
	assert_null(host_stream_next_line(&s));
	strbuf_puts(&s.to_send, "o\n");
	host_frame_put(&s.to_send, HOST_OUT, "x", 1);
	assert_int_equal(host_stream_send(&s), 0);
	assert_int_equal(host_stream_receive(&s), 1);
	assert_string_equal(host_stream_next_line(&s), "two");
	assert_int_equal(host_stream_next_frame(&s, &f), 1);
	assert_int_equal(f.type, HOST_OUT);
	assert_int_equal(host_stream_next_frame(&s, &f), 0);
	close(ends[1]);
	assert_int_equal(host_stream_receive(&s), 0);
	close(ends[0]);
	host_stream_deinit(&s);
}
