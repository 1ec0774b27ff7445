/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/store/store.h"
#include "unit/rng.h"
#include "unit/test.h"

enum { ID, TS, DUR, I64, I32, U32, U16, U8, F64, SAME, COLUMNS };

static const struct column_def columns[] = {
	[ID] = {"id", COLUMN_ID, 0, NULL, 0},	 [TS] = {"ts", COLUMN_TS, 0, NULL, 0},
	[DUR] = {"dur", COLUMN_DUR, 0, NULL, 0}, [I64] = {"i64", COLUMN_I64, 0, NULL, 0},
	[I32] = {"i32", COLUMN_I32, 0, NULL, 0}, [U32] = {"u32", COLUMN_U32, 0, NULL, 0},
	[U16] = {"u16", COLUMN_U16, 0, NULL, 0}, [U8] = {"u8", COLUMN_U8, 0, NULL, 0},
	[F64] = {"f64", COLUMN_F64, 0, NULL, 0}, [SAME] = {"same", COLUMN_SAME, U32, NULL, 0},
};
static const struct table_def def = {"t", columns, COLUMNS, TS};

#define ROWS (5 * TABLE_CHUNK_ROWS + 100)

/* What the rows are to be. */
struct row {
	int64_t ts, dur, i64;
	int32_t i32;
	uint32_t u32;
	uint16_t u16;
	uint8_t u8;
	double f64;
};

static void set_row(struct table *t, uint32_t row, const struct row *r)
{
	table_set_dur(t, DUR, row, r->dur);
	table_set_i64(t, I64, row, r->i64);
	table_set_i32(t, I32, row, r->i32);
	table_set_u32(t, U32, row, r->u32);
	table_set_u16(t, U16, row, r->u16);
	table_set_u8(t, U8, row, r->u8);
	table_set_f64(t, F64, row, r->f64);
}

static void check_row(const struct table *t, uint32_t row, const struct row *r)
{
	double f64 = table_f64(t, F64, row);

	assert_true(table_ts(t, TS, row) == r->ts);
	assert_true(table_dur(t, DUR, row) == r->dur);
	assert_true(table_i64(t, I64, row) == r->i64);
	assert_int_equal(table_i32(t, I32, row), r->i32);
	assert_int_equal(table_u32(t, U32, row), r->u32);
	assert_int_equal(table_u16(t, U16, row), r->u16);
	assert_int_equal(table_u8(t, U8, row), r->u8);
	assert_memory_equal(&f64, &r->f64, sizeof(f64));
}

/* Reads the columns in pieces. */
static void check_cells(const struct table *t, const struct row *rows)
{
	static int64_t cells[TABLE_CHUNK_ROWS], expected;

	for (unsigned column = TS; column <= F64; column++)
		for (uint32_t row = 0, n; row < ROWS; row += n) {
			n = MIN(TABLE_CHUNK_ROWS - row % TABLE_CHUNK_ROWS, 1500u);
			n = MIN(n, ROWS - row);
			table_read_cells(t, column, row, n, cells);
			for (const struct row *r = rows + row; r < rows + row + n; r++) {
				memcpy(&expected, &r->f64, sizeof(expected));
				expected = column == TS	   ? r->ts
					   : column == DUR ? r->dur
					   : column == I64 ? r->i64
					   : column == I32 ? r->i32
					   : column == U32 ? r->u32
					   : column == U16 ? r->u16
					   : column == U8  ? r->u8
							   : expected;
				assert_true(cells[r - rows - row] == expected);
			}
		}
}

/* bits: of the values' differences; 64 are any. Values of all ones and NULLs are among them. */
static void make_row(uint64_t *rng, unsigned bits, struct row *r)
{
	uint64_t v = bits ? rng_next(rng) >> (64 - bits) : 0;

	if (rng_below(rng, 10) == 0 && bits)
		v = bits & 1 ? UINT64_MAX : (uint64_t)NULL_I64;
	r->dur = v > INT64_MAX ? -1 : (int64_t)v;
	r->i64 = (int64_t)(v + (bits < 40 ? UINT64_C(0x123456789a) : 0));
	r->i32 = (int32_t)v - 5;
	r->u32 = (uint32_t)v;
	r->u16 = (uint16_t)(v + (bits < 10 ? 1000 : 0));
	r->u8 = (uint8_t)v;
	memcpy(&r->f64, &v, sizeof(v));
}

TEST(test_rows_are_as_they_were_set_however_wide_their_values_are)
{
	struct budget budget = {.limit = UINT64_MAX};
	static struct row rows[ROWS];
	static const uint8_t bits[] = {0, 1, 7, 8, 9, 15, 16, 17, 24, 31, 32, 33, 48, 63, 64};
	struct table t;
	uint64_t rng = 1;

	for (size_t b = 0; b < ARRAY_SIZE(bits); b++) {
		table_init(&t, &def, &budget);
		for (uint32_t i = 0; i < ROWS; i++) {
			uint32_t row = table_append(&t);

			assert_int_equal(row, i);
			make_row(&rng, bits[b], &rows[i]);
			rows[i].ts = (int64_t)i * 1000003;
			table_set_ts(&t, TS, row, rows[i].ts);
			set_row(&t, row, &rows[i]);
		}
		for (uint32_t i = 0; i < ROWS; i++)
			check_row(&t, i, &rows[i]);
		check_cells(&t, rows);
		table_deinit(&t);
	}
	assert_int_equal(budget.error, 0);
}

TEST(test_old_rows_can_be_set_to_what_their_chunk_had_no_place_for)
{
	struct budget budget = {.limit = UINT64_MAX};
	static struct row rows[ROWS];
	struct table t;
	uint64_t rng = 2;

	table_init(&t, &def, &budget);
	for (uint32_t i = 0; i < ROWS; i++) {
		uint32_t row = table_append(&t);

		make_row(&rng, 5, &rows[i]);
		rows[i].ts = i;
		table_set_ts(&t, TS, row, i);
		set_row(&t, row, &rows[i]);
		if (i % 7 == 0) {
			uint32_t old = rng_below(&rng, i + 1);
			int64_t ts = rows[old].ts;

			make_row(&rng, rng_below(&rng, 65), &rows[old]);
			rows[old].ts = ts;
			set_row(&t, old, &rows[old]);
		}
	}
	for (uint32_t i = 0; i < ROWS; i++)
		check_row(&t, i, &rows[i]);
	check_cells(&t, rows);
	assert_int_equal(budget.error, 0);
	table_deinit(&t);
}

TEST(test_full_chunks_take_the_bytes_that_their_values_need)
{
	struct budget budget = {.limit = UINT64_MAX};
	struct table t;
	uint64_t before;

	table_init(&t, &def, &budget);
	for (uint32_t i = 0; i < ROWS; i++) {
		struct row r = {.dur = 100 + i % 50,
				.i64 = INT64_C(1) << 40,
				.i32 = -1,
				.u32 = 70000 + i % 200,
				.u16 = i % 2 ? 3 : NULL_U16,
				.u8 = NULL_U8,
				.f64 = 0.5};
		uint32_t row = table_append(&t);

		table_set_ts(&t, TS, row, (int64_t)i);
		set_row(&t, row, &r);
	}
	/* Of four packed chunks: 2 bytes of ts, 1 of dur, u32 and u16, none of the others. */
	assert_true(budget.used < 4 * TABLE_CHUNK_ROWS * 6 + 2 * TABLE_CHUNK_ROWS * 36);
	before = budget.used;
	table_set_u32(&t, U32, 7, NULL_U32); /* fits */
	assert_true(budget.used == before);
	table_set_u32(&t, U32, 7, 1);
	assert_true(budget.used == before + TABLE_CHUNK_ROWS * 3);
	assert_int_equal(table_u32(&t, U32, 7), 1);
	assert_int_equal(table_u32(&t, U32, 8), 70008);
	table_deinit(&t);
}

TEST(test_rows_without_memory_are_not_added)
{
	struct budget none = {.limit = 0}, some = {.limit = 2 * 40 * TABLE_CHUNK_ROWS};
	struct row r = {.dur = 1, .f64 = 1};
	uint64_t rng = 3;
	struct table t;

	table_init(&t, &def, &none);
	for (int i = 0; i < 3; i++) {
		uint32_t row = table_append(&t);

		table_set_ts(&t, TS, row, 5);
		set_row(&t, row, &r);
	}
	assert_int_equal(none.error, -EFBIG);
	assert_int_equal(t.rows, 0);
	table_deinit(&t);
	table_init(&t, &def, &some);
	for (uint32_t i = 0; i < ROWS; i++) {
		uint32_t row = table_append(&t);

		make_row(&rng, 63, &r);
		table_set_ts(&t, TS, row, i);
		set_row(&t, row, &r);
	}
	assert_int_equal(some.error, -EFBIG);
	assert_true(t.rows > 0 && t.rows < ROWS && t.rows % TABLE_CHUNK_ROWS == 0);
	table_deinit(&t);
}

TEST(test_sparse_row_numbers_have_an_index)
{
	struct budget any = {.limit = UINT64_MAX};
	struct row r = {.u32 = 1000000};
	uint32_t begin, end;
	struct table t;

	table_init(&t, &def, &any);
	table_set_ts(&t, TS, table_append(&t), 5);
	set_row(&t, 0, &r);
	assert_null(table_index(&t, U32));
	assert_null(table_index_of_rows(&t, U32, 1000000));
	assert_non_null(table_index_of_rows(&t, U32, 1000001));
	assert_true(row_index_find(table_index(&t, U32), 1000000, &begin, &end));
	assert_int_equal(end - begin, 1);
	table_deinit(&t);
}
