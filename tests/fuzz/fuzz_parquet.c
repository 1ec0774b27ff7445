/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parquet files of any bytes, read row by row, and written again: the second file has the rows of the first. The writer's
 * pages have a checksum, so the corpus has files of the writer.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "analyze/parquet/parquet_file.h"
#include "analyze/parquet/parquet_reader.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void put_again(struct parquet_file *f, const struct parquet_cell *c, enum parquet_kind kind)
{
	double v;

	memcpy(&v, &c->bits, sizeof(v));
	if (!c->is_set)
		parquet_put_null(f);
	else if (kind == PARQUET_TEXT)
		parquet_put_text(f, c->text.p, c->text.len);
	else if (kind == PARQUET_REAL)
		parquet_put_real(f, v);
	else
		parquet_put_integer(f, (int64_t)c->bits);
}

/* Reads both files in step. */
static void compare(struct parquet_reader *a, int fd, uint64_t rows)
{
	struct parquet_reader *b;
	size_t n;

	if (parquet_reader_open(fd, &b) < 0 || parquet_reader_rows(b) != rows)
		abort();
	for (uint64_t row = 0; row < rows; row++) {
		if (parquet_reader_next(a) != 1 || parquet_reader_next(b) != 1)
			abort();
		parquet_reader_columns(b, &n);
		for (size_t i = 0; i < n; i++) {
			struct parquet_cell x = parquet_reader_cell(a, i),
					    y = parquet_reader_cell(b, i);

			if (x.is_set != y.is_set || x.text.len != y.text.len ||
			    (x.is_set && !x.text.p && x.bits != y.bits) ||
			    (x.text.len && memcmp(x.text.p, y.text.p, x.text.len) != 0))
				abort();
		}
	}
	parquet_reader_close(b);
}

static void read_and_write(int fd, int again)
{
	struct parquet_reader *r;
	const struct parquet_column_def *defs;
	struct parquet_file *f;
	uint64_t rows = 0;
	size_t n;
	FILE *to;
	int error;

	if (parquet_reader_open(fd, &r) < 0)
		return;
	to = fdopen(dup(again), "w");
	defs = parquet_reader_columns(r, &n);
	f = parquet_open(to, defs, n);
	while ((error = parquet_reader_next(r)) > 0) {
		for (size_t i = 0; i < n; i++) {
			struct parquet_cell c = parquet_reader_cell(r, i);

			put_again(f, &c, defs[i].kind);
		}
		parquet_end_row(f);
		rows++;
	}
	if (error == 0 && rows != parquet_reader_rows(r))
		abort();
	if (parquet_close(f) < 0 || fclose(to) != 0)
		abort();
	parquet_reader_close(r);
	if (error < 0 || parquet_reader_open(fd, &r) < 0)
		return;
	compare(r, again, rows);
	parquet_reader_close(r);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int fd = memfd_create("input", 0), again = memfd_create("again", 0);

	if (write(fd, data, size) == (ssize_t)size)
		read_and_write(fd, again);
	close(fd);
	close(again);
	return 0;
}
