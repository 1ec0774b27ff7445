/* SPDX-License-Identifier: Apache-2.0 */
#include "base/text/json_read.h"
#include "unit/test.h"

static bool is_valid(const char *text)
{
	struct json_reader r;

	json_reader_init(&r, text, strlen(text));
	json_skip(&r);
	return json_end(&r);
}

TEST(texts_are_skipped_if_they_are_valid)
{
	static const char *const good[] = {
		"{}",
		"[]",
		"\"\"",
		"1",
		"-1.5e+3",
		"true",
		" [ 1 , 2 ] ",
		"{\"a\":{\"b\":[[],{}]}}",
		"[\"\\u00e9\\n\\\"\"]",
		"{\"a\":1,\"a\":2}\n",
		"[[1],[2,[3]],{\"x\":[]}]",
	};
	static const char *const bad[] = {
		"",	     "{",	"[",	   "}",		"[1",	 "[1,]",
		"[,1]",	     "[1 2]",	"{\"a\"}", "{\"a\":}",	"{1:2}", "{\"a\":1,}",
		"\"",	     "\"\\x\"", "\"\n\"",  "\"\\u12\"", "{}{}",	 "[1}",
		"{\"a\":1]", "\"\\",	"[]]",	   "@",
	};

	for (size_t i = 0; i < ARRAY_SIZE(good); i++)
		if (!is_valid(good[i]))
			fail_msg("%s", good[i]);
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		if (is_valid(bad[i]))
			fail_msg("%s", bad[i]);
}

TEST(depth_has_a_limit)
{
	char text[2 * 10001];

	for (unsigned depth = 1; depth <= 10000; depth = depth < 100 ? depth + 1 : depth * 10) {
		memset(text, '[', depth);
		memset(text + depth, ']', depth);
		text[2 * depth] = '\0';
		assert_int_equal(is_valid(text), depth <= JSON_DEPTH_MAX);
	}
}

TEST(members_and_strings)
{
	static const char text[] =
		" {\"a\" : \"x\\u00e9\\ud83d\\ude00\\ud83d\", \"long\":\"12345678901234567890\","
		"\"n\":[1,{\"a\":2}], \"z\":\"a\\u0000b\", \"\\u0061b\" :null, "
		"\"a_very_long_key_indeed\":1}";
	char key[16], value[16], all[256] = "";
	struct json_reader r;

	json_reader_init(&r, text, strlen(text));
	assert_true(json_open(&r, '{'));
	while (json_next_member(&r, key, sizeof(key))) {
		strcat(strcat(all, key), "=");
		if (json_take_string(&r, value, sizeof(value)))
			strcat(all, value);
		else
			json_skip(&r);
		strcat(all, ";");
	}
	assert_string_equal(all, "a=x\u00e9\U0001f600?;long=;n=;z=;ab=;=;");
	assert_true(json_end(&r));
}
