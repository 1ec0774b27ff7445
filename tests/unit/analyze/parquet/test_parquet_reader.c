/* SPDX-License-Identifier: Apache-2.0 */
/* What the writer of Parquet files has written, read back; and files that are damaged. */
#include <stdlib.h>
#include <unistd.h>

#include "analyze/parquet/parquet_file.h"
#include "analyze/parquet/parquet_reader.h"
#include "base/core/mem.h"
#include "unit/test.h"

static const struct parquet_column_def defs[] = {
	{"number", PARQUET_INTEGER}, {"real", PARQUET_REAL}, {"text", PARQUET_TEXT}};

/* The values of a row: all encodings, nulls, and extreme values. */
struct row {
	bool is_null;
	int64_t number;
	double real;
	char text[64];
};

static struct row row_of(uint32_t i, uint32_t distinct)
{
	uint64_t random = i * UINT64_C(0x9e3779b97f4a7c15);
	struct row r = {.is_null = i % 7 == 3, .real = i / 3.0 - 1000};

	r.number = i % 1000 == 0 ? (i & 1 ? INT64_MIN : INT64_MAX)
				 : (int64_t)(distinct ? random % distinct : random);
	snprintf(r.text, sizeof(r.text), "%.*s%u", (int)(i % 40),
		 "________________________________________",
		 (uint32_t)(distinct ? random % distinct : i));
	return r;
}

struct bulk {
	uint32_t first, rows, distinct;
};

static void fill_column(void *ctx, size_t column, struct parquet_cells *to)
{
	const struct bulk *b = ctx;

	to->n = 0;
	for (uint32_t i = 0; i < b->rows; i++) {
		struct row r = row_of(b->first + i, b->distinct);

		to->is_set[i] = !r.is_null;
		if (r.is_null)
			continue;
		if (column == 0)
			to->values[to->n] = (uint64_t)r.number;
		else if (column == 1)
			memcpy(&to->values[to->n], &r.real, sizeof(r.real));
		else
			to->values[to->n] = parquet_number_text(to, r.text, strlen(r.text));
		to->n++;
	}
}

static void put_row(struct parquet_file *f, const struct row *r)
{
	if (!r->is_null) {
		parquet_put_integer(f, r->number);
		parquet_put_real(f, r->real);
		parquet_put_text(f, r->text, strlen(r->text));
	}
	parquet_end_row(f);
}

static FILE *write_rows(uint32_t n, uint32_t distinct, bool in_bulk)
{
	FILE *to = tmpfile();
	struct parquet_file *f = parquet_open(to, defs, ARRAY_SIZE(defs));
	struct bulk b = {.distinct = distinct};

	for (; in_bulk && b.first < n; b.first += b.rows) {
		b.rows = MIN(n - b.first, PARQUET_GROUP_ROWS);
		parquet_write_rows(f, b.rows, fill_column, &b);
	}
	for (uint32_t i = b.first; i < n; i++) {
		struct row r = row_of(i, distinct);

		put_row(f, &r);
	}
	assert_int_equal(parquet_close(f), 0);
	fflush(to);
	return to;
}

/* Rows of whole groups give the bytes that they give one by one. */
static void check_bulk(FILE *file, uint32_t n, uint32_t distinct)
{
	FILE *bulk = write_rows(n, distinct, true);
	off_t size = lseek(fileno(file), 0, SEEK_END);
	char *a = malloc((size_t)size), *b = malloc((size_t)size);

	assert_int_equal(lseek(fileno(bulk), 0, SEEK_END), size);
	assert_int_equal(pread(fileno(file), a, (size_t)size, 0), size);
	assert_int_equal(pread(fileno(bulk), b, (size_t)size, 0), size);
	assert_memory_equal(a, b, (size_t)size);
	free(a);
	free(b);
	fclose(bulk);
}

static void check_rows(uint32_t n, uint32_t distinct)
{
	FILE *file = write_rows(n, distinct, false);
	struct parquet_reader *r;
	size_t columns;

	assert_int_equal(parquet_reader_open(fileno(file), &r), 0);
	assert_int_equal(parquet_reader_rows(r), n);
	assert_string_equal(parquet_reader_columns(r, &columns)[2].name, "text");
	assert_int_equal(columns, 3);
	for (uint32_t i = 0; i < n; i++) {
		struct row expected = row_of(i, distinct);
		struct parquet_cell c;
		uint64_t bits;

		assert_int_equal(parquet_reader_next(r), 1);
		c = parquet_reader_cell(r, 0);
		assert_int_equal(c.is_set, !expected.is_null);
		if (expected.is_null)
			continue;
		assert_true((int64_t)c.bits == expected.number);
		memcpy(&bits, &expected.real, sizeof(bits));
		assert_true(parquet_reader_cell(r, 1).bits == bits);
		c = parquet_reader_cell(r, 2);
		assert_int_equal(c.text.len, strlen(expected.text));
		assert_memory_equal(c.text.p, expected.text, c.text.len);
	}
	assert_int_equal(parquet_reader_next(r), 0);
	parquet_reader_close(r);
	check_bulk(file, n, distinct);
	fclose(file);
}

TEST(few_different_values)
{
	check_rows(50000, 300);
}

TEST(many_different_values)
{
	check_rows(45000, 0);
}

TEST(sizes_of_pages_and_groups)
{
	static const uint32_t sizes[] = {
		0, 1, 2, 20000, 20001, PARQUET_GROUP_ROWS, PARQUET_GROUP_ROWS + 1};

	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++)
		check_rows(sizes[i], 5);
}

/* Each byte of a file is changed, and each end cut off: the rows are those of the file, or fewer, and
 * nothing else happens. A page with another byte is refused. */
TEST(damage)
{
	FILE *file = write_rows(60, 5, false);
	int fd = fileno(file);
	off_t size = lseek(fd, 0, SEEK_END);
	struct parquet_reader *r;

	for (off_t at = 0; at < size; at++) {
		uint8_t byte, other;
		int error = 0;
		unsigned rows = 0;

		assert_int_equal(pread(fd, &byte, 1, at), 1);
		other = byte ^ 0x55;
		assert_int_equal(pwrite(fd, &other, 1, at), 1);
		if (parquet_reader_open(fd, &r) == 0) {
			while ((error = parquet_reader_next(r)) > 0)
				rows++;
			assert_true(error == 0 || error == -EBADMSG);
			assert_true(rows <= 60);
			parquet_reader_close(r);
		}
		assert_int_equal(pwrite(fd, &byte, 1, at), 1);
	}
	for (off_t at = size - 1; at >= 0; at--) {
		assert_int_equal(ftruncate(fd, at), 0);
		assert_int_equal(parquet_reader_open(fd, &r), -EBADMSG);
	}
	fclose(file);
}
