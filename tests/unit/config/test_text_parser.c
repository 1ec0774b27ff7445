/* SPDX-License-Identifier: Apache-2.0 */

#include "unit/test.h"
#include "config/text.h"
#include "config/text_errors.h"

TEST(the_next_token_waits_to_be_read)
{
	struct strbuf errors = {0};
	struct text_parser p;

	text_parser_init(&p, "f", "a: 5", 4, &errors);
	assert_int_equal(p.token.kind, TEXT_WORD);
	text_parser_advance(&p);
	assert_true(text_token_is(&p.token, ':'));
	text_parser_advance(&p);
	assert_int_equal(p.token.kind, TEXT_INTEGER);
	text_parser_advance(&p);
	assert_int_equal(p.token.kind, TEXT_END);
	text_parser_advance(&p);
	assert_int_equal(p.token.kind, TEXT_END);
	assert_int_equal(errors.len, 0);
	strbuf_deinit(&errors);
}

TEST(the_end_lies_behind_the_last_token)
{
	static const char text[] = "abc  # comment\n\n";
	struct strbuf errors = {0};
	struct text_parser p;

	text_parser_init(&p, "f", text, strlen(text), &errors);
	text_parser_advance(&p);
	assert_int_equal(p.token.kind, TEXT_END);
	assert_ptr_equal(p.token.s, text + 3);
	text_parser_advance(&p);
	assert_ptr_equal(p.token.s, text + 3);
	strbuf_deinit(&errors);
}

TEST(bytes_without_meaning_are_told_and_passed_over)
{
	static const char text[] = "\x01 a \xc3\xa4\n\x02\x03";
	struct strbuf errors = {0};
	struct text_parser p;

	text_parser_init(&p, "f", text, strlen(text), &errors);
	assert_int_equal(p.token.kind, TEXT_WORD);
	assert_int_equal(p.report.n_errors, 1);
	text_parser_advance(&p);
	assert_int_equal(p.token.kind, TEXT_END);
	assert_int_equal(p.report.n_errors, 3);
	assert_non_null(strstr(errors.s, "f:1:1: error: control character 0x01"));
	assert_non_null(strstr(errors.s, "f:1:5: error: characters other than ASCII"));
	assert_non_null(strstr(errors.s, "f:2:1: error: control character 0x02"));
	strbuf_deinit(&errors);
}

TEST(past_the_limit_of_errors_the_text_ends)
{
	struct strbuf errors = {0};
	struct text_parser p;

	text_parser_init(&p, "f", "a b c", 5, &errors);
	for (int i = 0; i < 3 * TEXT_MAX_ERRORS; i++) {
		assert_int_equal(p.token.kind, i < TEXT_MAX_ERRORS ? TEXT_WORD : TEXT_END);
		text_parser_error(&p, p.token.s, 1, "number %d", i);
	}
	assert_int_equal(p.report.n_errors, TEXT_MAX_ERRORS);
	assert_non_null(strstr(errors.s, "number 19"));
	assert_null(strstr(errors.s, "number 20"));
	assert_non_null(strstr(errors.s, "f: error: 20 errors; the rest was not read\n"));
	strbuf_deinit(&errors);
}

TEST(errors_of_the_lexer_count)
{
	char text[2 * 100 + 1];
	struct strbuf errors = {0};
	struct text_parser p;

	for (int i = 0; i < 100; i++)
		memcpy(text + 2 * i, "\x01 ", 3);
	text_parser_init(&p, "f", text, strlen(text), &errors);
	assert_int_equal(p.token.kind, TEXT_END);
	assert_int_equal(p.report.n_errors, TEXT_MAX_ERRORS);
	strbuf_deinit(&errors);
}

TEST(without_memory_the_text_ends)
{
	struct strbuf errors = {0};
	struct text_parser p;

	text_parser_init(&p, "f", "a b", 3, &errors);
	text_parser_out_of_memory(&p);
	assert_int_equal(p.token.kind, TEXT_END);
	text_parser_error(&p, p.token.s, 0, "not told");
	assert_int_equal(errors.len, 0);
	strbuf_deinit(&errors);
}

TEST(errors_behind_a_string_of_several_lines_name_its_start)
{
	static const char text[] = "a\n'b\nc' d\ne 'f' g";
	struct strbuf errors = {0};
	struct text_parser p;

	text_parser_init(&p, "f", text, strlen(text), &errors);
	text_parser_error(&p, text, 1, "before");
	text_parser_advance(&p);
	text_parser_error(&p, p.token.s, 1, "itself");
	text_parser_advance(&p);
	text_parser_error(&p, p.token.s, 1, "behind");
	text_parser_advance(&p);
	text_parser_error(&p, p.token.s, 1, "later");
	assert_non_null(strstr(errors.s, "before\n"));
	assert_non_null(strstr(errors.s, "itself\n"));
	assert_non_null(
		strstr(errors.s, "behind (a string that began in line 2 ends in this one)\n"));
	assert_non_null(strstr(errors.s, "later\n"));
	strbuf_deinit(&errors);
}
