/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/store/call_args.h"

#include <string.h>

#include "analyze/store/event_args.h"
#include "base/core/mem.h"
#include "gen/fields.h"
#include "wire/pb_read.h"

static const char *const keys[CALL_ARGS_MAX] = {
	"args[0]",  "args[1]",	"args[2]",  "args[3]",	"args[4]",  "args[5]",
	"args[6]",  "args[7]",	"args[8]",  "args[9]",	"args[10]", "args[11]",
	"args[12]", "args[13]", "args[14]", "args[15]",
};

uint32_t call_args_add(struct store *s, uint32_t enter, uint32_t exit)
{
	struct table *t = &s->tables[TABLE_CALL];
	uint32_t row;

	if (t->rows >= NULL_U32 - CALL_SETS)
		return NULL_U32;
	row = table_append(t);
	table_set_u32(t, CALL_ENTER, row, enter);
	table_set_u32(t, CALL_EXIT, row, exit);
	return CALL_SETS + row;
}

/* Returns the row of TABLE_FTRACE in a column of a set, or NULL_U32. */
static uint32_t event_of(const struct store *s, int64_t set, unsigned column)
{
	const struct table *t = &s->tables[TABLE_CALL];

	return call_args_is_set(set) && set - CALL_SETS < t->rows
		       ? table_u32(t, column, (uint32_t)(set - CALL_SETS))
		       : NULL_U32;
}

int64_t call_args_result_of_exit(const struct store *s, uint32_t exit)
{
	struct pb_dec d = event_args_message(s, exit);
	struct pb_field f;

	while (pb_dec_next(&d, &f))
		if (f.id == PB_SYS_EXIT_FTRACE_EVENT_RET)
			return (int64_t)f.u64;
	return 0;
}

int64_t call_args_result(const struct store *s, int64_t set)
{
	uint32_t exit = event_of(s, set, CALL_EXIT);

	return exit == NULL_U32 ? NULL_I64 : call_args_result_of_exit(s, exit);
}

static int add(struct arg_list *l, const struct arg *a)
{
	int r = array_reserve(&l->args, &l->cap, l->n + 1, sizeof(*l->args));

	if (r == 0)
		l->args[l->n++] = *a;
	return r;
}

static int list_enter(const struct store *s, uint32_t row, struct arg_list *ret)
{
	struct pb_dec d = event_args_message(s, row);
	struct pb_field f;
	uint64_t v;
	int r = 0;

	while (pb_dec_next(&d, &f)) {
		if (f.id != PB_SYS_ENTER_FTRACE_EVENT_ARGS)
			continue;
		for (struct pb_packed p = pb_packed_of(&f);
		     r == 0 && ret->n < CALL_ARGS_MAX && pb_packed_next(&p, &v);)
			r = add(ret, &(struct arg){.key = keys[ret->n],
						   .key_len = (uint32_t)strlen(keys[ret->n]),
						   .flat_key = "args",
						   .flat_key_len = 4,
						   .type = ARG_UINT,
						   .i = (int64_t)v});
	}
	return r;
}

int call_args_list(const struct store *s, int64_t set, struct arg_list *ret)
{
	uint32_t enter = event_of(s, set, CALL_ENTER), exit = event_of(s, set, CALL_EXIT);
	int r = 0;

	ret->n = 0;
	if (enter != NULL_U32)
		r = list_enter(s, enter, ret);
	if (r == 0 && exit != NULL_U32)
		r = add(ret, &(struct arg){.key = "ret",
					   .key_len = 3,
					   .type = ARG_INT,
					   .i = call_args_result_of_exit(s, exit)});
	return r;
}
