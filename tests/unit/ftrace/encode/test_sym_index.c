// SPDX-License-Identifier: Apache-2.0
#include "unit/test.h"
#include "ftrace/encode/intern_tables.h"

static struct sym_index s;

TEST(test_numbers_in_the_order_of_first_sight)
{
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

TEST(test_a_full_table_says_so_and_keeps_what_it_has)
{
	sym_index_clear(&s);
	for (uint64_t i = 0; i < SYM_INDEX_MAX; i++)
		assert_int_equal(sym_index_get(&s, (i + 1) << 20), i + 1);
	assert_int_equal(sym_index_get(&s, 12345), 0);
	for (uint64_t i = 0; i < SYM_INDEX_MAX; i++)
		assert_int_equal(sym_index_get(&s, (i + 1) << 20), i + 1);
}

TEST(test_generations_that_come_round)
{
	sym_index_clear(&s);
	sym_index_get(&s, 77);
	s.generation = UINT32_MAX;
	for (unsigned i = 0; i < SYM_INDEX_SLOTS; i++)
		s.slots[i].generation = 1; /* left from four thousand million bundles ago */
	sym_index_clear(&s);
	assert_int_equal(sym_index_get(&s, 78), 1);
	assert_int_equal(sym_index_get(&s, 77), 2);
}
