/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdint.h>

/* The columns of a Parquet file, and their values in a row group. */

#define PARQUET_GROUP_ROWS (1u << 17)

enum parquet_kind { PARQUET_INTEGER, PARQUET_REAL, PARQUET_TEXT };

struct parquet_column_def {
	const char *name; /* borrowed until the file is closed */
	enum parquet_kind kind; /* INT64, DOUBLE, BYTE_ARRAY of UTF-8; each may be null */
};

/* The values of a column in the rows of a group. */
struct parquet_cells {
	uint64_t *values; /* without nulls: integers, bits of doubles, numbers of texts */
	uint32_t n; /* values */
	uint8_t *is_set; /* by row: 0 is null, 1 has the next value */
};
