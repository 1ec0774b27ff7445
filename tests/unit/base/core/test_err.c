/* SPDX-License-Identifier: Apache-2.0 */

#include "base/core/err.h"
#include "unit/test.h"

TEST(gives_the_code_back_and_keeps_the_sentence)
{
	struct err_text e;

	assert_int_equal(err_set(&e, -EACCES, "cannot open %s: %d", "/x", 3), -EACCES);
	assert_string_equal(e.text, "cannot open /x: 3");
}

TEST(works_without_a_place_for_the_sentence)
{
	assert_int_equal(err_set(NULL, -EINVAL, "without a buffer: %s", "text"), -EINVAL);
}

TEST(cuts_what_does_not_fit)
{
	char longer[2000];
	struct {
		struct err_text e;
		char guard;
	} x = {.guard = 'g'};

	memset(longer, 'a', sizeof(longer));
	longer[sizeof(longer) - 1] = '\0';
	assert_int_equal(err_set(&x.e, 7, "%s", longer), 7);
	assert_int_equal(strlen(x.e.text), sizeof(x.e.text) - 1);
	assert_int_equal(x.guard, 'g');
}
