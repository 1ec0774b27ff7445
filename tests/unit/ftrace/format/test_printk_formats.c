/* SPDX-License-Identifier: Apache-2.0 */
#include "ftrace/format/printk_formats.h"
#include "unit/test.h"

static struct printk_formats m;

static void assert_text(uint64_t addr, const char *text)
{
	const struct printk_format *e = printk_formats_find(&m, addr);

	assert_non_null(e);
	assert_int_equal(e->len, strlen(text));
	assert_memory_equal(m.text + e->at, text, e->len);
}

TEST(lines_in_any_order)
{
	assert_int_equal(printk_formats_parse(&m, "0xffffffff828195af : \"thaw_processes\"\n"
						  "0xffffffff8281a3e9 : \"say \\\"hi\\\"\\n\\o/\"\n"
						  "0x10 : \"\"\n"
						  "0xffffffff828195af : \"thaw_processes\"\n"
						  "0x0f : \"no line end\""),
			 0);
	assert_int_equal(m.n, 5);
	assert_text(0xffffffff828195af, "thaw_processes");
	assert_text(0xffffffff8281a3e9, "say \"hi\"\n\\o/");
	assert_text(0x10, "");
	assert_text(0x0f, "no line end");
	assert_int_equal(m.max_len, 14);
	assert_null(printk_formats_find(&m, 0xffffffff828195b0));
	assert_null(printk_formats_find(&m, 0));
	printk_formats_deinit(&m);
}

/* The kernel does not escape a backslash of the text's own. */
TEST(backslashes)
{
	assert_int_equal(printk_formats_parse(&m, "0x1 : \"C:\\dir\\\\x\"\n"
						  "0x2 : \"tab\\tquote\\\"\"\n"
						  "0x3 : \"at the end\\\"\n"
						  "0x4 : \"\\\\n\"\n"
						  "0x5 : \"a \" inside\"\n"),
			 0);
	assert_text(1, "C:\\dir\\\\x");
	assert_text(2, "tab\tquote\"");
	assert_text(3, "at the end\\");
	assert_text(4, "\\\n");
	assert_text(5, "a \" inside");
	printk_formats_deinit(&m);
}

TEST(lines_of_another_form)
{
	assert_int_equal(printk_formats_parse(&m, "\n"
						  "hello\n"
						  "0x1\n"
						  "0x2 : text\n"
						  "0x3 : \"open\n"
						  "0x4 : \"open and escaped\\\n"
						  "0x5 : \"open to the end\\"),
			 0);
	assert_int_equal(m.n, 0);
	assert_null(printk_formats_find(&m, 3));
	printk_formats_deinit(&m);
	assert_int_equal(printk_formats_parse(&m, ""), 0);
	assert_null(printk_formats_find(&m, 0));
	printk_formats_deinit(&m);
}
