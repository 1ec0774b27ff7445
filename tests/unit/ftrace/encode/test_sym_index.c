// SPDX-License-Identifier: Apache-2.0
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "ftrace/encode/intern_tables.h"

static struct sym_index s;

static void test_numbers_in_the_order_of_first_sight(void **state)
{
	(void)state;
	sym_index_clear(&s);
	assert_int_equal(sym_index_get(&s, 0xffffffff81000000), 1);
	assert_int_equal(sym_index_get(&s, 1), 2);
	assert_int_equal(sym_index_get(&s, UINT64_MAX), 3);
	assert_int_equal(sym_index_get(&s, 1), 2);
	assert_int_equal(sym_index_get(&s, 0), 0);
	assert_int_equal(s.n, 3);
	assert_true(s.addrs[2] == UINT64_MAX);
	assert_int_equal(sym_index_get(&s, 0xffffffff81000000), 1);
	sym_index_clear(&s);
	assert_int_equal(sym_index_get(&s, UINT64_MAX), 1);
}

static void test_a_full_table_says_so_and_keeps_what_it_has(void **state)
{
	(void)state;
	sym_index_clear(&s);
	for (uint64_t i = 0; i < SYM_INDEX_MAX; i++)
		assert_int_equal(sym_index_get(&s, (i + 1) << 20), i + 1);
	assert_int_equal(sym_index_get(&s, 12345), 0);
	for (uint64_t i = 0; i < SYM_INDEX_MAX; i++)
		assert_int_equal(sym_index_get(&s, (i + 1) << 20), i + 1);
}

static void test_generations_that_come_round(void **state)
{
	(void)state;
	sym_index_clear(&s);
	sym_index_get(&s, 77);
	s.generation = UINT32_MAX;
	for (unsigned i = 0; i < SYM_INDEX_SLOTS; i++)
		s.slots[i].generation = 1; /* left from four thousand million bundles ago */
	sym_index_clear(&s);
	assert_int_equal(sym_index_get(&s, 78), 1);
	assert_int_equal(sym_index_get(&s, 77), 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_numbers_in_the_order_of_first_sight),
		cmocka_unit_test(test_a_full_table_says_so_and_keeps_what_it_has),
		cmocka_unit_test(test_generations_that_come_round),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
