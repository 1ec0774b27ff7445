/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "analyze/store/strings.h"
#include "unit/test.h"

TEST(long_texts_that_differ_at_their_ends_have_ids_of_their_own)
{
	struct budget budget = {.limit = 1u << 20};
	struct strings t;
	char name[1000];
	uint32_t a, b;

	memset(name, 'x', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	strings_init(&t, &budget);
	a = strings_intern_f(&t, ".%s.%d", name, 1);
	b = strings_intern_f(&t, ".%s.%d", name, 2);
	assert_int_not_equal(a, b);
	assert_int_equal(t.of[a].len, sizeof(name) + 2);
	assert_string_equal(strings_get(&t, b) + sizeof(name), ".2");
	assert_int_equal(strings_intern_f(&t, ".%s.%d", name, 2), b);
	assert_int_equal(budget.error, 0);
	strings_deinit(&t);
}
