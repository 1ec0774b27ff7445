/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "probes/data_sources.h"

static void every_row_is_whole(void **state)
{
	(void)state;
	assert_non_null(probes_data_sources[0]);
	for (const struct data_source *const *s = probes_data_sources; *s; s++) {
		assert_non_null((*s)->name);
		assert_non_null((*s)->create);
		assert_non_null((*s)->start);
		assert_non_null((*s)->flush);
		assert_non_null((*s)->stop);
		assert_non_null((*s)->destroy);
		assert_int_equal((*s)->handles_incremental_state_clear, (*s)->clear != NULL);
	}
}

static void names_are_their_own(void **state)
{
	(void)state;
	for (const struct data_source *const *a = probes_data_sources; *a; a++)
		for (const struct data_source *const *b = a + 1; *b; b++)
			assert_string_not_equal((*a)->name, (*b)->name);
}

/* Those of other systems, and one that traces the tracer, are noise on this one. */
static void nothing_that_is_not_of_linux(void **state)
{
	(void)state;
	for (const struct data_source *const *s = probes_data_sources; *s; s++)
		assert_int_equal(strncmp((*s)->name, "linux.", 6), 0);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_row_is_whole),
		cmocka_unit_test(names_are_their_own),
		cmocka_unit_test(nothing_that_is_not_of_linux),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
