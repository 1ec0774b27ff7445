/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <string.h>

#include "base/core/err.h"

static void gives_the_code_back_and_keeps_the_sentence(void **state)
{
	struct err_text e;

	(void)state;
	assert_int_equal(err_set(&e, -EACCES, "cannot open %s: %d", "/x", 3), -EACCES);
	assert_string_equal(e.text, "cannot open /x: 3");
}

static void works_without_a_place_for_the_sentence(void **state)
{
	(void)state;
	assert_int_equal(err_set(NULL, -EINVAL, "nobody reads %s", "this"), -EINVAL);
}

static void cuts_what_does_not_fit(void **state)
{
	char longer[2000];
	struct {
		struct err_text e;
		char guard;
	} x = {.guard = 'g'};

	(void)state;
	memset(longer, 'a', sizeof(longer));
	longer[sizeof(longer) - 1] = '\0';
	assert_int_equal(err_set(&x.e, 7, "%s", longer), 7);
	assert_int_equal(strlen(x.e.text), sizeof(x.e.text) - 1);
	assert_int_equal(x.guard, 'g');
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(gives_the_code_back_and_keeps_the_sentence),
		cmocka_unit_test(works_without_a_place_for_the_sentence),
		cmocka_unit_test(cuts_what_does_not_fit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
