/* SPDX-License-Identifier: Apache-2.0 */

#include "procfs/machine/journald_reader.h"
#include "unit/test.h"

static struct strbuf why;

static int teardown(void **state)
{
	strbuf_deinit(&why);
	return 0;
}

#define FIXTURE_TEST(name) TEST_WITH(name, NULL, teardown)

FIXTURE_TEST(one_that_is_not_there)
{
	struct journald_library l = {0};

	assert_int_equal(journald_library_open(&l, "libnone.so.77", &why), -ENOENT);
	assert_null(l.handle);
	assert_non_null(strstr(why.s, "libnone.so.77"));
}

FIXTURE_TEST(one_without_the_functions)
{
	struct journald_library l = {0};

	assert_int_equal(journald_library_open(&l, "libc.so.6", &why), -ENOSYS);
	assert_null(l.handle);
	assert_string_equal(why.s, "sd_journal_open");
	journald_library_close(&l);
}

/* The real one opens a journal, be it empty, and gives a descriptor to watch. */
FIXTURE_TEST(the_real_one)
{
	struct journald_library l = {0};
	struct sd_journal *j;

	if (journald_library_open(&l, JOURNALD_LIBRARY, &why) == -ENOENT)
		skip();
	assert_non_null(l.handle);
	assert_int_equal(l.open(&j, JOURNALD_LOCAL_ONLY), 0);
	assert_int_equal(l.add_match(j, "PRIORITY=3", 10), 0);
	assert_true(l.get_fd(j) >= 0);
	assert_true(l.seek_tail(j) >= 0);
	assert_true(l.process(j) >= 0);
	l.close(j);
	journald_library_close(&l);
	assert_null(l.handle);
}
