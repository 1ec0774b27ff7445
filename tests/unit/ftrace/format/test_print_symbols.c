// SPDX-License-Identifier: Apache-2.0
#include "unit/test.h"
#include "ftrace/format/event_format.h"

TEST(test_formats_of_the_kernel)
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

TEST(test_texts_that_are_cut_or_none)
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
