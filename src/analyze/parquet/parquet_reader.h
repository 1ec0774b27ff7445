/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/parquet/parquet_file.h"
#include "base/text/span.h"

/* Reads the files of parquet_file.h, row by row: no other encodings, types or sizes. The bytes are
 * hostile; the checksum of each page is compared. Memory: a page of each column, and its
 * dictionary. */
struct parquet_reader;

/* The descriptor is borrowed, and read with pread(2). Returns 0; -EBADMSG: not such a file;
 * -ENOMEM; or -errno of a failed read. */
int parquet_reader_open(int fd, struct parquet_reader **ret);
/* NULL is allowed. */
void parquet_reader_close(struct parquet_reader *r);

/* The names are borrowed from the reader. */
const struct parquet_column_def *parquet_reader_columns(const struct parquet_reader *r,
							size_t *ret_n);
uint64_t parquet_reader_rows(const struct parquet_reader *r);

/* Goes to the next row. Returns 1, 0 after the last one, or as parquet_reader_open(). */
int parquet_reader_next(struct parquet_reader *r);

struct parquet_cell {
	bool is_set; /* false: null */
	uint64_t bits; /* an integer, or the bits of a double */
	struct span text; /* borrowed until the next row; UTF-8 */
};
/* Returns the value of a column in this row. */
struct parquet_cell parquet_reader_cell(const struct parquet_reader *r, size_t column);
