/* SPDX-License-Identifier: Apache-2.0 */

#include "unit/test.h"
#include "config/text.h"
#include "config/text_lex.h"

/* The tokens as letters: one for the kind, then the text in ( ). */
static void expect_tokens(const char *text, const char *expected)
{
	static const char letters[] = "$wifs.BOX";
	struct strbuf seen = {0};
	struct text_lexer l;
	struct text_token t;

	text_lexer_init(&l, text, strlen(text));
	do {
		t = text_lexer_next(&l);
		strbuf_putc(&seen, letters[t.kind]);
		if (t.kind != TEXT_END)
			strbuf_printf(&seen, "(%.*s)", (int)t.len, t.s);
	} while (t.kind != TEXT_END);
	assert_string_equal(seen.s, expected);
	assert_int_equal(text_lexer_next(&l).kind, TEXT_END);
	strbuf_deinit(&seen);
}

TEST(symbols_and_words_need_no_space)
{
	expect_tokens("a{b_1:<_C>}[,];-",
		      "w(a).({)w(b_1).(:).(<)w(_C).(>).(}).([).(,).(]).(;).(-)$");
	expect_tokens("", "$");
	expect_tokens("  \t\r\n\v\f", "$");
}

TEST(comments_run_to_the_end_of_the_line)
{
	expect_tokens("a#b c\nd", "w(a)w(d)$");
	expect_tokens("#", "$");
	expect_tokens("64#c", "i(64)$");
	expect_tokens("# \x80\x01\n1", "i(1)$");
}

TEST(integers_in_three_bases)
{
	expect_tokens("0 7 10 123456789012345678901234567890",
		      "i(0)i(7)i(10)i(123456789012345678901234567890)$");
	expect_tokens("0x0 0XaF 0xdeadBEEF", "i(0x0)i(0XaF)i(0xdeadBEEF)$");
	expect_tokens("00 007 0777", "i(00)i(007)i(0777)$");
	expect_tokens("-5", ".(-)i(5)$");
}

TEST(floats)
{
	expect_tokens("1. .5 1.5 0.5", "f(1.)f(.5)f(1.5)f(0.5)$");
	expect_tokens("1e5 1E+5 1.e-5 .5e0", "f(1e5)f(1E+5)f(1.e-5)f(.5e0)$");
	expect_tokens("10f 10F 1.5f 1e5f 0f", "f(10f)f(10F)f(1.5f)f(1e5f)f(0f)$");
	expect_tokens("1-2 1e5-2", "i(1).(-)i(2)f(1e5).(-)i(2)$");
	expect_tokens(".", ".(.)$");
	expect_tokens("0x1e+5", "i(0x1e).(+)i(5)$");
}

TEST(what_only_begins_as_a_number_is_one_wrong_number)
{
	expect_tokens("64kb 1_000 5s", "B(64kb)B(1_000)B(5s)$");
	expect_tokens("0x 0xg 09 08.5 00.5", "B(0x)B(0xg)B(09)B(08.5)B(00.5)$");
	expect_tokens("1.2.3 1..2 1e 1e+ 1ee5 1ff 1fe5 1e5.0",
		      "B(1.2.3)B(1..2)B(1e)B(1e+)B(1ee5)B(1ff)B(1fe5)B(1e5.0)$");
	expect_tokens("0x1.5 0x1p3", "B(0x1.5)B(0x1p3)$");
}

TEST(strings_end_at_their_own_quote)
{
	expect_tokens("'a\"b'\"c'd\"", "s('a\"b')s(\"c'd\")$");
	expect_tokens("\"\\\"\" x", "s(\"\\\"\")w(x)$");
	expect_tokens("\"\\\\\"x", "s(\"\\\\\")w(x)$");
	expect_tokens("'a\nb'", "s('a\nb')$");
	expect_tokens("'# no comment'", "s('# no comment')$");
}

TEST(an_open_string_ends_with_its_first_line)
{
	expect_tokens("a 'b c\nd e", "w(a)O('b c)w(d)w(e)$");
	expect_tokens("\"", "O(\")$");
	expect_tokens("'\\'", "O('\\')$");
	expect_tokens("'\\", "O('\\)$");
}

TEST(a_nul_ends_no_text_but_a_string)
{
	static const char text[] = "a\0'b\0c'";
	static const enum text_token_kind kinds[] = {TEXT_WORD, TEXT_BAD_BYTES, TEXT_OPEN_STRING,
						     TEXT_END};
	struct text_lexer l;

	text_lexer_init(&l, text, sizeof(text) - 1);
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
		assert_int_equal(text_lexer_next(&l).kind, kinds[i]);
}

TEST(bytes_without_meaning_come_in_runs)
{
	expect_tokens("a\x01\x02 caf\xc3\xa9:\xff{",
		      "w(a)X(\x01\x02)w(caf)X(\xc3\xa9).(:)X(\xff).({)$");
	expect_tokens("\x7f", "X(\x7f)$");
}

TEST(a_byte_order_mark_is_passed_over_at_the_start_only)
{
	expect_tokens("\xef\xbb\xbf"
		      "a",
		      "w(a)$");
	expect_tokens("a \xef\xbb\xbf", "w(a)X(\xef\xbb\xbf)$");
	expect_tokens("\xef\xbb", "X(\xef\xbb)$");
}

TEST(text_is_told_from_serialized_messages)
{
	assert_true(text_looks_like("", 0));
	assert_true(text_looks_like("buffers {\r\n\tsize_kb: 1 # \xc3\xa4\n}\n", 30));
	assert_false(text_looks_like("\x0a\x02\x08\x40", 4)); /* buffers { size_kb: 64 } */
	assert_false(text_looks_like("\x18\x7f", 2)); /* duration_ms: 127 */
	assert_false(text_looks_like("abc\0", 4));
	assert_false(text_looks_like("abc\xff", 4));
	assert_false(text_looks_like("abc\xc3", 4));
	assert_false(text_looks_like("\x1b[2J", 4));
}
