/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "procfs/process_cache.h"

static struct process_cache cache;

static int teardown(void **state)
{
	(void)state;
	process_cache_deinit(&cache);
	return 0;
}

static struct process_counters of(uint64_t size, uint64_t rss)
{
	struct process_counters c = {.has = 1u << COUNTER_VM_SIZE | 1u << COUNTER_VM_RSS};

	c.v[COUNTER_VM_SIZE] = size;
	c.v[COUNTER_VM_RSS] = rss;
	return c;
}

static uint32_t look_and_put(int32_t pid, struct process_counters now)
{
	uint32_t changed = process_cache_changed(&cache, pid, &now);

	process_cache_put(&cache, pid, &now);
	return changed;
}

static void what_changed_since_the_last_pass(void **state)
{
	const uint32_t size = 1u << COUNTER_VM_SIZE, rss = 1u << COUNTER_VM_RSS;
	struct process_counters more = of(1, 2);

	(void)state;
	assert_int_equal(look_and_put(5, of(1, 2)), size | rss);
	assert_int_equal(look_and_put(9, of(0, 0)), size | rss); /* zero is news as well */
	process_cache_turn(&cache);
	assert_int_equal(look_and_put(5, of(1, 3)), rss);
	assert_int_equal(look_and_put(9, of(0, 0)), 0);
	process_cache_turn(&cache);
	/* Against the last pass, not the one before. */
	assert_int_equal(look_and_put(5, of(1, 2)), rss);
	process_cache_turn(&cache);
	/* 9 had ended, and the number is used anew. */
	assert_int_equal(look_and_put(9, of(0, 0)), size | rss);
	more.has |= 1u << COUNTER_OOM_SCORE_ADJ;
	assert_int_equal(process_cache_changed(&cache, 5, &more), 1u << COUNTER_OOM_SCORE_ADJ);
	/* What cannot be read this time has not changed. */
	more.has = size;
	assert_int_equal(process_cache_changed(&cache, 5, &more), 0);
}

static void in_any_order(void **state)
{
	(void)state;
	for (int32_t pid = 1000; pid > 0; pid--)
		look_and_put(pid, of((uint64_t)pid, 0));
	process_cache_turn(&cache);
	for (int32_t pid = 1; pid <= 1000; pid++) {
		struct process_counters same = of((uint64_t)pid, 0);

		assert_int_equal(process_cache_changed(&cache, pid, &same), 0);
	}
}

static void forgotten_in_the_middle_of_a_pass(void **state)
{
	(void)state;
	look_and_put(5, of(1, 2));
	process_cache_turn(&cache);
	look_and_put(5, of(1, 2));
	process_cache_forget(&cache);
	assert_int_not_equal(look_and_put(6, of(1, 2)), 0);
	process_cache_turn(&cache);
	assert_int_not_equal(look_and_put(5, of(1, 2)), 0);
	assert_int_equal(look_and_put(6, of(1, 2)), 0);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(what_changed_since_the_last_pass, teardown),
		cmocka_unit_test_teardown(in_any_order, teardown),
		cmocka_unit_test_teardown(forgotten_in_the_middle_of_a_pass, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
