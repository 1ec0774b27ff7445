/* SPDX-License-Identifier: Apache-2.0 */
/*
 * calls_by, empty_calls, call_paths, longest_calls, call_lines: system calls, which are slices
 * sys_NAME of threads with their result as an argument: of raw_syscalls events on the thread's own
 * track, of linux.syscalls on a track "syscalls" below it. If a thread has both, the latter count,
 * as they have strings.
 */
#include "analyze/report/pass.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/report/call_lines.h"
#include "analyze/store/event_args.h"
#include "base/core/hash_table.h"

struct calls {
	const struct pass_input *in;
	uint32_t *threads; /* owned; by track: its thread, or NULL_U32 */
	uint32_t result_keys[2]; /* strings */
	uint8_t *names; /* owned; by string: 0 not looked at, 1 not the name of a call, 2 one */
	uint32_t next; /* row of slice */
	size_t at; /* see table_next_ts() */
};

struct call {
	uint32_t row, utid;
	int64_t ts, dur, result; /* dur -1: it has not ended; result NULL_I64: unknown */
};

/* Returns the thread of a track of calls, or NULL_U32. */
static uint32_t thread_of_call_track(const struct table *t, uint32_t row, uint32_t type,
				     uint32_t name)
{
	if ((type != NULL_U32 && table_u32(t, TRACK_TYPE, row) == type) ||
	    (name != NULL_U32 && table_u32(t, TRACK_NAME, row) == name))
		return table_u32(t, TRACK_UTID, row);
	return NULL_U32;
}

static bool calls_init(struct calls *c, const struct pass_input *in)
{
	const struct strings *strings = &in->s->strings;
	const struct table *t = &in->s->tables[TABLE_TRACK];
	uint32_t type = strings_find(strings, "thread_execution", strlen("thread_execution"));
	uint32_t name = strings_find(strings, "syscalls", strlen("syscalls"));
	bool *has_strings = calloc((size_t)in->s->tables[TABLE_THREAD].rows + 1, 1);

	*c = (struct calls){.in = in,
			    .result_keys = {strings_find(strings, "ret", 3),
					    strings_find(strings, "debug.ret", 9)}};
	c->threads = malloc(((size_t)t->rows + 1) * sizeof(*c->threads));
	c->names = calloc(strings->n + 1, sizeof(*c->names));
	for (uint32_t row = 0; has_strings && row < t->rows; row++) {
		uint32_t utid = thread_of_call_track(t, row, NULL_U32, name);

		if (utid != NULL_U32)
			has_strings[utid] = true;
	}
	for (uint32_t row = 0; c->threads && has_strings && row < t->rows; row++) {
		uint32_t utid = thread_of_call_track(t, row, type, name);

		if (utid != NULL_U32 && has_strings[utid] && table_u32(t, TRACK_NAME, row) != name)
			utid = NULL_U32;
		c->threads[row] = utid;
	}
	free(has_strings);
	return c->threads && c->names && has_strings;
}

static void calls_deinit(struct calls *c)
{
	free(c->threads);
	free(c->names);
}

/* Returns true for "sys_NAME". There are few names, and many calls, so the result is kept for each
 * name. */
static bool is_name_of_call(struct calls *c, uint32_t name)
{
	const struct strings *strings = &c->in->s->strings;

	if (name >= strings->n)
		return false;
	if (!c->names[name])
		c->names[name] = str_starts(strings_get(strings, name), "sys_") ? 2 : 1;
	return c->names[name] == 2;
}

static int64_t result_of_call(const struct calls *c, uint32_t row)
{
	const struct table *args = &c->in->s->tables[TABLE_ARGS];
	uint32_t set = table_u32(&c->in->s->tables[TABLE_SLICE], SLICE_ARGS, row);

	if (call_args_is_set(set))
		return call_args_result(c->in->s, set);
	for (uint32_t arg = set; arg < args->rows && table_u32(args, ARGS_SET, arg) == set; arg++) {
		uint32_t key = table_u32(args, ARGS_KEY, arg);

		if (key == NULL_U32 || (key != c->result_keys[0] && key != c->result_keys[1]))
			continue;
		switch (table_u8(args, ARGS_TYPE, arg)) {
		case ARG_INT:
		case ARG_UINT:
			return table_i64(args, ARGS_VALUE, arg);
		}
	}
	return NULL_I64;
}

/* Finds the next call of any thread and time. */
static bool next_call_of_any_thread(struct calls *c, struct call *ret)
{
	const struct table *t = &c->in->s->tables[TABLE_SLICE];

	while (c->next < t->rows) {
		uint32_t row = c->next++, utid = c->threads[table_u32(t, SLICE_TRACK, row)];
		int64_t ts = table_next_ts(t, SLICE_TS, row, &c->at);
		uint32_t name = table_u32(t, SLICE_NAME, row);

		if (utid == NULL_U32 || !is_name_of_call(c, name))
			continue;
		*ret = (struct call){row, utid, ts, table_dur(t, SLICE_DUR, row), NULL_I64};
		return true;
	}
	return false;
}

/* Returns true if a chosen thread made the call, and it returned within the window. It may have
 * begun before. */
static bool call_is_in_report(const struct calls *c, const struct call *call)
{
	int64_t end;

	return c->in->chosen[call->utid] && call->dur >= 0 &&
	       !__builtin_add_overflow(call->ts, call->dur, &end) && end >= c->in->from &&
	       end <= c->in->to;
}

/* Finds the next call that counts, with its result. */
static bool next_reported_call(struct calls *c, struct call *ret)
{
	while (next_call_of_any_thread(c, ret))
		if (call_is_in_report(c, ret)) {
			ret->result = result_of_call(c, ret->row);
			return true;
		}
	return false;
}

static bool call_has_failed(const struct call *call)
{
	return call->result >= -4095 && call->result <= -1;
}

/* Adds the calls of the report to groups by subject, by the call's name, or by both. who: the
 * subjects; NULL: none. */
static void add_calls_to_groups(struct calls *c, const struct pass_who *who, bool by_name,
				struct groups *g)
{
	const struct table *t = &c->in->s->tables[TABLE_SLICE];
	struct call call;

	c->next = 0;
	c->at = 0;
	while (next_reported_call(c, &call)) {
		uint32_t name = by_name ? table_u32(t, SLICE_NAME, call.row) : NULL_U32;
		uint32_t of = who ? pass_find_who_at(who, call.utid, call.ts) : NULL_U32;
		uint64_t key = (uint64_t)of << 32 | name;
		struct group *group =
			groups_add(g, &(struct group_sample){.key = key,
							     .ns = call.dur,
							     .ts = call.ts,
							     .flagged = call_has_failed(&call)});

		if (group)
			group->other += call.result != NULL_I64;
	}
}

void pass_fill_calls(const struct pass_input *in, struct pass_rows *ret)
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
		add_calls_to_groups(&c, by_name ? NULL : &who, by_name || by_program, &g);
	if (good && by_program && groups_begin_fill(&g))
		add_calls_to_groups(&c, &who, true, &g);
	for (size_t i = 0; i < g.n; i++) {
		const struct group *e = &g.list[i];
		int64_t name = pass_id_value((uint32_t)e->key);

		PASS_ROW(ret, by_name ? name : pass_who_value(&who, (uint32_t)(e->key >> 32)),
			 by_program ? name : NULL_I64, (int64_t)e->n, (int64_t)e->total,
			 by_program ? groups_p50(&g, e) : NULL_I64,
			 by_program ? groups_p99(&g, e) : NULL_I64, e->longest,
			 e->other ? (int64_t)e->flagged : NULL_I64);
	}
	ret->failed |= !good || g.failed;
	groups_deinit(&g);
	pass_who_deinit(&who);
	calls_deinit(&c);
}

/* ---- calls that did nothing ---- */

#define EMPTY_CALL_NS 50000 /* a longer call has waited */

static bool call_is_empty(const struct call *call)
{
	return call->dur < EMPTY_CALL_NS && (call->result == 0 || call->result == -EAGAIN);
}

void pass_empty_calls(const struct pass_input *in, struct pass_rows *ret)
{
	struct groups g = {.n = 0};
	struct call call;
	struct calls c;
	bool good = calls_init(&c, in);

	while (good && next_reported_call(&c, &call)) {
		uint64_t key = (uint64_t)call.utid << 32 |
			       table_u32(&in->s->tables[TABLE_SLICE], SLICE_NAME, call.row);
		struct group *group = groups_add(
			&g, &(struct group_sample){
				    .key = key, .ns = call.dur, .flagged = call_is_empty(&call)});

		if (group && (group->n == 1 || call.ts < (int64_t)group->other))
			group->other = (uint64_t)call.ts;
	}
	for (size_t i = 0; i < g.n; i++) {
		const struct group *e = &g.list[i];

		PASS_ROW(ret, (int64_t)(e->key >> 32), pass_id_value((uint32_t)e->key),
			 (int64_t)e->n, (int64_t)e->flagged, (int64_t)e->total, (int64_t)e->other);
	}
	ret->failed |= !good || g.failed;
	groups_deinit(&g);
	calls_deinit(&c);
}

/* ---- by path ---- */

struct call_path {
	UT_hash_handle hh;
	uint64_t n, total, errors;
	int64_t worst;
	size_t len;
	char path[];
};

/* Returns the entry of a path, created if needed; NULL if memory runs out. */
static struct call_path *call_path_get(struct call_path **paths, const struct strbuf *path)
{
	struct call_path *p;

	HASH_FIND(hh, *paths, path->s, path->len, p);
	if (p)
		return p;
	p = calloc(1, sizeof(*p) + path->len + 1);
	if (!p)
		return NULL;
	p->len = path->len;
	memcpy(p->path, path->s, path->len);
	HASH_ADD(hh, *paths, path, p->len, p);
	if (!p->hh.tbl)
		free(TAKE_PTR(p));
	return p;
}

static void add_calls_by_path(struct calls *c, struct call_lines *lines, struct call_path **paths,
			      struct pass_rows *ret)
{
	struct strbuf path = {0};
	struct call_path *p;
	struct call call;

	while (next_call_of_any_thread(c, &call)) {
		call_lines_add(lines, call.row, call.utid);
		strbuf_clear(&path);
		if (!call_is_in_report(c, &call) || !call_lines_append_path(lines, &path) ||
		    !path.len)
			continue;
		call.result = result_of_call(c, call.row);
		p = call_path_get(paths, &path);
		ret->failed |= !p;
		if (!p)
			continue;
		p->n++;
		p->total += (uint64_t)call.dur;
		p->errors += call_has_failed(&call);
		p->worst = MAX(p->worst, call.dur);
	}
	ret->failed |= path.failed;
	strbuf_deinit(&path);
}

void pass_fill_call_paths(const struct pass_input *in, struct pass_rows *ret)
{
	struct call_lines *lines = call_lines_new(in->s);
	struct call_path *paths = NULL, *p, *next;
	struct calls c;
	bool good = calls_init(&c, in) && lines;

	ret->failed |= !good;
	if (good)
		add_calls_by_path(&c, lines, &paths, ret);
	HASH_ITER (hh, paths, p, next) {
		int64_t text = pass_text_id(ret);

		strbuf_add(&ret->own_texts, p->path, p->len);
		PASS_ROW(ret, text, (int64_t)p->n, (int64_t)p->total, p->worst, (int64_t)p->errors);
	}
	HASH_FREE(paths);
	call_lines_free(lines);
	calls_deinit(&c);
}

/* ---- single calls ---- */

static int call_compare_rows(const void *a, const void *b)
{
	uint32_t x = ((const struct largest_item *)a)->row;
	uint32_t y = ((const struct largest_item *)b)->row;

	return x < y ? -1 : x > y;
}

/* Adds a row for each of these calls, which are in the order of their rows, with its line. */
static void put_longest_calls(struct calls *c, const struct largest *l, struct call_lines *lines,
			      struct pass_rows *ret)
{
	struct call call;
	size_t i = 0;

	while (i < l->n && next_call_of_any_thread(c, &call)) {
		int64_t text;

		call_lines_add(lines, call.row, call.utid);
		if (call.row != l->items[i].row)
			continue;
		text = pass_text_id(ret);
		call_lines_put(lines, &ret->own_texts);
		PASS_ROW(ret, call.row, result_of_call(c, call.row), text);
		i++;
	}
}

void pass_fill_longest_calls(const struct pass_input *in, struct pass_rows *ret)
{
	struct largest l = {.most = (size_t)in->top};
	struct call_lines *lines = call_lines_new(in->s);
	struct call call;
	struct calls c;
	bool good = calls_init(&c, in) && lines;

	while (good && next_call_of_any_thread(&c, &call))
		if (call_is_in_report(&c, &call))
			largest_add(&l, call.dur, call.row, 0);
	c.next = 0;
	c.at = 0;
	if (good && l.n) {
		qsort(l.items, l.n, sizeof(*l.items), call_compare_rows);
		put_longest_calls(&c, &l, lines, ret);
	}
	ret->failed |= !good || l.failed;
	call_lines_free(lines);
	free(l.items);
	calls_deinit(&c);
}

void pass_fill_call_lines(const struct pass_input *in, struct pass_rows *ret)
{
	struct call_lines *lines = call_lines_new(in->s);
	struct call call;
	struct calls c;
	bool good = calls_init(&c, in) && lines;

	while (good && next_call_of_any_thread(&c, &call)) {
		int64_t text;

		call_lines_add(lines, call.row, call.utid);
		if (!in->chosen[call.utid] || call.ts < in->from || call.ts > in->to)
			continue;
		text = pass_text_id(ret);
		call_lines_put(lines, &ret->own_texts);
		PASS_ROW(ret, call.row, call.utid, call.ts, call.dur < 0 ? NULL_I64 : call.dur,
			 text);
	}
	ret->failed |= !good;
	call_lines_free(lines);
	calls_deinit(&c);
}
