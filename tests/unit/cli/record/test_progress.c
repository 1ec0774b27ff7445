// SPDX-License-Identifier: Apache-2.0
#include "unit/test.h"
#include "cli/record/progress.c"

static void check(struct progress p, const char *expected)
{
	char buf[PROGRESS_MAX];

	assert_string_equal(progress_format(&p, buf), expected);
}

TEST(test_what_is_known_is_shown)
{
	check((struct progress){0}, "  0 s");
	check((struct progress){.elapsed_ms = 12999},
	      "  13 s"); /* ticks come a little late or early */
	check((struct progress){.elapsed_ms = 12499}, "  12 s");
	check((struct progress){.elapsed_ms = 1000, .duration_ms = 1500}, "  1 s of 1.5 s");
	check((struct progress){.elapsed_ms = 2000, .has_bytes = true, .bytes = 21400000},
	      "  2 s   20.4 MiB");
	check((struct progress){.elapsed_ms = 2000,
				.duration_ms = 60000,
				.has_bytes = true,
				.bytes = 21400000,
				.has_events = true,
				.events = 1204331,
				.lost = 0},
	      "  2 s of 60 s   1,204,331 events   20.4 MiB   0 lost");
}

TEST(test_the_largest_numbers_fit)
{
	struct progress p = {UINT64_MAX, UINT64_MAX, true,	UINT64_MAX,
			     true,	 UINT64_MAX, UINT64_MAX};
	char buf[PROGRESS_MAX];

	progress_format(&p, buf);
	assert_non_null(strstr(buf, "18,446,744,073,709,551,615 lost"));
}
