/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "base/core/mem.h"
#include "base/text/str.h"

static void starts_empty_and_costs_nothing(void **state)
{
	struct strbuf b = {0};

	(void)state;
	assert_null(b.s);
	strbuf_deinit(&b);
	strbuf_clear(&b);
	strbuf_deinit(&b);
}

static void is_terminated_after_every_step(void **state)
{
	_cleanup_(strbuf_deinit) struct strbuf b = {0};

	(void)state;
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
static void printf_of_any_length_is_whole(void **state)
{
	char want[700];

	(void)state;
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

static void add_keeps_bytes_of_any_value(void **state)
{
	_cleanup_(strbuf_deinit) struct strbuf b = {0};
	char all[256];

	(void)state;
	for (int i = 0; i < 256; i++)
		all[i] = (char)i;
	for (int i = 0; i < 20; i++)
		strbuf_add(&b, all, sizeof(all));
	assert_int_equal(b.len, 20 * sizeof(all));
	for (int i = 0; i < 20; i++)
		assert_memory_equal(b.s + (size_t)i * sizeof(all), all, sizeof(all));
}

static void reserve_gives_room_behind_the_content(void **state)
{
	_cleanup_(strbuf_deinit) struct strbuf b = {0};
	char *to;

	(void)state;
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

static void failure_is_sticky_and_keeps_what_there_was(void **state)
{
	_cleanup_(strbuf_deinit) struct strbuf b = {0};

	(void)state;
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

static void take_empties_the_buffer(void **state)
{
	_cleanup_(strbuf_deinit) struct strbuf b = {0};
	_cleanup_(freep) char *first = NULL, *second = NULL;

	(void)state;
	strbuf_puts(&b, "mine");
	first = strbuf_take(&b);
	assert_string_equal(first, "mine");
	assert_null(b.s);
	assert_int_equal(b.len, 0);
	second = strbuf_take(&b);
	assert_string_equal(second, "");
}

static void starts_and_ends(void **state)
{
	(void)state;
	assert_true(str_starts("sched_switch", "sched"));
	assert_true(str_starts("x", ""));
	assert_true(str_starts("", ""));
	assert_false(str_starts("sch", "sched"));
	assert_true(str_ends("a.pftrace", ".pftrace"));
	assert_true(str_ends("x", ""));
	assert_false(str_ends("race", "trace"));
	assert_false(str_ends("traced", "trace"));
}

static void glob_matches_whole_names(void **state)
{
	(void)state;
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(starts_empty_and_costs_nothing),
		cmocka_unit_test(is_terminated_after_every_step),
		cmocka_unit_test(printf_of_any_length_is_whole),
		cmocka_unit_test(add_keeps_bytes_of_any_value),
		cmocka_unit_test(reserve_gives_room_behind_the_content),
		cmocka_unit_test(failure_is_sticky_and_keeps_what_there_was),
		cmocka_unit_test(take_empties_the_buffer),
		cmocka_unit_test(starts_and_ends),
		cmocka_unit_test(glob_matches_whole_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
