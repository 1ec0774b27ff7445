/* SPDX-License-Identifier: Apache-2.0 */
#include "base/core/mem.h"
#include "base/text/str.h"
#include "unit/test.h"

static void check(const char *text, size_t len, const char *keep, const char *expected)
{
	char s[64];

	memcpy(s, text, len);
	s[len] = '\0';
	str_make_plain(s, len, keep);
	assert_string_equal(s, expected);
	assert_int_equal(strlen(expected), len);
}
#define CHECK(text, expected) check(text, sizeof(text) - 1, "", expected)

TEST(what_people_read_stays)
{
	CHECK("", "");
	CHECK("sched/sched_switch ~ !", "sched/sched_switch ~ !");
	CHECK("Gr\xc3\xbc\xc3\x9f", "Gr\xc3\xbc\xc3\x9f");
	CHECK("\xc2\xa0\xdf\xbf", "\xc2\xa0\xdf\xbf"); /* the ends of two bytes */
	CHECK("\xe0\xa0\x80\xed\x9f\xbf\xee\x80\x80\xef\xbf\xbf",
	      "\xe0\xa0\x80\xed\x9f\xbf\xee\x80\x80\xef\xbf\xbf");
	CHECK("\xf0\x90\x80\x80\xf4\x8f\xbf\xbf", "\xf0\x90\x80\x80\xf4\x8f\xbf\xbf");
}

TEST(control_characters_do_not)
{
	CHECK("a\033[2Jb\r\n\t\x7f", "a?[2Jb????");
	check("a\0b", 3, "", "a?b");
	check("a\0b", 3, "\n", "a?b");
	check("a\nb\tc", 5, "\n", "a\nb?c");
	/* The second set, as terminals of UTF-8 and of eight bits know it. */
	CHECK("\xc2\x9b"
	      "2J\xc2\x80\xc2\x9f",
	      "??2J????");
	CHECK("\x9b"
	      "2J",
	      "?2J");
}

/* Nor does what shows text in another order. */
TEST(characters_that_turn_text_do_not)
{
	CHECK("\xe2\x80\xaa\xe2\x80\xae\xe2\x81\xa6\xe2\x81\xa9", "????????????");
	CHECK("\xe2\x80\xa9\xe2\x80\xaf\xe2\x81\xa5\xe2\x81\xaa\xe3\x80\xae",
	      "\xe2\x80\xa9\xe2\x80\xaf\xe2\x81\xa5\xe2\x81\xaa\xe3\x80\xae");
}

TEST(what_is_no_utf8_does_not)
{
	CHECK("\xff\xfe\x80\xbf\xc0\xc1\xf5", "???????");
	CHECK("\xc0\x8a", "??"); /* a newline, written longer than it is */
	CHECK("\xe0\x9f\xbf\xf0\x8f\xbf\xbf", "???????");
	CHECK("\xed\xa0\x80", "???"); /* half of a pair of UTF-16 */
	CHECK("\xf4\x90\x80\x80", "????");
	CHECK("\xc3+\xe2\x82+\xf0\x9f\x98", "?+??+???");
}

/* A name that was cut in the middle of a character. */
TEST(a_character_that_is_cut)
{
	check("x\xe2\x82\xac", 3, "", "x??");
	check("x\xc3\xbc", 2, "", "x?");
}

TEST(words_of_a_command_are_quoted_if_necessary)
{
	static const struct {
		const char *word, *quoted;
	} cases[] = {
		{"trace-1.pftrace", "trace-1.pftrace"},
		{"", "''"},
		{"my trace", "'my trace'"},
		{"~/$(id)", "'~/$(id)'"},
		{"it's", "'it'\\''s'"},
		{"\xc3\xa4", "'\xc3\xa4'"},
		{"a\x1b'\\\xff", "$'a\\x1b\\'\\\\\\xff'"},
	};
	char buf[STR_WORD_SIZE], longer[STR_WORD_SIZE + 1] = {0};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_string_equal(str_word(cases[i].word, buf), cases[i].quoted);
	memset(longer, 'a', STR_WORD_SIZE);
	assert_string_equal(str_word(longer, buf), "FILE");
}

TEST(json_strings_have_escapes)
{
	struct strbuf b = {0};

	strbuf_put_json(&b, "");
	strbuf_put_json(&b, "a\"b\\c/\n\t\x1b\x7f");
	strbuf_put_json(&b, "\xc3\xa4\xc3\"\xff\xc2\x9b");
	strbuf_put_json(&b, "x\xe2\x80\xaey\xe2\x81\xa6");
	strbuf_put_json_n(&b, "n\0\xc3\xa4", 3);
	assert_false(b.failed);
	assert_string_equal(b.s, "\"\"\"a\\\"b\\\\c/\\n\\u0009\\u001b\\u007f\""
				 "\"\xc3\xa4?\\\"???\"\"x\\u202ey\\u2066\"\"n\\u0000?\"");
	strbuf_deinit(&b);
}

TEST(bytes_in_base64)
{
	static const char *const coded[] = {"", "TQ==", "TWE=", "TWFu", "TWFuIQ=="};
	struct strbuf b = {0};

	for (size_t len = 0; len < ARRAY_SIZE(coded); len++) {
		strbuf_clear(&b);
		strbuf_put_base64(&b, "Man!", len);
		assert_string_equal(b.s, coded[len]);
	}
	strbuf_clear(&b);
	strbuf_put_base64(&b, "\xfb\xff\xbf\x00", 4);
	assert_string_equal(b.s, "+/+/AA==");
	strbuf_deinit(&b);
}
