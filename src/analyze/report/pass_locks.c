/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lock_waits: waits for locks, the threads that held the locks, and what the holders did during the
 * wait.
 */
#include "analyze/report/pass.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/stacks/code.h"
#include "analyze/stacks/stack_points.h"
#include "analyze/store/arg_sets.h"
#include "analyze/store/columns.h"
#include "base/core/lower_bound.h"

/* How the holder is known, the best evidence first. */
static const char *const known_words[] = {"PI futex", "mutex owner", "released it", "woke it"};
enum { KNOWN_BY_RELEASE = 2, KNOWN_BY_WAKEUP = 3 };

struct lock_wait {
	const struct stack_point *point; /* of the waiting thread */
	int64_t end;
	uint32_t holder; /* utid; NULL_U32: not known */
	const char *known; /* NULL: not known */
	char *object; /* owned; NULL: not known */
};

/* What a thread did: a row of thread_state, or a single wait. */
struct activity {
	uint32_t utid, row;
	int64_t ts;
};

struct activities {
	struct activity *of; /* owned; sorted by utid and ts */
	size_t n, cap;
};

struct lock_pass {
	const struct pass_input *in;
	struct code code;
	struct stack_points points, wakers; /* single waits of all threads */
	uint32_t *waker_sites; /* owned; by row of slice */
	struct activity *tids; /* owned; threads by tid (as utid), row: the utid */
	struct lock_wait *waits; /* owned */
	size_t n, cap;
	bool *holds; /* owned; by utid: it held a lock */
	struct activities states, sleeps; /* rows of thread_state, points; of holders */
	bool failed;
};

static int compare_points_by_thread(const void *a, const void *b)
{
	const struct activity *x = a, *y = b;

	if (x->utid != y->utid)
		return x->utid < y->utid ? -1 : 1;
	return x->ts != y->ts ? (x->ts < y->ts ? -1 : 1) : (x->row > y->row) - (x->row < y->row);
}

/* ---- holders ---- */

/* Lists the threads by tid and utid. Returns false if out of memory. */
static bool sort_tids(struct lock_pass *l)
{
	const struct table *t = &l->in->s->tables[TABLE_THREAD];

	l->tids = calloc((size_t)t->rows + 1, sizeof(*l->tids));
	for (uint32_t utid = 0; l->tids && utid < t->rows; utid++)
		l->tids[utid] =
			(struct activity){.utid = table_u32(t, THREAD_TID, utid), .row = utid};
	if (l->tids && t->rows)
		qsort(l->tids, t->rows, sizeof(*l->tids), compare_points_by_thread);
	return l->tids;
}

/* Returns the thread with this tid, one of the process of `of` if there are several; NULL_U32:
 * none. */
static uint32_t find_thread(const struct lock_pass *l, uint32_t tid, uint32_t of)
{
	const struct table *t = &l->in->s->tables[TABLE_THREAD];
	uint32_t at = LOWER_BOUND(i, 0, t->rows, l->tids[i].utid < tid), found = NULL_U32;

	for (; at < t->rows && l->tids[at].utid == tid; at++) {
		found = l->tids[at].row;
		if (table_u32(t, THREAD_UPID, found) == table_u32(t, THREAD_UPID, of))
			return found;
	}
	return found;
}

/* Returns true if a function releases a lock. In glibc, __lll_lock_wake ends
 * pthread_mutex_unlock(), which then is not on the stack. */
static bool is_lock_release_function(const char *function)
{
	return strstr(function, "unlock") || strstr(function, "lll_lock_wake");
}

/* Returns whether a function that the waker was in releases locks, by its name. */
static bool waker_releases_lock(const struct lock_pass *l, uint32_t slice)
{
	const struct table *sites = &l->code.s->tables[TABLE_STACK_CALLSITE];
	uint32_t site = l->waker_sites[slice];

	for (unsigned i = 0; i < 256 && site < sites->rows;
	     i++, site = table_u32(sites, STACK_CALLSITE_PARENT, site)) {
		uint32_t frame = table_u32(sites, STACK_CALLSITE_FRAME, site);

		for (uint32_t at = l->code.first[frame]; at < l->code.first[frame + 1]; at++) {
			const struct code_function *f = &l->code.of[l->code.chain[at]];

			if (f->kind == CODE_USER && f->name != NULL_U32 &&
			    is_lock_release_function(strings_get(&l->code.s->strings, f->name)))
				return true;
		}
	}
	return false;
}

static bool arg_has_key(const struct arg *a, const char *key)
{
	return a->key_len == strlen(key) && memcmp(a->key, key, a->key_len) == 0;
}

static const char *find_known_by_word(const struct arg *a)
{
	for (size_t i = 0; i < KNOWN_BY_RELEASE; i++)
		if (a->len == strlen(known_words[i]) && memcmp(a->s, known_words[i], a->len) == 0)
			return known_words[i];
	return NULL;
}

/* Reads the annotations of the wait: what it waited for, and who held it. Marks the holder in
 * l->holds. */
static void read_wait_annotations(struct lock_pass *l, struct lock_wait *w)
{
	const struct table *slices = &l->in->s->tables[TABLE_SLICE];
	uint32_t slice = w->point->slice, holder = NULL_U32, waker = NULL_U32;
	struct arg_list list = {.n = 0};

	if (arg_sets_list(l->in->s, table_u32(slices, SLICE_ARGS, slice), &list) < 0)
		l->failed = true;
	for (size_t i = 0; i < list.n; i++) {
		const struct arg *a = &list.args[i];

		if (a->type == ARG_INT && arg_has_key(a, "debug.holder tid"))
			holder = find_thread(l, (uint32_t)a->i, w->point->utid);
		else if (a->type == ARG_INT && arg_has_key(a, "debug.waker tid"))
			waker = find_thread(l, (uint32_t)a->i, w->point->utid);
		else if (a->type == ARG_STRING && arg_has_key(a, "debug.holder known by"))
			w->known = find_known_by_word(a);
		else if (a->type == ARG_STRING && arg_has_key(a, "debug.futex object"))
			w->object = strndup(a->s, a->len);
	}
	free(list.args);
	if (holder == NULL_U32 || !w->known) {
		holder = waker;
		w->known = waker == NULL_U32
				   ? NULL
				   : known_words[waker_releases_lock(l, slice) ? KNOWN_BY_RELEASE
									       : KNOWN_BY_WAKEUP];
	}
	w->holder = holder;
	if (holder != NULL_U32)
		l->holds[holder] = true;
}

static bool is_futex(const struct lock_pass *l, const struct stack_point *p)
{
	return p->reason != NULL_U32 &&
	       strcmp(strings_get(&l->in->s->strings, p->reason), "futex") == 0 &&
	       !(p->site != NULL_U32 && code_waits_for_condition(&l->code, p->site));
}

static void find_waits(struct lock_pass *l)
{
	for (size_t i = 0; i < l->points.n && !l->failed; i++) {
		struct stack_point *p = &l->points.of[i], cut = *p;
		struct lock_wait w = {.point = p, .holder = NULL_U32};

		if (!is_futex(l, p) || !pass_select_point(l->in, &cut))
			continue;
		if (p->dur < 0 || __builtin_add_overflow(p->ts, p->dur, &w.end))
			w.end = l->in->to;
		if (array_reserve(&l->waits, &l->cap, l->n + 1, sizeof(*l->waits)) < 0) {
			l->failed = true;
			return;
		}
		read_wait_annotations(l, &w);
		l->waits[l->n++] = w;
	}
}

/* ---- what holders did ---- */

static void activities_add(struct lock_pass *l, struct activities *a, uint32_t utid, uint32_t row,
			   int64_t ts)
{
	if (utid >= l->in->s->tables[TABLE_THREAD].rows || !l->holds[utid])
		return;
	if (array_reserve(&a->of, &a->cap, a->n + 1, sizeof(*a->of)) < 0) {
		l->failed = true;
		return;
	}
	a->of[a->n++] = (struct activity){utid, row, ts};
}

static void find_activities(struct lock_pass *l)
{
	const struct table *t = &l->in->s->tables[TABLE_THREAD_STATE];

	for (uint32_t row = 0; row < t->rows && !l->failed; row++) {
		uint32_t utid = table_u32(t, STATE_UTID, row);

		/* A row without an end counts only if it is the last one of its thread: for other
		 * rows, the next event is missing. */
		if (table_dur(t, STATE_DUR, row) >= 0 || l->in->last_of_thread[utid] == row)
			activities_add(l, &l->states, utid, row, table_ts(t, STATE_TS, row));
	}
	for (size_t i = 0; i < l->points.n && !l->failed; i++)
		activities_add(l, &l->sleeps, l->points.of[i].utid, (uint32_t)i,
			       l->points.of[i].ts);
	if (l->states.n)
		qsort(l->states.of, l->states.n, sizeof(*l->states.of), compare_points_by_thread);
	if (l->sleeps.n)
		qsort(l->sleeps.of, l->sleeps.n, sizeof(*l->sleeps.of), compare_points_by_thread);
}

/* Returns the index of the last activity of the thread that began by ts, as it may last beyond ts.
 * Without one, returns the index after all activities that began earlier. */
static size_t activities_find(const struct activities *a, uint32_t utid, int64_t ts)
{
	size_t n = LOWER_BOUND(
		i, 0, a->n, a->of[i].utid < utid || (a->of[i].utid == utid && a->of[i].ts <= ts));

	return n && a->of[n - 1].utid == utid ? n - 1 : n;
}

/* Returns for how long an interval (dur < 0: without an end) is within another one. */
static int64_t overlap_of_intervals(int64_t ts, int64_t dur, int64_t from, int64_t to)
{
	int64_t end;

	if (dur < 0 || __builtin_add_overflow(ts, dur, &end))
		end = to;
	return MAX(MIN(end, to) - MAX(ts, from), (int64_t)0);
}

struct meanwhile {
	bool has_states; /* if false, ran and waited are not known */
	int64_t ran, waited, blocked; /* waited: for a CPU */
	const struct stack_point
		*sleep; /* the longest wait of the holder during that time, or NULL */
};

/* Returns what the holder did during the wait. */
static struct meanwhile find_states_of_holder(const struct lock_pass *l, const struct lock_wait *w)
{
	const struct table *t = &l->in->s->tables[TABLE_THREAD_STATE];
	struct meanwhile m = {.has_states = false};
	int64_t longest = 0, slept = 0;

	for (size_t i = activities_find(&l->states, w->holder, w->point->ts);
	     i < l->states.n && l->states.of[i].utid == w->holder && l->states.of[i].ts < w->end;
	     i++) {
		uint32_t row = l->states.of[i].row;
		uint16_t state = table_u16(t, STATE_STATE, row);
		int64_t ns = overlap_of_intervals(l->states.of[i].ts, table_dur(t, STATE_DUR, row),
						  w->point->ts, w->end);

		m.has_states = true;
		*(state == STORE_STATE_RUNNING					    ? &m.ran
		  : state < l->in->s->n_states && pass_is_runnable(l->in->s, state) ? &m.waited
										    : &m.blocked) +=
			ns;
	}
	for (size_t i = activities_find(&l->sleeps, w->holder, w->point->ts);
	     i < l->sleeps.n && l->sleeps.of[i].utid == w->holder && l->sleeps.of[i].ts < w->end;
	     i++) {
		const struct stack_point *p = &l->points.of[l->sleeps.of[i].row];
		int64_t ns = overlap_of_intervals(p->ts, p->dur, w->point->ts, w->end);

		slept += ns;
		if (ns > longest) {
			longest = ns;
			m.sleep = p;
		}
	}
	if (!m.has_states)
		m.blocked = slept;
	return m;
}

/* ---- rows ---- */

static int64_t put_text_cell(struct pass_rows *rows, const char *text)
{
	int64_t ret;

	if (!text)
		return NULL_I64;
	ret = pass_text_id(rows);
	strbuf_puts(&rows->own_texts, text);
	return ret;
}

static int64_t put_own_function_cell(const struct lock_pass *l, const struct stack_point *p,
				     struct pass_rows *rows)
{
	uint32_t site = p ? p->site : NULL_U32;

	return pass_function_cell(rows, &l->code,
				  site == NULL_U32 ? NULL_U32 : code_own_function(&l->code, site));
}

static void put_lock_wait_row(const struct lock_pass *l, const struct lock_wait *w,
			      struct pass_rows *rows)
{
	struct meanwhile m = {.has_states = false};
	bool is_known = w->holder != NULL_U32;

	if (is_known)
		m = find_states_of_holder(l, w);
	PASS_ROW(rows, w->point->utid, w->point->ts, w->end - w->point->ts,
		 put_text_cell(rows, w->object), put_own_function_cell(l, w->point, rows),
		 pass_id_value(w->holder), put_text_cell(rows, w->known),
		 m.has_states ? m.ran : NULL_I64, m.has_states ? m.waited : NULL_I64,
		 is_known ? m.blocked : NULL_I64,
		 m.sleep ? pass_id_value(m.sleep->reason) : NULL_I64,
		 put_own_function_cell(l, m.sleep, rows));
}

static bool lock_pass_init(struct lock_pass *l, const struct pass_input *in)
{
	size_t slices = in->s->tables[TABLE_SLICE].rows;

	*l = (struct lock_pass){.in = in};
	if (!code_init(&l->code, in->s) ||
	    !stack_points_read(in->s, STACKS_SINGLE_WAITS, &l->points) ||
	    !stack_points_read(in->s, STACKS_SINGLE_WAKERS, &l->wakers) || !sort_tids(l))
		return false;
	l->holds = calloc((size_t)in->s->tables[TABLE_THREAD].rows + 1, sizeof(*l->holds));
	l->waker_sites = malloc((slices + 1) * sizeof(*l->waker_sites));
	if (!l->holds || !l->waker_sites)
		return false;
	memset(l->waker_sites, 0xff, (slices + 1) * sizeof(*l->waker_sites));
	for (size_t i = 0; i < l->wakers.n; i++)
		l->waker_sites[l->wakers.of[i].slice] = l->wakers.of[i].site;
	return true;
}

static void lock_pass_deinit(struct lock_pass *l)
{
	for (size_t i = 0; i < l->n; i++)
		free(l->waits[i].object);
	free(l->waits);
	free(l->states.of);
	free(l->sleeps.of);
	free(l->holds);
	free(l->waker_sites);
	free(l->tids);
	free(l->points.of);
	free(l->wakers.of);
	code_deinit(&l->code);
}

void pass_fill_lock_waits(const struct pass_input *in, struct pass_rows *ret)
{
	struct lock_pass l;

	ret->failed = !lock_pass_init(&l, in);
	if (!ret->failed) {
		find_waits(&l);
		find_activities(&l);
	}
	ret->failed |= l.failed;
	for (size_t i = 0; i < l.n && !ret->failed; i++)
		put_lock_wait_row(&l, &l.waits[i], ret);
	lock_pass_deinit(&l);
}
