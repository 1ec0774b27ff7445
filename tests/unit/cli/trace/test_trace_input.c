/* SPDX-License-Identifier: Apache-2.0 */
#include <fcntl.h>
#include <unistd.h>

#include "base/core/clock.h"
#include "base/text/str.h"
#include "cli/trace/trace_input.h"
#include "unit/temp_dir.h"
#include "unit/test.h"

#define DIR_TEST(name) TEST_WITH(name, temp_dir_setup, temp_dir_teardown)

static const char *file_of(void **state, const void *data, size_t len)
{
	const char *path = temp_dir_path(state, 0, "x");
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, data, len), len);
	close(fd);
	return path;
}

DIR_TEST(names_what_is_no_trace)
{
	static const struct {
		const char *data;
		size_t len;
		const char *says;
	} cases[] = {
		{"", 0, " is empty"},
		{"\x1f\x8b\x08", 3, " is compressed with gzip; run: gunzip -k "},
		{"\x28\xb5\x2f\xfd", 4, " is compressed with zstd; run: unzstd "},
		{"buffers {\r\n\tsize_kb: 1 }\n", 24,
		 " is text, not a Perfetto trace; if it is a "},
		{"text\0", 5, " is not a Perfetto trace"},
		{"\n\nbuffers {", 11, " is text, not a Perfetto trace; if it is a "},
		{"\n{\"traceEvents\":[]}", 19,
		 " is text, not a Perfetto trace: it looks like JSON from Chrome's"},
		{"[{\"ph\":\"X\"}]", 12, " is text, not a Perfetto trace: it looks like JSON"},
		{"\n# tracer: nop\n", 15,
		 " is text, not a Perfetto trace: it looks like text from ftrace or systrace"},
		{"<!DOCTYPE html>", 15,
		 " is text, not a Perfetto trace: it looks like HTML from systrace"},
		{"\xff\xfe", 2, " is text, not"}, /* not ASCII, but no control character */
	};
	struct err_text e;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const char *path = file_of(state, cases[i].data, cases[i].len);

		assert_false(trace_input_is_trace(path));
		assert_int_equal(trace_input_explain(path, &e), -EBADMSG);
		if (!str_starts(e.text, path) || !str_starts(e.text + strlen(path), cases[i].says))
			fail_msg("%zu: %s", i, e.text);
	}
	assert_int_equal(trace_input_explain("/nonexistent", &e), -EBADMSG);
	assert_string_equal(e.text, "/nonexistent is not a Perfetto trace");
}

DIR_TEST(a_trace_begins_with_a_whole_packet)
{
	/* timestamp: 1; the second record does not matter */
	assert_true(trace_input_is_trace(file_of(state, "\x0a\x02\x40\x01\xff", 5)));
	assert_false(trace_input_is_trace(file_of(state, "\x0a\x03\x40\x01", 4)));
	assert_false(trace_input_is_trace(file_of(state, "\x0a\x02\x40\xff", 4)));
	assert_false(trace_input_is_trace(file_of(state, "\x12\x02\x40\x01", 4)));
	assert_false(trace_input_is_trace("/dev/zero"));
}

DIR_TEST(an_output_that_is_the_input)
{
	const char *in = file_of(state, "x", 1), *link = temp_dir_path(state, 1, "link");
	const char *other = temp_dir_path(state, 2, "other");

	assert_true(trace_input_is_output(in, in));
	assert_false(trace_input_is_output(in, other));
	assert_int_equal(symlink(in, link), 0);
	assert_true(trace_input_is_output(in, link));
	assert_false(trace_input_is_output("-", "-"));
	assert_false(trace_input_is_output("/dev/null", "/dev/null"));
}

TEST(times_in_a_trace)
{
	static const struct {
		const char *text;
		int64_t ns;
	} good[] = {
		{"0", 0},
		{"1.5", 1500 * (int64_t)NS_PER_MS},
		{"2s", 2 * (int64_t)NS_PER_S},
		{"200ms", 200000000},
		{"30us", 30000},
		{"7ns", 7},
		{"1m", 60000000000},
		{"1h", 3600000000000},
	};
	static const char *const bad[] = {"", "soon", "-1", "1x", "1 s", "1e9", "nan", "inf"};
	struct err_text e;
	int64_t ns;

	for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
		assert_int_equal(trace_input_parse_time("--to", good[i].text, 0, &ns, &e), 0);
		assert_int_equal(ns, good[i].ns);
	}
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		assert_int_equal(trace_input_parse_time("--to", bad[i], 0, &ns, &e), -EINVAL);
		assert_true(str_starts(e.text, "--to "));
		assert_non_null(strstr(e.text, " is not a time; examples: 1.5, 2s, 200ms"));
	}
	assert_int_equal(trace_input_parse_time("--every", "0", 1, &ns, &e), -EINVAL);
}
