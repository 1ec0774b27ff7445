/* SPDX-License-Identifier: Apache-2.0 */

#include "base/text/str.h"
#include "unit/test.h"

TEST(starts_empty_and_costs_nothing)
{
	struct strbuf b = {0};

	assert_null(b.s);
	strbuf_deinit(&b);
	strbuf_clear(&b);
	strbuf_deinit(&b);
}

TEST(is_terminated_after_every_step)
{
	_cleanup_(strbuf_deinit) struct strbuf b = {0};

	strbuf_puts(&b, "");
	assert_string_equal(b.s, "");
	strbuf_puts(&b, "ab");
	assert_string_equal(b.s, "ab");
	strbuf_putc(&b, 'c');
	assert_string_equal(b.s, "abc");
	strbuf_add(&b, "defg", 2);
	assert_string_equal(b.s, "abcde");
	strbuf_printf(&b, "-%d-%s", 42, "x");
	assert_string_equal(b.s, "abcde-42-x");
	assert_int_equal(b.len, 10);
	strbuf_add(&b, NULL, 0);
	assert_string_equal(b.s, "abcde-42-x");
	strbuf_clear(&b);
	assert_string_equal(b.s, "");
	assert_int_equal(b.len, 0);
}

/* Every length around the places where the buffer grows. */
TEST(printf_of_any_length_is_whole)
{
	char want[700];

	for (size_t before = 0; before < 70; before += 23)
		for (size_t n = 0; n < 300; n++) {
			_cleanup_(strbuf_deinit) struct strbuf b = {0};

			memset(want, 'b', before);
			memset(want + before, 'x', n);
			want[before + n] = '\0';
			for (size_t i = 0; i < before; i++)
				strbuf_putc(&b, 'b');
			strbuf_printf(&b, "%s", want + before);
			assert_false(b.failed);
			assert_string_equal(b.s ? b.s : "", want);
			assert_int_equal(b.len, before + n);
		}
}

TEST(add_keeps_bytes_of_any_value)
{
	_cleanup_(strbuf_deinit) struct strbuf b = {0};
	char all[256];

	for (int i = 0; i < 256; i++)
		all[i] = (char)i;
	for (int i = 0; i < 20; i++)
		strbuf_add(&b, all, sizeof(all));
	assert_int_equal(b.len, 20 * sizeof(all));
	for (int i = 0; i < 20; i++)
		assert_memory_equal(b.s + (size_t)i * sizeof(all), all, sizeof(all));
}

TEST(reserve_gives_room_behind_the_content)
{
	_cleanup_(strbuf_deinit) struct strbuf b = {0};
	char *to;

	strbuf_puts(&b, "head ");
	to = strbuf_reserve(&b, 1000);
	assert_non_null(to);
	assert_ptr_equal(to, b.s + 5);
	memset(to, 'z', 1000);
	b.len += 1000;
	b.s[b.len] = '\0';
	strbuf_puts(&b, " tail");
	assert_int_equal(b.len, 1010);
	assert_string_equal(b.s + 1005, " tail");
}

TEST(failure_is_sticky_and_keeps_what_there_was)
{
	_cleanup_(strbuf_deinit) struct strbuf b = {0};

	strbuf_puts(&b, "kept");
	assert_null(strbuf_reserve(&b, SIZE_MAX));
	assert_true(b.failed);
	strbuf_puts(&b, "not added");
	strbuf_printf(&b, "%d", 1);
	assert_string_equal(b.s, "kept");
	assert_null(strbuf_take(&b));
	assert_false(b.failed);
	assert_null(b.s);
}

TEST(take_empties_the_buffer)
{
	_cleanup_(strbuf_deinit) struct strbuf b = {0};
	_cleanup_(freep) char *first = NULL, *second = NULL;

	strbuf_puts(&b, "mine");
	first = strbuf_take(&b);
	assert_string_equal(first, "mine");
	assert_null(b.s);
	assert_int_equal(b.len, 0);
	second = strbuf_take(&b);
	assert_string_equal(second, "");
}

TEST(starts_and_ends)
{
	assert_true(str_starts("sched_switch", "sched"));
	assert_true(str_starts("x", ""));
	assert_true(str_starts("", ""));
	assert_false(str_starts("sch", "sched"));
	assert_true(str_ends("a.pftrace", ".pftrace"));
	assert_true(str_ends("x", ""));
	assert_false(str_ends("race", "trace"));
	assert_false(str_ends("traced", "trace"));
}

TEST(glob_matches_whole_names)
{
	assert_true(str_glob("*", ""));
	assert_true(str_glob("sched_*", "sched_switch"));
	assert_false(str_glob("sched_*", "x_sched_switch"));
	assert_true(str_glob("irq/*", "irq/softirq_entry"));
	assert_true(str_glob("*", "a/b"));
	assert_true(str_glob("*", ".hidden"));
	assert_true(str_glob("sys_?nter", "sys_enter"));
	assert_true(str_glob("[ab]x", "bx"));
	assert_false(str_glob("[ab]x", "cx"));
	assert_false(str_glob("a", "A"));
}

TEST(printable_characters)
{
	assert_int_equal(str_printable_len(" ", 1), 1);
	assert_int_equal(str_printable_len("~", 1), 1);
	assert_int_equal(str_printable_len("\x7f", 1), 0);
	assert_int_equal(str_printable_len("\n", 1), 0);
	assert_int_equal(str_printable_len("\0", 1), 0);
	assert_int_equal(str_printable_len("\xc2\x9f", 2), 0); /* a control character of Latin 1 */
	assert_int_equal(str_printable_len("\xc2\xa0", 2), 2);
	assert_int_equal(str_printable_len("\xc3", 1), 0); /* cut */
	assert_int_equal(str_printable_len("\xc3(", 2), 0);
	assert_int_equal(str_printable_len("\xc1\xbf", 2), 0); /* longer than needed */
	assert_int_equal(str_printable_len("\xe0\x9f\xbf", 3), 0);
	assert_int_equal(str_printable_len("\xe0\xa0\x80", 3), 3);
	assert_int_equal(str_printable_len("\xed\x9f\xbf", 3), 3);
	assert_int_equal(str_printable_len("\xed\xa0\x80", 3), 0); /* a surrogate */
	assert_int_equal(str_printable_len("\xee\x80\x80", 3), 3);
	assert_int_equal(str_printable_len("\xf0\x8f\xbf\xbf", 4), 0);
	assert_int_equal(str_printable_len("\xf0\x90\x80\x80", 4), 4);
	assert_int_equal(str_printable_len("\xf4\x8f\xbf\xbf", 4), 4);
	assert_int_equal(str_printable_len("\xf4\x90\x80\x80", 4), 0); /* above U+10FFFF */
	assert_int_equal(str_printable_len("\xf8\x90\x80\x80\x80", 5), 0);
	assert_int_equal(str_printable_len("\x80", 1), 0);
}
