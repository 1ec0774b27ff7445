/* SPDX-License-Identifier: Apache-2.0 */

#include "unit/test.h"
#include "config/text_errors.c"

/* Reports the first `what` in text, n bytes of it, and compares. */
static void expect(const char *text, const char *what, size_t n, const char *expected)
{
	struct strbuf out = {0};
	struct text_report r = {"f", text, strlen(text), &out, 0};

	text_report_at(&r, strstr(text, what), n, "bad %s", "thing");
	assert_string_equal(out.s, expected);
	assert_int_equal(r.n_errors, 1);
	strbuf_deinit(&out);
}

TEST(line_column_line_and_caret)
{
	expect("abc", "a", 1, "f:1:1: error: bad thing\n    abc\n    ^\n");
	expect("abc", "b", 2, "f:1:2: error: bad thing\n    abc\n     ^~\n");
	expect("x\nabc\ny", "b", 1, "f:2:2: error: bad thing\n    abc\n     ^\n");
	expect("\n\nabc\n", "abc", 3, "f:3:1: error: bad thing\n    abc\n    ^~~\n");
}

TEST(the_end_of_a_line_and_of_the_text_can_be_pointed_at)
{
	struct strbuf out = {0};
	struct text_report r = {"f", "ab\n", 3, &out, 0};

	text_report_at(&r, r.text + 2, 0, "x");
	text_report_at(&r, r.text + 3, 0, "y");
	assert_string_equal(out.s, "f:1:3: error: x\n    ab\n      ^\n"
				   "f:2:1: error: y\n    \n    ^\n");
	strbuf_clear(&out);
	r = (struct text_report){"f", "", 0, &out, 0};
	text_report_at(&r, r.text, 0, "z");
	assert_string_equal(out.s, "f:1:1: error: z\n    \n    ^\n");
	strbuf_deinit(&out);
}

TEST(carets_end_with_their_line)
{
	expect("'ab\ncd'", "'", 7, "f:1:1: error: bad thing\n    'ab\n    ^~~\n");
	expect("ab\r\ncd", "ab", 2, "f:1:1: error: bad thing\n    ab\n    ^~\n");
}

TEST(tabs_keep_the_caret_in_its_column)
{
	expect("\ta\tbc", "bc", 2, "f:1:4: error: bad thing\n    \ta\tbc\n    \t \t^~\n");
}

TEST(a_character_of_several_bytes_is_one_column_wide)
{
	expect("\xc3\xa4\xe2\x82\xac x", "x", 1,
	       "f:1:7: error: bad thing\n    \xc3\xa4\xe2\x82\xac x\n       ^\n");
	expect("x\xc3\xa4\xc3\xa4y", "x", 5,
	       "f:1:1: error: bad thing\n    x\xc3\xa4\xc3\xa4y\n    ^~~\n");
}

TEST(nothing_of_the_text_reaches_a_terminal_unchecked)
{
	expect("\x1b[2J\x7f\xff\xc2\x9b x", "x", 1,
	       "f:1:10: error: bad thing\n    ?[2J???? x\n             ^\n");
}

TEST(of_a_long_line_a_stretch_is_shown)
{
	char text[400], expected[400];
	size_t at = 200;

	memset(text, 'a', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	text[at] = 'X';
	memset(expected, 'a', 120);
	expected[60] = 'X';
	expected[120] = '\0';
	{
		struct strbuf out = {0}, want = {0};
		struct text_report r = {"f", text, strlen(text), &out, 0};

		text_report_at(&r, text + at, 300, "x");
		strbuf_printf(&want, "f:1:201: error: x\n    ...%s...\n    %*s^", expected, 63, "");
		for (int i = 1; i < 60; i++)
			strbuf_putc(&want, '~');
		strbuf_putc(&want, '\n');
		assert_string_equal(out.s, want.s);
		strbuf_deinit(&out);
		strbuf_deinit(&want);
	}
}

/* Cutting at a number of bytes must not leave half a character at either end. */
TEST(a_stretch_is_cut_between_characters)
{
	char text[512] = "";

	for (int i = 0; i < 50; i++)
		strcat(text, "\xe2\x82\xac");
	strcat(text, "X");
	for (int i = 0; i < 50; i++)
		strcat(text, "\xe2\x82\xac");
	for (int shift = 0; shift < 3; shift++) {
		struct strbuf out = {0};
		struct text_report r = {"f", text, strlen(text), &out, 0};

		text_report_at(&r, strchr(text, 'X'), 1, "x");
		assert_null(strchr(out.s, '?'));
		strbuf_deinit(&out);
		strcat(text, "b"); /* other places to cut */
		memmove(text + 1, text, strlen(text) + 1);
		text[0] = 'a';
	}
}

TEST(a_message_too_long_is_cut)
{
	struct strbuf out = {0};
	struct text_report r = {"f", "a", 1, &out, 0};
	char word[3000];

	memset(word, 'w', sizeof(word) - 1);
	word[sizeof(word) - 1] = '\0';
	text_report_at(&r, r.text, 1, "%s", word);
	assert_in_range(out.len, 300, 1000);
	assert_non_null(strstr(out.s, "w\n    a\n    ^\n"));
	strbuf_deinit(&out);
}

TEST(lines_are_counted)
{
	struct text_report r = {"f", "a\nb\n\nc", 6, NULL, 0};

	assert_int_equal(text_report_line(&r, r.text), 1);
	assert_int_equal(text_report_line(&r, r.text + 1), 1);
	assert_int_equal(text_report_line(&r, r.text + 2), 2);
	assert_int_equal(text_report_line(&r, r.text + 5), 4);
	assert_int_equal(text_report_line(&r, r.text + 6), 4);
}
