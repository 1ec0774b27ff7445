/* SPDX-License-Identifier: Apache-2.0 */
/* holders, neighbours, neighbour_waits: which threads had the CPU during waits for it. */
#include "analyze/report/pass.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/stacks/stack_points.h"

/* Rows of a table that begin between two times; all rows of a table that is not sorted. */
struct row_range {
	uint32_t first, end;
};

static struct row_range find_rows_of_interval(const struct table *t, int64_t from, int64_t to)
{
	return t->unsorted
		       ? (struct row_range){0, t->rows}
		       : (struct row_range){table_lower_bound(t, from), table_lower_bound(t, to)};
}

/* Sets *ret to the wait whose first row of thread_state is `row` and whose last one is `last`, with
 * the CPU of the run that ended it. Returns false if the trace lacks that run. */
static bool find_run_that_ended_wait(const struct store *s, uint32_t row, uint32_t last,
				     struct cpu_wait *ret)
{
	const struct table *t = &s->tables[TABLE_THREAD_STATE];
	struct row_range range;
	int64_t end;

	if (__builtin_add_overflow(table_ts(t, STATE_TS, last), table_dur(t, STATE_DUR, last),
				   &end) ||
	    end == INT64_MAX)
		return false;
	range = find_rows_of_interval(t, end, end + 1);
	for (uint32_t i = range.first; i < range.end; i++)
		if (table_u32(t, STATE_UTID, i) == table_u32(t, STATE_UTID, row) &&
		    table_u16(t, STATE_STATE, i) == STORE_STATE_RUNNING &&
		    table_ts(t, STATE_TS, i) == end) {
			*ret = (struct cpu_wait){.row = row,
						 .utid = table_u32(t, STATE_UTID, row),
						 .cpu = table_u32(t, STATE_MORE, i),
						 .begin = table_ts(t, STATE_TS, row),
						 .end = end};
			return true;
		}
	return false;
}

/* Returns the start of the last run on the CPU that began no later than the wait; without such a
 * run, the start of the wait. */
static int64_t begin_of_run_before_wait(const struct table *t, const struct cpu_wait *w)
{
	uint32_t end = t->unsorted ? t->rows : table_lower_bound(t, w->begin + 1);
	int64_t last = INT64_MIN;

	for (uint32_t row = end; row-- && (t->unsorted || last == INT64_MIN);)
		if (table_u32(t, SCHED_CPU, row) == w->cpu) {
			int64_t ts = table_ts(t, SCHED_TS, row);

			last = ts <= w->begin ? MAX(last, ts) : last;
		}
	return last == INT64_MIN ? w->begin : last;
}

void pass_add_holders(const struct pass_input *in, const struct cpu_wait *w, uint32_t number,
		      struct groups *g)
{
	const struct table *t = &in->s->tables[TABLE_SCHED];
	int64_t since = begin_of_run_before_wait(t, w);
	struct row_range range = find_rows_of_interval(t, since, w->end);

	for (uint32_t row = range.first; row < range.end; row++) {
		uint32_t utid = table_u32(t, SCHED_UTID, row);
		int64_t ts, dur, end;
		struct group *group;

		if (table_u32(t, SCHED_CPU, row) != w->cpu || utid == w->utid || utid == NULL_U32)
			continue;
		ts = table_ts(t, SCHED_TS, row);
		dur = table_dur(t, SCHED_DUR, row);
		if (ts < since || ts >= w->end || (dur < 0 && in->last_of_cpu[w->cpu] != row))
			continue;
		if (dur < 0 || __builtin_add_overflow(ts, dur, &end))
			end = w->end;
		if (end <= w->begin)
			continue;
		ts = MAX(ts, w->begin);
		group = groups_add(g, &(struct group_sample){.key = (uint64_t)number << 32 | utid,
							     .ns = MIN(end, w->end) - ts});
		if (group && (group->n == 1 || ts < (int64_t)group->other))
			group->other = (uint64_t)ts;
	}
}

static int compare_group_keys(const void *a, const void *b)
{
	uint64_t x = ((const struct group *)a)->key, y = ((const struct group *)b)->key;

	return x < y ? -1 : x > y;
}

void pass_fill_holders(const struct pass_input *in, struct pass_rows *ret)
{
	int64_t first_cpu = in->machine == MACHINES_ALL ? 0 : in->machine * STORE_CPUS_OF_A_MACHINE;
	struct largest longest = {.most = (size_t)in->top};
	struct groups g = {.n = 0};
	struct cpu_wait w;

	pass_find_longest_waits(in, &longest);
	for (size_t i = 0; i < longest.n && !longest.failed && !g.failed; i++) {
		int64_t cpu;

		if (!find_run_that_ended_wait(in->s, longest.items[i].row, longest.items[i].other,
					      &w))
			continue;
		cpu = w.cpu == NULL_U32 ? NULL_I64 : w.cpu - first_cpu;
		PASS_ROW(ret, w.row, cpu, NULL_I64, w.end - w.begin, NULL_I64, w.begin);
		if (w.cpu == NULL_U32)
			continue;
		pass_add_holders(in, &w, w.row, &g);
	}
	if (g.n)
		qsort(g.list, g.n, sizeof(*g.list), compare_group_keys);
	for (size_t i = 0; i < g.n; i++)
		PASS_ROW(ret, (int64_t)(g.list[i].key >> 32), NULL_I64,
			 (int64_t)(uint32_t)g.list[i].key, (int64_t)g.list[i].total,
			 (int64_t)g.list[i].n, (int64_t)g.list[i].other);
	ret->failed |= longest.failed || g.failed;
	groups_deinit(&g);
	free(longest.items);
}

/* ---- neighbours ---- */

/* Why a chosen thread did not run, in a part of its wait. */
enum wait_cause {
	CAUSE_NEIGHBOUR, /* a thread of another subject had the CPU */
	CAUSE_OWN, /* a thread of the same subject */
	CAUSE_KERNEL, /* a kernel thread */
	CAUSE_IDLE, /* the CPU was idle: it took the time to wake up */
	CAUSE_QUOTA, /* its control group had used up cpu.max */
	CAUSE_UNKNOWN, /* the trace does not show who ran */
	CAUSES
};

/* A preempted thread counts as throttled if it waits at least this long while its CPU is idle for
 * half of the wait or more: the kernel leaves no other thread waiting for an idle CPU. */
#define QUOTA_MIN_NS 1000000

#define KTHREADD_PID 2

struct neighbour_walk {
	const struct pass_input *in;
	struct pass_who who;
	/* Owned; rows of sched by CPU in the order of time: those of CPU c from starts[c] on. */
	uint32_t *starts, *rows;
	uint32_t n_cpus;
	uint32_t *left_on; /* owned; by row of thread_state: the CPU of the thread's run before */
	struct stack_points throttled; /* single waits for the quota, by thread and time */
	struct largest waits; /* all of them; in no order */
	uint64_t causes[CAUSES]; /* ns */
};

static int compare_thread_and_time(const void *a, const void *b)
{
	const struct stack_point *x = a, *y = b;

	if (x->utid != y->utid)
		return x->utid < y->utid ? -1 : 1;
	return x->ts < y->ts ? -1 : x->ts > y->ts;
}

/* Reads the waits for the quota that linux.waits recorded, sorted by thread and time. Returns false
 * if out of memory. */
static bool read_throttled(struct neighbour_walk *w)
{
	static const char reason[] = "cgroup throttle";
	uint32_t wanted = strings_find(&w->in->s->strings, reason, sizeof(reason) - 1);
	size_t n = 0;

	if (wanted == NULL_U32)
		return true;
	if (!stack_points_read(w->in->s, STACKS_SINGLE_WAITS, &w->throttled))
		return false;
	for (size_t i = 0; i < w->throttled.n; i++)
		if (w->throttled.of[i].reason == wanted)
			w->throttled.of[n++] = w->throttled.of[i];
	w->throttled.n = n;
	if (n)
		qsort(w->throttled.of, n, sizeof(*w->throttled.of), compare_thread_and_time);
	return true;
}

/* Returns true if linux.waits recorded most of the wait as a wait for the quota. */
static bool is_recorded_as_throttled(const struct neighbour_walk *w, const struct cpu_wait *of)
{
	const struct stack_point *p = w->throttled.of;
	size_t lo = 0, hi = w->throttled.n;
	int64_t end;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (p[mid].utid < of->utid || (p[mid].utid == of->utid && p[mid].ts < of->end))
			lo = mid + 1;
		else
			hi = mid;
	}
	if (!lo || p[lo - 1].utid != of->utid)
		return false;
	p += lo - 1;
	if (p->dur < 0 || __builtin_add_overflow(p->ts, p->dur, &end))
		end = of->end;
	return MIN(end, of->end) - MAX(p->ts, of->begin) > (of->end - of->begin) / 2;
}

/* Lists the rows of sched by CPU, with one pass that counts and one that fills. Returns false if
 * out of memory. */
static bool sort_sched_rows_by_cpu(struct neighbour_walk *w)
{
	const struct table *t = &w->in->s->tables[TABLE_SCHED];

	for (uint32_t row = 0; row < t->rows; row++)
		w->n_cpus = MAX(w->n_cpus, table_u32(t, SCHED_CPU, row) + 1);
	w->starts = calloc((size_t)w->n_cpus + 2, sizeof(*w->starts));
	w->rows = malloc(((size_t)t->rows + 1) * sizeof(*w->rows));
	if (!w->starts || !w->rows)
		return false;
	for (uint32_t row = 0; row < t->rows; row++)
		w->starts[table_u32(t, SCHED_CPU, row) + 2]++;
	for (uint32_t cpu = 0; cpu < w->n_cpus; cpu++)
		w->starts[cpu + 1] += w->starts[cpu];
	for (uint32_t row = 0; row < t->rows; row++)
		w->rows[w->starts[table_u32(t, SCHED_CPU, row) + 1]++] = row;
	return true;
}

/* Sets, for each state, the CPU that its thread ran on last: a preempted thread waits for that CPU.
 * Returns false if out of memory. */
static bool find_cpus_before(struct neighbour_walk *w)
{
	const struct table *t = &w->in->s->tables[TABLE_THREAD_STATE];
	size_t threads = w->in->s->tables[TABLE_THREAD].rows;
	uint32_t *last = malloc((threads + 1) * sizeof(*last));

	w->left_on = malloc(((size_t)t->rows + 1) * sizeof(*w->left_on));
	if (last)
		memset(last, 0xff, (threads + 1) * sizeof(*last));
	for (uint32_t row = 0; last && w->left_on && row < t->rows; row++) {
		uint32_t utid = table_u32(t, STATE_UTID, row);

		w->left_on[row] = last[utid];
		if (table_u16(t, STATE_STATE, row) == STORE_STATE_RUNNING)
			last[utid] = table_u32(t, STATE_MORE, row);
	}
	free(last);
	return last && w->left_on;
}

static bool neighbour_walk_init(struct neighbour_walk *w, const struct pass_input *in)
{
	*w = (struct neighbour_walk){.in = in, .waits = {.most = SIZE_MAX}};
	if (!pass_who_init(&w->who, in) || !read_throttled(w) || !sort_sched_rows_by_cpu(w) ||
	    !find_cpus_before(w))
		return false;
	pass_find_longest_waits(in, &w->waits);
	return !w->waits.failed;
}

static void neighbour_walk_deinit(struct neighbour_walk *w)
{
	pass_who_deinit(&w->who);
	free(w->starts);
	free(w->rows);
	free(w->left_on);
	free(w->throttled.of);
	free(w->waits.items);
}

static bool is_kernel_thread(const struct store *s, uint32_t utid)
{
	const struct table *processes = &s->tables[TABLE_PROCESS];
	uint32_t upid = table_u32(&s->tables[TABLE_THREAD], THREAD_UPID, utid);
	uint32_t parent = upid == NULL_U32 ? upid : table_u32(processes, PROCESS_PARENT, upid);

	if (upid != NULL_U32 && table_i64(processes, PROCESS_PID, upid) == KTHREADD_PID)
		return true;
	return parent != NULL_U32 && table_i64(processes, PROCESS_PID, parent) == KTHREADD_PID;
}

static enum wait_cause find_cause(const struct neighbour_walk *w, uint32_t utid)
{
	if (table_u8(&w->in->s->tables[TABLE_THREAD], THREAD_IS_IDLE, utid) == 1)
		return CAUSE_IDLE;
	if (w->in->chosen[utid])
		return CAUSE_OWN;
	return is_kernel_thread(w->in->s, utid) ? CAUSE_KERNEL : CAUSE_NEIGHBOUR;
}

/* Returns the place in rows of the first run on the CPU that may end after ts. */
static uint32_t find_first_run_after(const struct neighbour_walk *w, uint32_t cpu, int64_t ts)
{
	const struct table *t = &w->in->s->tables[TABLE_SCHED];
	uint32_t lo = w->starts[cpu], hi = w->starts[cpu + 1];

	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (table_ts(t, SCHED_TS, w->rows[mid]) <= ts)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo > w->starts[cpu] ? lo - 1 : lo;
}

/* Calls part for each run of another thread on the CPU within the wait. Returns for how long no run
 * is known, in ns. */
static int64_t for_each_run_during_wait(const struct neighbour_walk *w, const struct cpu_wait *of,
					void (*part)(void *ctx, enum wait_cause cause,
						     const struct pass_span *s),
					void *ctx)
{
	const struct table *t = &w->in->s->tables[TABLE_SCHED];
	int64_t known = 0;

	if (of->cpu == NULL_U32 || of->cpu >= w->n_cpus)
		return of->end - of->begin;
	for (uint32_t i = find_first_run_after(w, of->cpu, of->begin); i < w->starts[of->cpu + 1];
	     i++) {
		uint32_t row = w->rows[i], utid = table_u32(t, SCHED_UTID, row);
		int64_t ts = table_ts(t, SCHED_TS, row), dur = table_dur(t, SCHED_DUR, row), end;
		struct pass_span s;

		if (ts >= of->end)
			break;
		if (dur < 0 || __builtin_add_overflow(ts, dur, &end))
			end = w->in->last_of_cpu[of->cpu] == row ? of->end : ts;
		s = (struct pass_span){.row = row,
				       .utid = utid,
				       .begin = MAX(ts, of->begin),
				       .end = MIN(end, of->end)};
		if (utid == of->utid || s.end <= s.begin ||
		    utid >= w->in->s->tables[TABLE_THREAD].rows)
			continue;
		known += s.end - s.begin;
		part(ctx, find_cause(w, utid), &s);
	}
	return MAX(of->end - of->begin - known, 0);
}

/* How a wait is divided among the causes. */
struct wait_parts {
	int64_t ns[CAUSES];
};

static void add_run_to_wait_parts(void *ctx, enum wait_cause cause, const struct pass_span *s)
{
	((struct wait_parts *)ctx)->ns[cause] += s->end - s->begin;
}

/* Sets the wait, its parts, and its largest part. Returns false if its end was not recorded. */
static bool divide_wait_by_cause(const struct neighbour_walk *w, const struct largest_item *item,
				 struct cpu_wait *ret, struct wait_parts *parts,
				 enum wait_cause *ret_cause)
{
	bool woken = pass_waker_row(w->in->s, item->row) != NULL_U32;
	int64_t dur;

	if (!find_run_that_ended_wait(w->in->s, item->row, item->other, ret))
		return false;
	dur = ret->end - ret->begin;
	if (!woken && w->left_on[item->row] != NULL_U32)
		ret->cpu = w->left_on[item->row];
	*parts = (struct wait_parts){.ns = {0}};
	parts->ns[CAUSE_UNKNOWN] = for_each_run_during_wait(w, ret, add_run_to_wait_parts, parts);
	if (is_recorded_as_throttled(w, ret) ||
	    (!woken && dur >= QUOTA_MIN_NS && parts->ns[CAUSE_IDLE] >= dur / 2))
		*parts = (struct wait_parts){.ns = {[CAUSE_QUOTA] = dur}};
	*ret_cause = CAUSE_NEIGHBOUR;
	for (unsigned i = 0; i < CAUSES; i++)
		if (parts->ns[i] > parts->ns[*ret_cause])
			*ret_cause = (enum wait_cause)i;
	return true;
}

static void add_divided_waits(struct neighbour_walk *w, struct groups *g)
{
	struct wait_parts parts;
	enum wait_cause cause;
	struct cpu_wait wait;

	for (size_t i = 0; i < w->waits.n; i++) {
		struct group *group;

		if (!divide_wait_by_cause(w, &w->waits.items[i], &wait, &parts, &cause))
			continue;
		group = groups_add(g, &(struct group_sample){.key = cause,
							     .ns = wait.end - wait.begin,
							     .ts = wait.begin});
		for (unsigned k = 0; group && !g->filling && k < CAUSES; k++)
			w->causes[k] += (uint64_t)parts.ns[k];
	}
}

void pass_fill_neighbour_waits(const struct pass_input *in, struct pass_rows *ret)
{
	struct groups g = {.n = 0};
	struct neighbour_walk w;

	ret->failed = !neighbour_walk_init(&w, in);
	if (!ret->failed)
		add_divided_waits(&w, &g);
	if (!ret->failed && groups_begin_fill(&g))
		add_divided_waits(&w, &g);
	for (unsigned cause = 0; !g.failed && cause < CAUSES; cause++) {
		const struct group *e = groups_find(&g, cause);

		if (!e && !w.causes[cause])
			continue;
		PASS_ROW(ret, cause, e ? (int64_t)e->n : 0, (int64_t)w.causes[cause],
			 e ? groups_p50(&g, e) : NULL_I64, e ? groups_p99(&g, e) : NULL_I64,
			 e ? e->longest : NULL_I64, e ? MAX(e->longest_ts, (int64_t)0) : NULL_I64);
	}
	ret->failed |= g.failed;
	groups_deinit(&g);
	neighbour_walk_deinit(&w);
}

struct neighbour_sum {
	const struct neighbour_walk *w;
	struct groups *g;
};

static void add_neighbour(void *ctx, enum wait_cause cause, const struct pass_span *s)
{
	struct neighbour_sum *sum = ctx;

	if (cause != CAUSE_NEIGHBOUR && cause != CAUSE_KERNEL)
		return;
	groups_add(
		sum->g,
		&(struct group_sample){
			.key = (uint64_t)pass_find_who_at(&sum->w->who, s->utid, s->begin) << 32 |
			       s->utid,
			.ns = s->end - s->begin,
			.ts = s->begin});
}

/* Adds a row for each thread whose runs delayed chosen threads, by subject of these. Waits for the
 * quota do not count: other threads did not cause them. */
void pass_fill_neighbours(const struct pass_input *in, struct pass_rows *ret)
{
	struct groups g = {.n = 0};
	struct neighbour_walk w;
	struct neighbour_sum sum = {&w, &g};
	struct wait_parts parts;
	enum wait_cause cause;
	struct cpu_wait wait;

	ret->failed = !neighbour_walk_init(&w, in);
	for (size_t i = 0; !ret->failed && i < w.waits.n; i++)
		if (divide_wait_by_cause(&w, &w.waits.items[i], &wait, &parts, &cause) &&
		    cause != CAUSE_QUOTA)
			(void)for_each_run_during_wait(&w, &wait, add_neighbour, &sum);
	for (size_t i = 0; i < g.n; i++) {
		const struct group *e = &g.list[i];

		PASS_ROW(ret, pass_who_value(&w.who, (uint32_t)(e->key >> 32)),
			 (int64_t)(uint32_t)e->key, (int64_t)e->total, (int64_t)e->n, e->longest);
	}
	ret->failed |= g.failed;
	groups_deinit(&g);
	neighbour_walk_deinit(&w);
}
