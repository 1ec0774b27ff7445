/* SPDX-License-Identifier: Apache-2.0 */
#include <glob.h>

#include "ftrace/format/event_format.h"
#include "unit/ftrace/formats.h"
#include "unit/ftrace/page_set.h"
#include "unit/test.h"

static bool prepare(const char *text)
{
	static char copy[16384];

	snprintf(copy, sizeof(copy), "%s", text);
	return event_format_prepare(copy);
}

static bool prepare_field(const char *line)
{
	return prepare(format_text("x", 1, FORMAT_COMMON, line));
}

TEST(formats_of_recorded_kernels)
{
	glob_t files;

	assert_int_equal(glob("tests/data/ftrace/*/events/*/*/format", 0, NULL, &files), 0);
	assert_true(files.gl_pathc > 30);
	for (size_t i = 0; i < files.gl_pathc; i++) {
		char *text = page_set_read(NULL, "%s", files.gl_pathv[i]);

		assert_true(event_format_prepare(text));
		assert_string_equal(strstr(text, "print fmt"), "print fmt: \"\"");
		free(text);
	}
	globfree(&files);
}

TEST(declarations)
{
	static const char *const good[] = {
		"int a",
		"unsigned int a",
		"char a[16]",
		"char a[]",
		"const char * a",
		"__data_loc char[] a",
		"struct foo * * a",
		"__rel_loc u8 a[]",
		"__rel_loc unsigned long a[]",
		"__rel_loc cpumask_t a",
		"__rel_loc u8 a[12027744]",
		"__rel_loc u8 a[-5]",
		"unsigned char a[-12027744]",
		"u8 a[NR_A]",
		"u8 a[(8 + 2)]",
		"u8 a[2][3]",
		"const char *const * a",
		"void __percpu *a_b1",
		"__data_loc char[][3] a",
	};
	static const char *const bad[] = {
		"",
		"a",
		"int",
		"int *",
		"* a b *",
		"int a[",
		"int a]",
		"[3] a b",
		"int a[x;y]",
		"int (a)",
		"int a, b",
		"int a:3",
		"__data_loc char[][] a",
		"__data_loc char[][3]a",
		"__data_loc char[][n] a",
		"__data_loc char[][3][3] a",
		"__data_loc char[]a",
		"__rel_loc a[]",
		"__rel_loc char * []",
		"__rel_loc char a[][]",
		"__rel_loc char a[3] b",
		"__data_loc char[3] a",
		"__data_loc char[][3",
		"int a\tb",
		"int a[[3]",
		"int a\"",
		"int \x80 a",
		"int a=1",
	};
	char line[128];

	for (unsigned i = 0; i < ARRAY_SIZE(good); i++) {
		snprintf(line, sizeof(line), "\tfield:%s;\toffset:8;\tsize:4;\tsigned:0;\n",
			 good[i]);
		assert_true(prepare_field(line));
	}
	for (unsigned i = 0; i < ARRAY_SIZE(bad); i++) {
		snprintf(line, sizeof(line), "\tfield:%s;\toffset:8;\tsize:4;\tsigned:0;\n",
			 bad[i]);
		assert_false(prepare_field(line));
	}
}

TEST(the_count_of_an_array_of_strings_is_blanked)
{
	char *text =
		format_text("x", 1, FORMAT_COMMON,
			    FIELD("__data_loc char[][12] a", 8, 48, 1) FIELD("int b", 56, 4, 1));

	assert_true(event_format_prepare(text));
	assert_non_null(strstr(text, "\tfield:__data_loc char[]     a;\toffset:8;\tsize:48;"));
}

TEST(the_bounds_of_a_relative_array_are_moved)
{
	char *text = format_text("x", 1, FORMAT_COMMON,
				 FIELD("__rel_loc unsigned long name_1[]", 8, 4, 0)
					 FIELD("__rel_loc u8 c[-123]", 16, 4, 0)
						 FIELD("int b", 12, 4, 1));

	assert_true(event_format_prepare(text));
	assert_non_null(strstr(text, "\tfield:__rel_loc unsigned long[] name_1;\toffset:8;"));
	assert_non_null(strstr(text, "\tfield:__rel_loc u8[] c    ;\toffset:16;"));
}

TEST(dots_in_a_name)
{
	char *text = format_text("mine.0.1", 1, FORMAT_COMMON, FIELD("int b", 8, 4, 1));

	assert_true(event_format_prepare(text));
	assert_non_null(strstr(text, "name: mine_0_1\n"));
	assert_false(event_format_prepare(format_text(".mine", 1, FORMAT_COMMON, "")));
	assert_false(event_format_prepare(format_text("mine..0", 1, FORMAT_COMMON, "")));
	assert_false(event_format_prepare(format_text("mine.", 1, FORMAT_COMMON, "")));
}

TEST(lines)
{
	static const char *const bad[] = {
		"\tfield:int a;\toffset:8;\tsize:4;\n",
		"\tfield:int a;\toffset:8;\tsize:4;\tsigned:2;\n",
		"\tfield:int a;\toffset:-8;\tsize:4;\tsigned:0;\n",
		"\tfield:int a;\toffset:;\tsize:4;\tsigned:0;\n",
		"\tfield:int a;\toffset:8;\tsize:1234567890;\tsigned:0;\n",
		"\tfield:int a;\tsize:4;\toffset:8;\tsigned:0;\n",
		"field:int a;\toffset:8;\tsize:4;\tsigned:0;\n",
		"\tdlief:int a;\toffset:8;\tsize:4;\tsigned:0;\n",
		"\n\n",
	};

	assert_true(prepare_field(FIELD("int a", 8, 4, 1)));
	assert_true(prepare_field(""));
	for (unsigned i = 0; i < ARRAY_SIZE(bad); i++)
		assert_false(prepare_field(bad[i]));
}

TEST(the_frame)
{
	char *text = format_text("x", 1, FORMAT_COMMON, FIELD("int a", 8, 4, 1));
	size_t least = (size_t)(strstr(text, "print fmt: ") - text) + strlen("print fmt: \"\"");

	for (size_t len = strlen(text); len-- > 0;) {
		text[len] = '\0';
		assert_int_equal(prepare(text), len >= least);
	}
	assert_false(prepare("name: x y\nID: 1\nformat:\n\nprint fmt: \"\""));
	assert_true(prepare("name: x\nID: 1\nformat:\n\nprint fmt: \"\""));
	assert_true(prepare("name: x\nID: 1\nformat:\n\nprint fmt: \"\"\n"));
	assert_false(prepare("name: x\nID: 1\nformat:\n\nprint fmt:"));
	assert_false(prepare("name: x\nID: 1\nformat:\nprint fmt: \"\"\n"));
	assert_false(prepare("name: x\nID: -1\nformat:\n\nprint fmt: \"\"\n"));
	assert_false(prepare("name: \nID: 1\nformat:\n\nprint fmt: \"\"\n"));
	assert_false(prepare(" name: x\nID: 1\nformat:\n\nprint fmt: \"\"\n"));
}

/* ---- names of values ---- */

static const char *names_of(const char *print_fmt, const char *field)
{
	struct event_format_names n = {.at = NULL};
	static char text[200];
	size_t len = 0;

	text[0] = '\0';
	while (event_format_next_name(print_fmt, field, &n))
		len += (size_t)snprintf(text + len, sizeof(text) - len, "%lld=%.*s ",
					(long long)n.value, (int)n.len, n.name);
	return text;
}

TEST(names_of_values)
{
	static const char fmt[] = "\"%s %s\", REC->a ? __print_symbolic(REC->a, {B, \"X\"}, { 7, "
				  "\"Y\" }) : \"U\", __print_symbolic((int)REC->ab, { 1, \"one\" }"
				  ", { -2, \"a \\\"b\\\", }\" }), REC->c";

	assert_string_equal(names_of(fmt, "a"), "7=Y ");
	assert_string_equal(names_of(fmt, "ab"), "1=one -2=a \\\"b\\\", } ");
	assert_string_equal(names_of(fmt, "c"), "");
	/* Cut anywhere, the text ends the walk. */
	for (size_t len = 0; len < strlen(fmt); len++) {
		char *cut = strndup(fmt, len);

		names_of(cut, "a");
		names_of(cut, "ab");
		free(cut);
	}
	assert_string_equal(names_of("\"\", __print_symbolic(REC->a, { 1, \"x", "a"), "");
	assert_string_equal(
		names_of("\"\", __print_symbolic(REC->a, { 99999999999999999999, \"x\" })", "a"),
		"");
}

/* ---- which fields the kernel prints as functions ---- */

TEST(functions_in_formats_of_the_kernel)
{
	static const struct {
		const char *fmt, *field;
		bool has;
	} rows[] = {
		/* workqueue_execute_start */
		{" \"work struct %p: function %ps\", REC->work, REC->function", "function", true},
		{" \"work struct %p: function %ps\", REC->work, REC->function", "work", false},
		/* xfs_buf_init, shortened: other expressions of many parts before it */
		{" \"dev %d:%d flags %s bufops %pS caller %pS\", ((unsigned int) ((REC->dev) >> "
		 "20)),"
		 " ((unsigned int) ((REC->dev) & ((1U << 20) - 1))), __print_flags(REC->flags, "
		 "\"|\","
		 " { (1u << 0), \"READ, all\" }, { 2, \"WRITE\" }), REC->buf_ops, (void "
		 "*)REC->caller_ip\n",
		 "caller_ip", true},
		{" \"dev %d:%d flags %s bufops %pS caller %pS\", ((unsigned int) ((REC->dev) >> "
		 "20)),"
		 " ((unsigned int) ((REC->dev) & ((1U << 20) - 1))), __print_flags(REC->flags, "
		 "\"|\","
		 " { (1u << 0), \"READ, all\" }, { 2, \"WRITE\" }), REC->buf_ops, (void "
		 "*)REC->caller_ip\n",
		 "flags", false},
		/* kernel_stack: literals one after another */
		{"\"\\t=> %ps\\n\" \"\\t=> %ps\\n\", (void *)REC->a, (void *)REC->b", "b", true},
		/* Widths, precisions and asterisks. */
		{" \"%-16s %08lx %.*s %*d %pB\", REC->a, REC->b, 3, REC->c, 4, REC->d, REC->e", "e",
		 true},
		{" \"100%% %hhd %ps\", REC->a, REC->b", "b", true},
		{" \"100%% %hhd %ps\", REC->a, REC->b", "a", false},
		/* A longer name is another one; two fields are none. */
		{" \"%ps\", REC->ip_of", "ip", false},
		{" \"%ps\", REC->ip", "ip_of", false},
		{" \"%ps\", (void *)(REC->base + REC->ip)", "base", false},
		{" \"%ps\", (void *)(REC->base + REC->ip)", "ip", false},
		{" \"%p\", REC->ip", "ip", false},
		{" \"%pI4\", REC->ip", "ip", false},
		{" \"%s\", REC->ip", "ip", false},
	};

	for (unsigned i = 0; i < ARRAY_SIZE(rows); i++)
		if (event_format_prints_symbols(rows[i].fmt, rows[i].field) != rows[i].has)
			fail_msg("row %u", i);
}

TEST(print_formats_that_are_cut)
{
	static const char whole[] =
		" \"a %-5d \\\" %ps %pS\", __print_symbolic(REC->a, {'(', \")\"}), REC->b, REC->c";
	char cut[sizeof(whole)];

	assert_true(event_format_prints_symbols(whole, "b"));
	assert_true(event_format_prints_symbols(whole, "c"));
	for (size_t i = 0; i < sizeof(whole); i++) {
		memcpy(cut, whole, i);
		cut[i] = '\0';
		event_format_prints_symbols(cut, "c");
	}
	assert_false(event_format_prints_symbols("", "a"));
	assert_false(event_format_prints_symbols(" (void *)0", "a"));
	assert_false(event_format_prints_symbols(" \"%ps\"", "a"));
	assert_false(event_format_prints_symbols(" \"%", "a"));
	assert_false(event_format_prints_symbols(" \"%p", "a"));
}
