/* SPDX-License-Identifier: Apache-2.0 */
/* calls_by, longest_calls: system calls, which are slices sys_NAME of threads with their result as
 * an argument. */
#include "analyze/report/pass.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/store/event_args.h"

struct calls {
	const struct pass_input *in;
	uint32_t *threads; /* owned; by track: its thread, or NULL_U32 */
	uint32_t result_key; /* a string */
	uint32_t next; /* row of slice */
	size_t at; /* see table_next_ts() */
};

struct call {
	uint32_t row, utid;
	int64_t ts, dur, result; /* NULL_I64: unknown */
};

static bool calls_init(struct calls *c, const struct pass_input *in)
{
	const struct strings *strings = &in->s->strings;
	const struct table *t = &in->s->tables[TABLE_TRACK];
	uint32_t type = strings_find(strings, "thread_execution", strlen("thread_execution"));

	*c = (struct calls){.in = in, .result_key = strings_find(strings, "ret", 3)};
	c->threads = malloc(((size_t)t->rows + 1) * sizeof(*c->threads));
	for (uint32_t row = 0; c->threads && row < t->rows; row++) {
		uint32_t utid = table_u32(t, TRACK_UTID, row);
		bool counts = type != NULL_U32 && table_u32(t, TRACK_TYPE, row) == type &&
			      utid != NULL_U32 && in->chosen[utid];

		c->threads[row] = counts ? utid : NULL_U32;
	}
	return c->threads;
}

static int64_t result_of(const struct calls *c, uint32_t row)
{
	const struct table *args = &c->in->s->tables[TABLE_ARGS];
	uint32_t set = table_u32(&c->in->s->tables[TABLE_SLICE], SLICE_ARGS, row);

	if (call_args_is_set(set))
		return call_args_result(c->in->s, set);
	for (uint32_t arg = set; arg < args->rows && table_u32(args, ARGS_SET, arg) == set; arg++)
		if (table_u32(args, ARGS_KEY, arg) == c->result_key)
			switch (table_u8(args, ARGS_TYPE, arg)) {
			case ARG_INT:
			case ARG_UINT:
				return table_i64(args, ARGS_VALUE, arg);
			}
	return NULL_I64;
}

/* Finds the next call that returned within the window. It may have begun before. */
static bool next_call(struct calls *c, struct call *ret)
{
	const struct table *t = &c->in->s->tables[TABLE_SLICE];

	while (c->next < t->rows) {
		uint32_t row = c->next++, utid = c->threads[table_u32(t, SLICE_TRACK, row)];
		int64_t ts = table_next_ts(t, SLICE_TS, row, &c->at);
		int64_t dur = table_dur(t, SLICE_DUR, row), end;
		uint32_t name = table_u32(t, SLICE_NAME, row);

		if (utid == NULL_U32 || dur < 0 || name == NULL_U32 ||
		    __builtin_add_overflow(ts, dur, &end) || end < c->in->from || end > c->in->to ||
		    strncmp(strings_get(&c->in->s->strings, name), "sys_", 4) != 0)
			continue;
		*ret = (struct call){row, utid, ts, dur, result_of(c, row)};
		return true;
	}
	return false;
}

/* who: what to count by, besides by names; NULL: only by names. */
static void add_calls(struct calls *c, const struct pass_who *who, bool by_name, struct groups *g)
{
	const struct table *t = &c->in->s->tables[TABLE_SLICE];
	struct call call;

	c->next = 0;
	c->at = 0;
	while (next_call(c, &call)) {
		uint32_t name = by_name ? table_u32(t, SLICE_NAME, call.row) : NULL_U32;
		uint64_t key = (uint64_t)(who ? who->of[call.utid] : NULL_U32) << 32 | name;
		bool fails = call.result >= -4095 && call.result <= -1;
		struct group *group = groups_add(
			g, &(struct group_sample){
				   .key = key, .ns = call.dur, .ts = call.ts, .flagged = fails});

		if (group)
			group->other += call.result != NULL_I64;
	}
}

void pass_calls(const struct pass_input *in, struct pass_rows *ret)
{
	bool by_name = !strcmp(in->by, "name");
	struct pass_who who;
	struct groups g = {.n = 0};
	struct calls c;
	bool good = pass_who_init(&who, in);
	bool by_program = who.kind == WHO_PROGRAM;

	good = calls_init(&c, in) && good;
	ret->texts = by_name || by_program ? 1 : 0;
	if (good)
		add_calls(&c, by_name ? NULL : &who, by_name || by_program, &g);
	if (good && by_program && groups_begin_fill(&g))
		add_calls(&c, &who, true, &g);
	for (size_t i = 0; i < g.n; i++) {
		const struct group *e = &g.list[i];
		int64_t name = pass_id((uint32_t)e->key);

		PASS_ROW(ret, by_name ? name : pass_who_value(&who, (uint32_t)(e->key >> 32)),
			 by_program ? name : NULL_I64, (int64_t)e->n, (int64_t)e->total,
			 by_program ? groups_p50(&g, e) : NULL_I64,
			 by_program ? groups_p99(&g, e) : NULL_I64, e->longest,
			 e->other ? (int64_t)e->flagged : NULL_I64);
	}
	ret->failed |= !good || g.failed;
	groups_deinit(&g);
	pass_who_deinit(&who);
	free(c.threads);
}

void pass_longest_calls(const struct pass_input *in, struct pass_rows *ret)
{
	struct largest l = {.most = (size_t)in->top};
	struct call call;
	struct calls c;
	bool good = calls_init(&c, in);

	while (good && next_call(&c, &call))
		largest_add(&l, call.dur, call.row, 0);
	for (size_t i = 0; i < l.n; i++)
		PASS_ROW(ret, l.items[i].row, result_of(&c, l.items[i].row));
	ret->failed |= !good || l.failed;
	free(l.items);
	free(c.threads);
}
