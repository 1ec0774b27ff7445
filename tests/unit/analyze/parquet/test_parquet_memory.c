/* SPDX-License-Identifier: Apache-2.0 */
/* The writer's memory does not grow with the rows: what stays of a row group is its place in the file. */
#include <malloc.h>
#include <stdio.h>

#include "analyze/parquet/parquet_file.h"
#include "unit/test.h"

#define GROUPS 12
#define KEPT_OF_GROUP 8192 /* bytes, of 3 columns: 100 million rows of 20 columns keep 42 MB */

static size_t used_memory(void)
{
	struct mallinfo2 m = mallinfo2();

	return m.uordblks + m.hblkhd;
}

TEST(memory_is_that_of_one_row_group)
{
	static const struct parquet_column_def defs[] = {
		{"ts", PARQUET_INTEGER}, {"value", PARQUET_REAL}, {"name", PARQUET_TEXT}};
	FILE *to = fopen("/dev/null", "w");
	struct parquet_file *f = parquet_open(to, defs, ARRAY_SIZE(defs));
	size_t used = 0;

	for (uint32_t i = 0; i < GROUPS * PARQUET_GROUP_ROWS; i++) {
		char name[32];
		int len = snprintf(name, sizeof(name), "%x", i * 2654435761u % 50000);

		if (i == 2 * PARQUET_GROUP_ROWS)
			used = used_memory();
		parquet_put_integer(f, i * INT64_C(1000) + i % 7);
		parquet_put_real(f, i / 3.0);
		parquet_put_text(f, name, (size_t)len);
		parquet_end_row(f);
	}
	assert_true(used_memory() <= used + (size_t)GROUPS * KEPT_OF_GROUP);
	assert_int_equal(parquet_close(f), 0);
	fclose(to);
}
