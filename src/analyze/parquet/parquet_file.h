/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "analyze/parquet/parquet_values.h"

/*
 * Writes a table as an Apache Parquet file, from front to back:
 *
 *	"PAR1"  row groups  column indexes  offset indexes  FileMetaData  its length  "PAR1"
 *	row group      a chunk for each column
 *	chunk          [dictionary page]  data pages, all compressed by zstd
 *
 * Rows are collected up to PARQUET_GROUP_ROWS, so the memory does not depend on the table's size.
 * Within a group the values of a column are indexes of a dictionary; or else integers are
 * differences, doubles are split into bytes, and texts are written whole. Of these layouts the
 * writer takes the one in which a sample of the column is smallest after compression. Each chunk
 * has its least and greatest value and the number of nulls, each page likewise in the column index.
 * Equal rows give equal bytes (with one version of libzstd).
 *
 * Source of the format: README.md, parquet.thrift and PageIndex.md of Apache Parquet.
 */
#define PARQUET_PAGE_ROWS 20000u
#define PARQUET_DICTIONARY_MAX (1u << 15) /* values */
#define PARQUET_DICTIONARY_BYTES_MAX (1u << 20) /* limit of a dictionary of texts */
#define PARQUET_COLUMNS_MAX 128

/* Begins a file at the current position of the stream, which is borrowed. Returns NULL if out of
 * memory; parquet_close() allows that. */
struct parquet_file;
struct parquet_file *parquet_open(FILE *to, const struct parquet_column_def *columns, size_t n);

/* Each adds the value of the row's next column; parquet_end_row() follows the last one. Texts are
 * copied; bytes that are not UTF-8 become '?', since readers refuse such a file. A value of another
 * kind than the column's is null. */
void parquet_put_null(struct parquet_file *f);
void parquet_put_integer(struct parquet_file *f, int64_t v);
void parquet_put_real(struct parquet_file *f, double v);
void parquet_put_text(struct parquet_file *f, const char *s, size_t len);
void parquet_end_row(struct parquet_file *f);

/* Writes n rows as a row group, at most PARQUET_GROUP_ROWS, of which fill() reads one column after
 * the other: it sets to->n, and as many elements as it needs of the two arrays. No row that was put
 * value by value may be pending. */
typedef void parquet_fill(void *ctx, size_t column, struct parquet_cells *to);
void parquet_write_rows(struct parquet_file *f, uint32_t n, parquet_fill *fill, void *ctx);
/* For fill(): returns the number of a text, which is copied as above. */
uint32_t parquet_number_text(struct parquet_cells *to, const char *s, size_t len);

/* Adds an entry to the file's metadata. */
void parquet_add_metadata(struct parquet_file *f, const char *key, const char *value);

/* Writes the rest of the file, and frees f. Returns 0; -ENOMEM if memory ran out at any time, or
 * -errno of a failed write. NULL is allowed: then it returns -ENOMEM. */
int parquet_close(struct parquet_file *f);
