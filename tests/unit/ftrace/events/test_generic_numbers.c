// SPDX-License-Identifier: Apache-2.0
#include "unit/test.h"
#include "ftrace/events/event_table.c"

static uint32_t take(uint64_t shape)
{
	uint32_t number = 0;

	assert_int_equal(generic_number_take(shape, &number), 0);
	assert_true(number >= GENERIC_NUMBER_FIRST);
	assert_true(number - GENERIC_NUMBER_FIRST < GENERIC_NUMBERS);
	return number;
}

TEST(test_one_number_a_shape)
{
	uint32_t a = take(1), b = take(2);

	assert_int_not_equal(a, b);
	assert_int_equal(take(1), a);
	generic_number_give(a);
	assert_int_equal(take(1), a); /* one taker was left */
	generic_number_give(a);
	generic_number_give(a);
	assert_int_equal(take(2), b);
	generic_number_give(b);
	generic_number_give(b);
}

TEST(test_a_number_that_is_free_waits_for_its_turn)
{
	uint32_t a = take(1), b, c;

	generic_number_give(a);
	b = take(2);
	c = take(1);
	assert_int_not_equal(a, b);
	assert_int_not_equal(a, c);
	generic_number_give(b);
	generic_number_give(c);
}

TEST(test_all_numbers)
{
	static uint32_t numbers[GENERIC_NUMBERS];
	static uint8_t seen[GENERIC_NUMBERS];
	uint32_t number = 7;

	for (unsigned i = 0; i < GENERIC_NUMBERS; i++) {
		numbers[i] = take(1000 + i);
		assert_int_equal(seen[numbers[i] - GENERIC_NUMBER_FIRST]++, 0);
	}
	assert_int_equal(generic_number_take(1, &number), -ENOSPC);
	assert_int_equal(number, 7);
	assert_int_equal(take(1000), numbers[0]);
	generic_number_give(numbers[0]);
	/* The only one that is free, wherever the turn is. */
	generic_number_give(numbers[77]);
	assert_int_equal(take(1), numbers[77]);
	generic_number_give(numbers[77]);
	for (unsigned i = 0; i < GENERIC_NUMBERS; i++)
		if (i != 77)
			generic_number_give(numbers[i]);
	/* Nobody's. */
	generic_number_give(numbers[0]);
	generic_number_give(0);
}
