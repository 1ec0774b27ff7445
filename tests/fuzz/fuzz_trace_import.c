/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A trace file of any bytes, imported; then every cell of every table, every set of arguments and
 * every call stack is read.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/import/import.h"
#include "analyze/stacks/call_tree.h"
#include "analyze/stacks/stack_points.h"
#include "analyze/store/arg_sets.h"
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

static uint64_t touch_stacks(const struct store *s)
{
	struct stack_points points = {.n = 0};
	struct call_tree t = {.code = NULL};
	struct strbuf name = {0};
	struct code code;
	uint64_t sum = 0;

	if (code_init(&code, s) && call_tree_init(&t, &code, TREE_DOWN, NULL)) {
		for (enum stack_kind kind = STACKS_CPU; kind <= STACKS_WAKERS; kind++) {
			stack_points_read(s, kind, &points);
			for (size_t i = 0; i < points.n; i++) {
				const struct stack_point *p = &points.of[i];

				sum += code_own_function(&code, p->site);
				sum += code_waking_function(&code, p->site);
				call_tree_add(&t, p->site, 1, 1);
			}
			free(points.of);
		}
		call_tree_finish(&t);
		free(call_tree_sums(&t));
		for (uint32_t i = 0; i < code.n; i++)
			code_put_name(&code, i, &name);
	}
	strbuf_deinit(&name);
	call_tree_deinit(&t);
	code_deinit(&code);
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

				store_read_value(&s, &s.tables[t], row, c, &v);
				sum += touch(&v);
				if (((t == TABLE_FTRACE && c == FTRACE_ARGS) ||
				     (t == TABLE_SLICE && c == SLICE_ARGS) ||
				     (t == TABLE_TRACK && c == TRACK_SOURCE_ARGS)) &&
				    v.kind == VALUE_INT)
					sum += touch_args(&s, v.i);
			}
	if (!s.budget.error)
		sum += touch_stacks(&s);
	store_deinit(&s);
	return sum ==
	       1; /* so that the reads are not optimised away; libFuzzer ignores other values than -1 */
}
