/* SPDX-License-Identifier: Apache-2.0 */
/* A trace file of any bytes, imported; then every cell of every table and every set of arguments is
 * read. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/import/import.h"
#include "analyze/store/arg_sets.h"
#include "analyze/store/store_open.h"
#include "analyze/store/table_defs.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define LIMIT_BYTES (64u << 20)

static uint64_t touch(const struct value *v)
{
	uint64_t sum = (uint64_t)v->i;

	for (size_t i = 0; v->kind == VALUE_TEXT && i < v->len; i++)
		sum += (uint8_t)v->s[i];
	return sum;
}

static uint64_t touch_args(const struct store *s, int64_t set)
{
	struct arg_list list = {.n = 0};
	uint64_t sum = 0;

	arg_sets_list(s, set, &list);
	for (size_t i = 0; i < list.n; i++) {
		const struct arg *a = &list.args[i];

		sum += touch(&(struct value){.kind = VALUE_TEXT, .s = a->key, .len = a->key_len});
		if (a->type == ARG_STRING)
			sum += touch(&(struct value){.kind = VALUE_TEXT, .s = a->s, .len = a->len});
	}
	free(list.args);
	return sum;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct trace_bytes bytes = {.data = malloc(size + 1), .len = size};
	struct import_result result;
	uint64_t sum = 0;
	struct store s;

	if (!bytes.data)
		return 0;
	if (size)
		memcpy(bytes.data, data, size);
	store_init(&s, LIMIT_BYTES);
	trace_import(&s, bytes, &result);
	for (unsigned t = 0; t < TABLES; t++)
		for (uint32_t row = 0; row < s.tables[t].rows && !s.budget.error; row++)
			for (unsigned c = 0; c < s.tables[t].def->n_columns; c++) {
				struct value v = {.kind = VALUE_NULL};

				store_value(&s, &s.tables[t], row, c, &v);
				sum += touch(&v);
				if (((t == TABLE_FTRACE && c == FTRACE_ARGS) ||
				     (t == TABLE_SLICE && c == SLICE_ARGS) ||
				     (t == TABLE_TRACK && c == TRACK_SOURCE_ARGS)) &&
				    v.kind == VALUE_INT)
					sum += touch_args(&s, v.i);
			}
	store_deinit(&s);
	return sum ==
	       1; /* so that the reads are not optimised away; libFuzzer ignores other values than -1 */
}
