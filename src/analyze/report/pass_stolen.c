/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vm_host, stolen: times in which the host did not run the CPU that a thread of the guest needed.
 *
 *	guest, CPU 0       app runs . . . . . . . . . .| other runs
 *	host, vCPU thread  Running |R preempted|Running ...
 *	host, its CPU              |load runs  |
 */
#include "analyze/report/pass.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/report/vm_host.h"
#include "base/core/mem.h"

struct stolen {
	uint32_t utid, cpu, vcpu; /* cpu: the guest's; vcpu: a utid */
	uint32_t host_cpu; /* NULL_U32: not known */
	uint32_t waker; /* a utid: ended the last sleep in it; NULL_U32: none, or not known */
	bool waits;
	int64_t begin, end, blocked; /* begin and end by the host's clock */
	uint32_t number; /* in the order of time */
};

struct stolen_walk {
	const struct pass_input *in;
	struct vm_host host;
	struct stolen *list; /* owned */
	size_t n, cap;
	struct groups holders; /* by number and utid, in the order of numbers */
	bool failed;
};

/* Returns the CPU on which the thread runs next; NULL_U32: not known. */
static uint32_t find_next_cpu(const struct vcpu *v, size_t at)
{
	while (at < v->n && !v->spans[at].running)
		at++;
	return at < v->n ? v->spans[at].cpu : NULL_U32;
}

static struct stolen *add_stolen(struct stolen_walk *w, const struct stolen *s)
{
	if (w->n == NULL_U32 || array_reserve(&w->list, &w->cap, w->n + 1, sizeof(*s)) < 0) {
		w->failed = true;
		return NULL;
	}
	w->list[w->n] = *s;
	w->list[w->n].number = (uint32_t)w->n;
	return &w->list[w->n++];
}

/* Returns true if the thread sleeps in the span, and the trace has its wakeup. Without the wakeup,
 * the thread may have waited for most of the span. */
static bool is_sleep_with_wakeup(const struct vcpu *v, size_t at)
{
	return v->spans[at].blocked && !(at + 1 < v->n && v->spans[at + 1].running);
}

/* Adds the part of a span that is not running, to the part before it or as a new one. */
static void add_span_off_cpu(struct stolen_walk *w, const struct stolen *of, const struct vcpu *v,
			     size_t at)
{
	const struct vcpu_span *span = &v->spans[at];
	int64_t begin = MAX(of->begin, span->begin), end = MIN(of->end, span->end);
	struct stolen *last = w->n ? &w->list[w->n - 1] : NULL;

	if (last && last->utid == of->utid && last->end == begin && last->waits == of->waits)
		last->end = end;
	else
		last = add_stolen(w, &(struct stolen){.utid = of->utid,
						      .cpu = of->cpu,
						      .vcpu = v->utid,
						      .host_cpu = find_next_cpu(v, at),
						      .waker = NULL_U32,
						      .waits = of->waits,
						      .begin = begin,
						      .end = end});
	if (!last)
		return;
	if (is_sleep_with_wakeup(v, at)) {
		last->blocked += end - begin;
		last->waker = at + 1 < v->n ? v->spans[at + 1].waker : NULL_U32;
	} else if (last->host_cpu != NULL_U32) {
		pass_add_holders(
			w->in,
			&(struct cpu_wait){
				.utid = v->utid, .cpu = last->host_cpu, .begin = begin, .end = end},
			last->number, &w->holders);
	}
}

/* Adds what the host took of an interval in which a thread of the guest needs a CPU. */
static void add_stolen_of_interval(struct stolen_walk *w, struct stolen *of)
{
	const struct vcpu *v = vm_host_vcpu(&w->host, of->cpu);

	if (__builtin_add_overflow(MAX(of->begin, w->in->from), w->host.behind, &of->begin) ||
	    __builtin_add_overflow(MIN(of->end, w->in->to), w->host.behind, &of->end))
		return;
	for (size_t i = v ? vcpu_span_after(v, of->begin) : 0; v && i < v->n && !w->failed; i++) {
		if (v->spans[i].begin >= of->end)
			break;
		if (!v->spans[i].running)
			add_span_off_cpu(w, of, v, i);
	}
}

/* Returns the end of a row of thread_state. Without an end, the last row of a thread lasts until
 * the end of the window, and any other has no length. */
static int64_t end_of_state(const struct pass_input *in, uint32_t row)
{
	const struct table *t = &in->s->tables[TABLE_THREAD_STATE];
	int64_t ts = table_ts(t, STATE_TS, row), dur = table_dur(t, STATE_DUR, row), end;

	if (dur >= 0 && !__builtin_add_overflow(ts, dur, &end))
		return end;
	return in->last_of_thread[table_u32(t, STATE_UTID, row)] == row ? in->to : ts;
}

/* Adds what the host took of a run, and of the wait before it, which was for the same CPU. */
static void add_stolen_of_run(struct stolen_walk *w, uint32_t row, uint32_t before)
{
	const struct table *t = &w->in->s->tables[TABLE_THREAD_STATE];
	int64_t begin = table_ts(t, STATE_TS, row);
	struct stolen of = {.utid = table_u32(t, STATE_UTID, row),
			    .cpu = table_u32(t, STATE_MORE, row)};

	if (of.cpu == NULL_U32)
		return;
	of.cpu %= STORE_CPUS_OF_A_MACHINE;
	if (before != NULL_U32 && pass_is_runnable(w->in->s, table_u16(t, STATE_STATE, before)) &&
	    table_u16(t, STATE_STATE, before) != STORE_STATE_RUNNING &&
	    end_of_state(w->in, before) == begin) {
		of.waits = true;
		of.begin = table_ts(t, STATE_TS, before);
		of.end = begin;
		add_stolen_of_interval(w, &of);
	}
	of.waits = false;
	of.begin = begin;
	of.end = end_of_state(w->in, row);
	add_stolen_of_interval(w, &of);
}

static void walk_stolen(struct stolen_walk *w)
{
	const struct table *t = &w->in->s->tables[TABLE_THREAD_STATE];
	size_t threads = w->in->s->tables[TABLE_THREAD].rows;
	uint32_t *last = malloc((threads + 1) * sizeof(*last)); /* by utid: its row before */

	w->failed = !last;
	if (last)
		memset(last, 0xff, (threads + 1) * sizeof(*last));
	for (uint32_t row = 0; last && row < t->rows && !w->failed; row++) {
		uint32_t utid = table_u32(t, STATE_UTID, row);

		if (!w->in->chosen[utid])
			continue;
		if (table_u16(t, STATE_STATE, row) == STORE_STATE_RUNNING)
			add_stolen_of_run(w, row, last[utid]);
		last[utid] = row;
	}
	w->failed |= w->holders.failed;
	free(last);
}

static int compare_longest_stolen(const void *a, const void *b)
{
	const struct stolen *x = a, *y = b;
	int64_t dx = x->end - x->begin, dy = y->end - y->begin;

	if (dx != dy)
		return dx > dy ? -1 : 1;
	return x->number < y->number ? -1 : x->number > y->number;
}

static int compare_holders_by_number(const void *a, const void *b)
{
	uint64_t x = ((const struct group *)a)->key, y = ((const struct group *)b)->key;

	return x < y ? -1 : x > y;
}

/* Adds the row of a stolen time and those of its holders, which are sorted by number. */
static void add_rows_of_stolen(const struct stolen_walk *w, const struct stolen *s,
			       struct pass_rows *ret)
{
	const struct groups *g = &w->holders;
	uint64_t first = (uint64_t)s->number << 32;
	size_t lo = 0, hi = g->n;

	PASS_ROW(ret, s->number, s->utid, s->begin - w->host.behind, s->end - s->begin, s->waits,
		 s->cpu, s->vcpu,
		 s->host_cpu == NULL_U32 ? NULL_I64 : s->host_cpu % STORE_CPUS_OF_A_MACHINE,
		 s->blocked, pass_id_value(s->waker), NULL_I64, NULL_I64, NULL_I64);
	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (g->list[mid].key < first)
			lo = mid + 1;
		else
			hi = mid;
	}
	for (; lo < g->n && g->list[lo].key >> 32 == s->number; lo++)
		PASS_ROW(ret, s->number, s->utid, (int64_t)g->list[lo].other, NULL_I64, NULL_I64,
			 NULL_I64, NULL_I64, NULL_I64, NULL_I64, NULL_I64,
			 (int64_t)(uint32_t)g->list[lo].key, (int64_t)g->list[lo].total,
			 (int64_t)g->list[lo].n);
}

void pass_fill_stolen(const struct pass_input *in, struct pass_rows *ret)
{
	struct stolen_walk w = {.in = in};

	ret->failed = !vm_host_find(&w.host, in);
	if (!ret->failed && w.host.n) {
		walk_stolen(&w);
		ret->failed = w.failed;
	}
	if (!ret->failed && w.n) {
		qsort(w.list, w.n, sizeof(*w.list), compare_longest_stolen);
		if (w.holders.n)
			qsort(w.holders.list, w.holders.n, sizeof(*w.holders.list),
			      compare_holders_by_number);
		for (size_t i = 0; i < w.n && (!in->top || i < (size_t)in->top); i++)
			add_rows_of_stolen(&w, &w.list[i], ret);
	}
	vm_host_deinit(&w.host);
	groups_deinit(&w.holders);
	free(w.list);
}

void pass_fill_vm_host(const struct pass_input *in, struct pass_rows *ret)
{
	struct vm_host h;

	ret->failed = !vm_host_find(&h, in);
	for (size_t i = h.first; !ret->failed && i < h.first + h.n; i++)
		PASS_ROW(ret, h.vcpus[i].upid, h.vcpus[i].utid, h.vcpus[i].id, h.vcpus[i].has_entry,
			 (int64_t)h.checked, (int64_t)h.outside, h.behind, h.error);
	vm_host_deinit(&h);
}
