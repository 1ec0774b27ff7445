/* SPDX-License-Identifier: Apache-2.0 */

#include "unit/test.h"
#include "service/code_pages.h"

/* Pages of files that are in our memory. */
static unsigned long file_pages(void)
{
	unsigned long size, resident, shared = 0;
	FILE *f = fopen("/proc/self/statm", "r");

	assert_non_null(f);
	assert_int_equal(fscanf(f, "%lu %lu %lu", &size, &resident, &shared), 3);
	fclose(f);
	return shared;
}

static int compare(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

static char written[100000] = "what was written to stays";
static const char *const relocated[] = {"one", "two", "three"};

TEST(code_comes_back_when_it_is_used)
{
	int numbers[] = {3, 1, 2};
	unsigned long before;

	strcpy(written + 50000, "this too");
	before = file_pages();
	code_pages_release();
	assert_true(file_pages() < before);
	qsort(numbers, 3, sizeof(numbers[0]), compare);
	assert_int_equal(numbers[0], 1);
	assert_int_equal(numbers[2], 3);
	assert_string_equal(written, "what was written to stays");
	assert_string_equal(written + 50000, "this too");
	assert_string_equal(relocated[1], "two");
	code_pages_release();
	assert_string_equal(relocated[2], "three");
}
