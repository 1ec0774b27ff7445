/* SPDX-License-Identifier: Apache-2.0 */
/* Passes over call stacks: functions that ran, waited or woke threads, and trees of calls. */
#include "analyze/report/pass.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/stacks/call_tree.h"
#include "analyze/stacks/code.h"
#include "analyze/stacks/stack_points.h"
#include "analyze/store/columns.h"
#include "base/core/hash_table.h"

/* ---- what the report is about ---- */

bool pass_select_point(const struct pass_input *in, struct stack_point *p)
{
	int64_t begin = MAX(p->ts, in->from), end;

	if (p->utid >= in->s->tables[TABLE_THREAD].rows ? in->some || in->machine != MACHINES_ALL
							: !in->chosen[p->utid])
		return false;
	/* A total has the time of its last wait, which may be the last event of the trace. */
	if (p->slice == NULL_U32)
		return p->ts >= in->from && (p->ts < in->to || in->to >= in->s->end_ts);
	if (p->dur < 0 || __builtin_add_overflow(p->ts, p->dur, &end))
		end = in->to;
	end = MIN(end, in->to);
	p->weight = MAX(end - begin, (int64_t)0);
	return end >= begin && p->ts < in->to;
}

/* The points of the report, and the code of the trace. */
struct code_points {
	struct code code;
	struct stack_points points;
};

/* Returns true if only some threads of a process are chosen: its totals are not theirs. If out of
 * memory, it returns false. */
static bool has_partly_chosen_process(const struct pass_input *in)
{
	const struct table *t = &in->s->tables[TABLE_THREAD];
	uint32_t n = in->s->tables[TABLE_PROCESS].rows;
	_cleanup_(freep) uint8_t *of = in->some ? calloc((size_t)n + 1, 1) : NULL;
	enum { CHOSEN = 1, NOT_CHOSEN = 2 };
	bool parts = false;

	for (uint32_t utid = 0; of && utid < t->rows; utid++) {
		uint32_t upid = table_u32(t, THREAD_UPID, utid);

		if (upid >= n)
			continue;
		of[upid] |= in->chosen[utid] ? CHOSEN : NOT_CHOSEN;
		parts |= of[upid] == (CHOSEN | NOT_CHOSEN);
	}
	return parts;
}

static bool has_totals_of_processes(const struct stack_points *p)
{
	for (size_t i = 0; i < p->n; i++)
		if (p->of[i].of_process)
			return true;
	return false;
}

static bool code_points_init(struct code_points *c, const struct pass_input *in,
			     enum stack_kind kind)
{
	size_t n = 0;

	*c = (struct code_points){.points = {.n = 0}};
	if (!code_init(&c->code, in->s) || !stack_points_read(in->s, kind, &c->points))
		return false;
	if ((kind == STACKS_WAITS || kind == STACKS_WAKERS) &&
	    has_totals_of_processes(&c->points) && has_partly_chosen_process(in)) {
		free(c->points.of);
		if (!stack_points_read(in->s,
				       kind == STACKS_WAITS ? STACKS_SINGLE_WAITS
							    : STACKS_SINGLE_WAKERS,
				       &c->points))
			return false;
	}
	for (size_t i = 0; i < c->points.n; i++) {
		struct stack_point p = c->points.of[i];

		if (pass_select_point(in, &p))
			c->points.of[n++] = p;
	}
	c->points.n = n;
	return true;
}

static void code_points_deinit(struct code_points *c)
{
	code_deinit(&c->code);
	free(c->points.of);
}

/* Adds the points to the tree, summed by stack, and finishes it. Returns false if out of memory. */
static bool add_points_to_tree(struct call_tree *t, const struct code_points *c)
{
	uint32_t n = t->code->s->tables[TABLE_STACK_CALLSITE].rows;
	struct {
		int64_t weight, n;
	} *sums = calloc((size_t)n + 1, sizeof(*sums));
	bool good = sums;

	for (size_t i = 0; good && i < c->points.n; i++) {
		const struct stack_point *p = &c->points.of[i];

		if (p->site >= n)
			continue;
		sums[p->site].weight += p->weight;
		sums[p->site].n += p->n;
	}
	for (uint32_t site = 0; good && site < n; site++)
		if (sums[site].n)
			good = call_tree_add(t, site, sums[site].weight, sums[site].n);
	free(sums);
	return good && call_tree_finish(t);
}

int64_t pass_function_cell(struct pass_rows *rows, const struct code *c, uint32_t function)
{
	int64_t ret;

	if (function == NULL_U32)
		return NULL_I64;
	ret = pass_text_id(rows);
	code_put_name(c, function, &rows->own_texts);
	return ret;
}

/* Returns the cell with a reason, without the brackets that it has in a stack. */
static int64_t put_reason_cell(struct pass_rows *rows, const struct store *s, uint32_t reason)
{
	const char *text = strings_get(&s->strings, reason);
	size_t len = strlen(text);
	int64_t ret;

	if (*text != '[' || len < 2)
		return pass_id_value(reason);
	ret = pass_text_id(rows);
	strbuf_add(&rows->own_texts, text + 1, len - 2);
	return ret;
}

static int64_t put_file_cell(struct pass_rows *rows, const struct code *c, uint32_t function)
{
	int64_t ret;

	if (function == NULL_U32)
		return NULL_I64;
	ret = pass_text_id(rows);
	strbuf_puts(&rows->own_texts, code_file(c, function));
	return ret;
}

/* ---- functions ---- */

/* Adds a row for each function in the points. who: a string, or NULL_I64. Returns false if out of
 * memory. */
static bool add_function_rows(const struct code_points *c, int64_t who, struct pass_rows *ret)
{
	struct call_tree t = {.code = NULL};
	struct function_sum *sums = NULL;
	bool good = call_tree_init(&t, &c->code, TREE_DOWN, NULL) && add_points_to_tree(&t, c) &&
		    (sums = call_tree_sums(&t));

	for (uint32_t i = 0; good && i < c->code.n; i++)
		if (sums[i].total_n)
			PASS_ROW(ret, who, pass_function_cell(ret, &c->code, i),
				 put_file_cell(ret, &c->code, i), sums[i].self, sums[i].total,
				 sums[i].n, sums[i].total_n);
	free(sums);
	call_tree_deinit(&t);
	return good;
}

static int compare_points_by_utid(const void *a, const void *b)
{
	const struct stack_point *x = a, *y = b;

	return (x->utid > y->utid) - (x->utid < y->utid);
}

/* Adds the rows of each program. Sets `utid` of each point to its program, a string. Returns false
 * if out of memory. */
static bool add_program_rows(struct code_points *c, const struct pass_who *who,
			     struct pass_rows *ret)
{
	struct stack_point *of = c->points.of;
	uint32_t threads = who->s->tables[TABLE_THREAD].rows;
	bool good = true;

	for (size_t i = 0; i < c->points.n; i++)
		of[i].utid = of[i].utid < threads ? who->of[of[i].utid] : NULL_U32;
	if (c->points.n)
		qsort(of, c->points.n, sizeof(*of), compare_points_by_utid);
	for (size_t i = 0, end; i < c->points.n && good; i = end) {
		struct code_points part = *c;

		for (end = i; end < c->points.n && of[end].utid == of[i].utid;)
			end++;
		part.points = (struct stack_points){.of = of + i, .n = end - i};
		good = add_function_rows(&part, pass_id_value(of[i].utid), ret);
	}
	return good;
}

void pass_fill_functions(const struct pass_input *in, struct pass_rows *ret)
{
	struct code_points c;
	struct pass_who who;
	bool good = pass_who_init(&who, in);

	good = code_points_init(&c, in, stack_kind_of(in->by)) && good;
	if (good)
		good = who.kind == WHO_PROGRAM ? add_program_rows(&c, &who, ret)
					       : add_function_rows(&c, NULL_I64, ret);
	ret->failed |= !good;
	pass_who_deinit(&who);
	code_points_deinit(&c);
}

/* ---- trees ---- */

/* What to show of a node. */
struct shown_node {
	bool shown;
	uint32_t children; /* that are shown */
	uint32_t depth, indent;
};

static int compare_totals_descending(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x < y) - (x > y);
}

/* Chooses the n largest nodes. A caller is never smaller than what it calls, and comes first, so
 * all callers of a chosen node are chosen. Returns false if out of memory. */
static bool choose_largest_nodes(const struct call_tree *t, struct shown_node *nodes, uint32_t n)
{
	int64_t *totals = malloc(((size_t)t->n + 1) * sizeof(*totals)), least;
	uint32_t left = n, above = 0;

	if (!totals)
		return false;
	for (uint32_t i = 1; i < t->n; i++)
		totals[i - 1] = t->of[i].total;
	qsort(totals, t->n - 1, sizeof(*totals), compare_totals_descending);
	least = n < t->n - 1 ? totals[n - 1] : INT64_MIN;
	while (above < t->n - 1 && totals[above] > least)
		above++;
	left -= MIN(left, above);
	for (uint32_t i = call_tree_next(t, 0); i; i = call_tree_next(t, i)) {
		bool is_least = t->of[i].total == least;

		if (t->of[i].total < least || (is_least && !left) || !t->of[i].total_n)
			continue;
		left -= is_least;
		nodes[i].shown = true;
		nodes[t->of[i].parent].children++;
	}
	free(totals);
	return true;
}

static void add_tree_rows(const struct call_tree *t, struct shown_node *nodes,
			  struct pass_rows *ret)
{
	for (uint32_t i = call_tree_next(t, 0); i && !ret->failed; i = call_tree_next(t, i)) {
		const struct call_node *n = &t->of[i];
		const struct shown_node *parent = &nodes[n->parent];
		bool branch = parent->children > 1;

		if (!nodes[i].shown)
			continue;
		nodes[i].depth = parent->depth + 1;
		nodes[i].indent = parent->indent + branch;
		PASS_ROW(ret, parent->depth, nodes[i].indent, branch,
			 pass_function_cell(ret, t->code, n->function),
			 put_file_cell(ret, t->code, n->function), n->self, n->total, n->n,
			 n->total_n, n->begin, t->of[0].total);
	}
}

/* The words of a report's argument "KIND SHAPE PATTERN", as passes.h describes it. */
struct tree_words {
	enum stack_kind kind;
	enum tree_shape shape;
	const char *pattern; /* borrowed */
};

static struct tree_words read_tree_words(const char *by)
{
	char kind[16] = "", shape[16] = "";
	int len = 0;

	sscanf(by, "%15s %15s %n", kind, shape, &len);
	return (struct tree_words){
		.kind = stack_kind_of(kind),
		.shape = !strcmp(shape, "up")	     ? TREE_UP
			 : !strcmp(shape, "callers") ? TREE_CALLERS
			 : !strcmp(shape, "callees") ? TREE_CALLEES
						     : TREE_DOWN,
		.pattern = len ? by + len : "",
	};
}

/* Returns by function whether its name matches the pattern; owned by the caller. NULL: no
 * memory. */
static bool *find_matching_functions(const struct code *c, const char *pattern)
{
	bool *wanted = calloc((size_t)c->n + 1, sizeof(*wanted));
	struct strbuf name = {0};

	for (uint32_t i = 0; wanted && i < c->n; i++) {
		strbuf_clear(&name);
		strbuf_puts(&name, "");
		code_put_name(c, i, &name);
		wanted[i] = !name.failed && str_glob(pattern, name.s);
	}
	strbuf_deinit(&name);
	return wanted;
}

void pass_fill_call_tree(const struct pass_input *in, struct pass_rows *ret)
{
	const struct tree_words w = read_tree_words(in->by);
	struct call_tree t = {.code = NULL};
	struct shown_node *nodes = NULL;
	bool *wanted = NULL;
	struct code_points c;

	if (!code_points_init(&c, in, w.kind) ||
	    !(wanted = find_matching_functions(&c.code, w.pattern)) ||
	    !call_tree_init(&t, &c.code, w.shape, wanted) || !add_points_to_tree(&t, &c) ||
	    !(nodes = calloc(t.n, sizeof(*nodes))) ||
	    !choose_largest_nodes(&t, nodes, (uint32_t)MIN(in->top, (int64_t)UINT32_MAX)))
		ret->failed = true;
	else
		add_tree_rows(&t, nodes, ret);
	free(nodes);
	free(wanted);
	call_tree_deinit(&t);
	code_points_deinit(&c);
}

/* ---- waits ---- */

struct wait_key {
	uint32_t utid, reason, function;
	uint32_t condition; /* 1: it waits for a condition */
};

struct wait_sum {
	struct wait_key key;
	int64_t time, n, worst;
	UT_hash_handle hh;
};

/* Adds a wait to its sum. Returns false if out of memory. */
static bool add_wait_to_sums(struct wait_sum **sums, const struct code *c,
			     const struct stack_point *p)
{
	bool has_stack = p->site != NULL_U32;
	const struct wait_key key = {p->utid, p->reason,
				     has_stack ? code_own_function(c, p->site) : NULL_U32,
				     has_stack && code_waits_for_condition(c, p->site)};
	struct wait_sum *s;

	HASH_FIND(hh, *sums, &key, sizeof(key), s);
	if (!s) {
		s = calloc(1, sizeof(*s));
		if (!s)
			return false;
		s->key = key;
		HASH_ADD(hh, *sums, key, sizeof(s->key), s);
		if (!s->hh.tbl) {
			free(s);
			return false;
		}
	}
	s->time += p->weight;
	s->n += p->n;
	s->worst = MAX(s->worst, p->slice == NULL_U32 ? 0 : p->weight);
	return true;
}

void pass_fill_code_waits(const struct pass_input *in, struct pass_rows *ret)
{
	struct wait_sum *sums = NULL;
	struct code_points c;

	ret->failed = !code_points_init(&c, in, stack_kind_of(in->by));
	for (size_t i = 0; i < c.points.n && !ret->failed; i++)
		ret->failed = !add_wait_to_sums(&sums, &c.code, &c.points.of[i]);
	for (const struct wait_sum *s = sums; s && !ret->failed; s = s->hh.next)
		PASS_ROW(ret, pass_id_value(s->key.utid),
			 put_reason_cell(ret, in->s, s->key.reason),
			 pass_function_cell(ret, &c.code, s->key.function),
			 put_file_cell(ret, &c.code, s->key.function), s->key.condition, s->time,
			 s->n, s->worst ? s->worst : NULL_I64);
	HASH_FREE(sums);
	code_points_deinit(&c);
}

static int compare_points_by_weight(const void *a, const void *b)
{
	const struct stack_point *x = a, *y = b;

	if (x->weight != y->weight)
		return x->weight < y->weight ? 1 : -1;
	return (x->slice > y->slice) - (x->slice < y->slice);
}

void pass_fill_single_waits(const struct pass_input *in, struct pass_rows *ret)
{
	_cleanup_(freep) uint32_t *wakers = NULL;
	struct stack_points ends = {.n = 0};
	struct code_points c;
	size_t n;

	ret->failed = !code_points_init(&c, in, STACKS_SINGLE_WAITS) ||
		      !stack_points_read(in->s, STACKS_SINGLE_WAKERS, &ends);
	if (!ret->failed)
		wakers = malloc(((size_t)in->s->tables[TABLE_SLICE].rows + 1) * sizeof(*wakers));
	ret->failed |= !wakers;
	if (!ret->failed) {
		for (size_t i = 0; i < ends.n; i++)
			wakers[ends.of[i].slice] = ends.of[i].site;
		if (c.points.n)
			qsort(c.points.of, c.points.n, sizeof(*c.points.of),
			      compare_points_by_weight);
	}
	n = in->top ? MIN(c.points.n, (size_t)in->top) : c.points.n;
	for (size_t i = 0; i < n && !ret->failed; i++) {
		const struct stack_point *p = &c.points.of[i];
		uint32_t own = p->site == NULL_U32 ? NULL_U32 : code_own_function(&c.code, p->site);
		uint32_t end = wakers[p->slice];
		uint32_t waker = end == NULL_U32 ? NULL_U32 : code_waking_function(&c.code, end);

		PASS_ROW(ret, p->utid, p->ts, p->dur < 0 ? NULL_I64 : p->dur,
			 pass_id_value(p->reason),
			 p->site != NULL_U32 && code_waits_for_condition(&c.code, p->site),
			 pass_function_cell(ret, &c.code, own), put_file_cell(ret, &c.code, own),
			 pass_function_cell(ret, &c.code, waker),
			 put_file_cell(ret, &c.code, waker), p->slice);
	}
	free(ends.of);
	code_points_deinit(&c);
}
