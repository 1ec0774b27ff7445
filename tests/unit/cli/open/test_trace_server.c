/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/open/trace_server.h"

#include "tests/unit/test.h"

static void name_is(const char *path, const char *expected)
{
	char buf[32];

	trace_server_make_name(path, buf, sizeof(buf));
	assert_string_equal(buf, expected);
}

TEST(a_name_has_only_letters_that_mean_nothing_in_a_url)
{
	name_is("trace.pftrace", "trace.pftrace");
	name_is("/a/b/trace-1_2.gz", "trace-1_2.gz");
	name_is("a/x y%2f&z#?", "x_y_2f_z__");
	name_is("\xc3\xa4\n", "___");
	name_is("a_name_that_is_longer_than_the_buffer", "a_name_that_is_longer_than_the_");
}
