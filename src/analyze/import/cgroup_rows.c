/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/import/cgroup_rows.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/import/remembered.h"
#include "gen/fields.h"
#include "wire/pb_read.h"

/* The row of a new thread may have a time shortly before or after that of its first event. */
#define SLACK_NS 1000000

/* From ts on, a thread, or each thread of the process tid, is in a group. */
struct cgroup_member {
	uint32_t machine;
	bool is_process;
	bool is_initial; /* it was already a member before ts */
	bool is_known; /* set in the first row of a task that the table thread has already */
	int32_t tid, tgid;
	uint32_t cgroup; /* row */
	int64_t ts;
};

/* Adds ns to a time. Times in a trace may be anything, so a sum that overflows becomes
 * INT64_MIN or INT64_MAX. */
static int64_t add_to_time(int64_t t, int64_t ns)
{
	int64_t sum;

	return __builtin_add_overflow(t, ns, &sum) ? (ns < 0 ? INT64_MIN : INT64_MAX) : sum;
}

static int64_t duration_between(int64_t from, int64_t to)
{
	int64_t ns;

	return from >= to ? 0 : __builtin_sub_overflow(to, from, &ns) ? INT64_MAX : ns;
}

/* ---- groups ---- */

static void clear_texts(struct table *t, uint32_t row)
{
	for (unsigned c = CGROUP_PATH; c <= CGROUP_INVOCATION; c++)
		if (t->def->columns[c].kind == COLUMN_STRING)
			table_set_u32(t, c, row, NULL_U32);
}

static uint32_t cgroup_row_add(struct import *im, const struct machine *m, uint64_t inode)
{
	struct table *t = import_table(im, TABLE_CGROUP);
	uint32_t row = table_append(t);

	table_set_i64(t, CGROUP_INODE, row, (int64_t)inode);
	table_set_u32(t, CGROUP_PARENT, row, NULL_U32);
	clear_texts(t, row);
	table_set_u32(t, CGROUP_MACHINE, row, m->row);
	return row;
}

uint32_t rows_cgroup_get(struct import *im, const struct machine *m, uint64_t inode)
{
	int64_t *row = import_remembered(im, m, REMEMBER_CGROUP, inode);

	if (!row)
		return NULL_U32;
	if (!*row)
		*row = (int64_t)cgroup_row_add(im, m, inode) + 1;
	return (uint32_t)(*row - 1);
}

static const struct {
	uint32_t field, column;
} cgroup_texts[] = {
	{PB_CGROUP_TREE_GROUP_PATH, CGROUP_PATH},
	{PB_CGROUP_TREE_GROUP_KIND, CGROUP_KIND},
	{PB_CGROUP_TREE_GROUP_RUNTIME, CGROUP_RUNTIME},
	{PB_CGROUP_TREE_GROUP_NAME, CGROUP_NAME},
	{PB_CGROUP_TREE_GROUP_IMAGE, CGROUP_IMAGE},
	{PB_CGROUP_TREE_GROUP_NAMESPACE, CGROUP_NAMESPACE},
	{PB_CGROUP_TREE_GROUP_POD, CGROUP_POD},
	{PB_CGROUP_TREE_GROUP_CONTAINER, CGROUP_CONTAINER},
	{PB_CGROUP_TREE_GROUP_UNIT, CGROUP_UNIT},
	{PB_CGROUP_TREE_GROUP_INVOCATION_ID, CGROUP_INVOCATION},
};

static void cgroup_row_read(struct import *im, const struct machine *m,
			    const struct pb_field *group)
{
	struct table *t = import_table(im, TABLE_CGROUP);
	uint64_t id = 0, parent = 0;
	uint32_t row;

	pb_read(group, PB_TO(PB_CGROUP_TREE_GROUP_ID, &id),
		PB_TO(PB_CGROUP_TREE_GROUP_PARENT_ID, &parent));
	row = id ? rows_cgroup_get(im, m, id) : NULL_U32;
	if (row == NULL_U32)
		return;
	/* The last message of a group has all that is known. */
	clear_texts(t, row);
	pb_for_each (f, group)
		for (size_t i = 0; f.data && i < ARRAY_SIZE(cgroup_texts); i++)
			if (cgroup_texts[i].field == f.id)
				table_set_u32(t, cgroup_texts[i].column, row,
					      import_intern_text(im, &f));
	if (parent)
		table_set_u32(t, CGROUP_PARENT, row, rows_cgroup_get(im, m, parent));
}

void import_cgroup_tree(struct import *im, struct machine *m, const struct pb_field *tree)
{
	pb_for_each (f, tree)
		if (f.id == PB_CGROUP_TREE_GROUPS && f.data)
			cgroup_row_read(im, m, &f);
}

/* ---- members ---- */

static struct cgroup_member *cgroup_member_append(struct import *im)
{
	if (!budget_charge(&im->store->budget, sizeof(*im->members)))
		return NULL;
	if (array_reserve(&im->members, &im->cap_members, im->n_members + 1,
			  sizeof(*im->members))) {
		budget_fail(&im->store->budget);
		return NULL;
	}
	return &im->members[im->n_members++];
}

/* The columns of a packet; a row ends where the shortest column ends. */
struct member_columns {
	struct pb_packed time, tid, tgid, group;
};

static bool next_member(struct member_columns *c, int64_t *time, int64_t *tid, int64_t *tgid,
			uint64_t *group)
{
	uint64_t time_delta, tid_delta, tgid_delta;

	if (!pb_packed_next(&c->time, &time_delta) || !pb_packed_next(&c->tid, &tid_delta) ||
	    !pb_packed_next(&c->tgid, &tgid_delta) || !pb_packed_next(&c->group, group))
		return false;
	*time = (int64_t)((uint64_t)*time + (uint64_t)pb_unzigzag(time_delta));
	*tid = (int64_t)((uint64_t)*tid + (uint64_t)pb_unzigzag(tid_delta));
	*tgid = (int64_t)((uint64_t)*tid + (uint64_t)pb_unzigzag(tgid_delta));
	return true;
}

/* Finds or adds the rows of the packet's groups in the table cgroup. Returns their number. The
 * caller frees *ret. */
static size_t read_group_rows(struct import *im, const struct machine *m,
			      const struct pb_field *ids, uint32_t **ret)
{
	uint32_t *rows = NULL;
	size_t n = 0, cap = 0;
	uint64_t id;

	for (struct pb_packed p = pb_packed_of(ids); ids->data && pb_packed_next(&p, &id);) {
		if (array_reserve(&rows, &cap, n + 1, sizeof(*rows))) {
			budget_fail(&im->store->budget);
			break;
		}
		rows[n++] = rows_cgroup_get(im, m, id);
	}
	*ret = rows;
	return n;
}

static void read_member_rows(struct import *im, const struct machine *m, int64_t ts,
			     struct member_columns *c, const uint32_t *groups, size_t n_groups,
			     bool is_initial)
{
	int64_t tid = 0, tgid = 0;
	uint64_t group;

	while (next_member(c, &ts, &tid, &tgid, &group)) {
		bool is_process = tid == 0;
		struct cgroup_member *to;

		if (group >= n_groups || groups[group] == NULL_U32 || tid < 0 || tid > INT32_MAX ||
		    tgid <= 0 || tgid > INT32_MAX)
			continue;
		to = cgroup_member_append(im);
		if (!to)
			return;
		*to = (struct cgroup_member){.machine = m->row,
					     .is_process = is_process,
					     .is_initial = is_initial,
					     .tid = (int32_t)(is_process ? tgid : tid),
					     .tgid = (int32_t)tgid,
					     .cgroup = groups[group],
					     .ts = ts};
	}
}

void import_cgroup_members(struct import *im, struct machine *m, int64_t ts,
			   const struct pb_field *members)
{
	struct pb_field ids = {0}, time = {0}, tid = {0}, tgid = {0}, group = {0}, polled = {0};
	bool is_initial = false;
	struct member_columns c;
	uint64_t lost = 0;
	uint32_t *groups;
	size_t n_groups;

	pb_read(members, PB_TO(PB_CGROUP_MEMBERS_GROUP_IDS, &ids),
		PB_TO(PB_CGROUP_MEMBERS_TIME_DELTA, &time),
		PB_TO(PB_CGROUP_MEMBERS_TID_DELTA, &tid),
		PB_TO(PB_CGROUP_MEMBERS_TGID_DELTA, &tgid), PB_TO(PB_CGROUP_MEMBERS_GROUP, &group),
		PB_TO(PB_CGROUP_MEMBERS_IS_INITIAL, &is_initial),
		PB_TO(PB_CGROUP_MEMBERS_LOST, &lost),
		PB_TO(PB_CGROUP_MEMBERS_POLLED_BECAUSE, &polled));
	if (lost > (uint64_t)stats_get(im->store, STAT_SONDA_CGROUP_ROWS_LOST, STAT_NO_INDEX))
		stats_set(im->store, STAT_SONDA_CGROUP_ROWS_LOST, STAT_NO_INDEX,
			  (int64_t)MIN(lost, (uint64_t)INT64_MAX));
	if (polled.data)
		stats_set(im->store, STAT_SONDA_CGROUP_ROWS_POLLED, STAT_NO_INDEX, 1);
	if (!time.data || !tid.data || !tgid.data || !group.data)
		return;
	c = (struct member_columns){pb_packed_of(&time), pb_packed_of(&tid), pb_packed_of(&tgid),
				    pb_packed_of(&group)};
	n_groups = read_group_rows(im, m, &ids, &groups);
	read_member_rows(im, m, ts, &c, groups, n_groups, is_initial);
	free(groups);
}

/* ---- the end: rows of threads ---- */

static int compare_tasks(const struct cgroup_member *x, const struct cgroup_member *y)
{
	if (x->machine != y->machine)
		return x->machine < y->machine ? -1 : 1;
	if (x->is_process != y->is_process)
		return x->is_process < y->is_process ? -1 : 1;
	return x->tid < y->tid ? -1 : x->tid > y->tid;
}

static int compare_members(const void *a, const void *b)
{
	const struct cgroup_member *x = a, *y = b;
	int order = compare_tasks(x, y);

	return order ? order : x->ts < y->ts ? -1 : x->ts > y->ts;
}

/* The rows of one task, in the order of time. */
struct member_range {
	const struct cgroup_member *at, *end;
};

static struct member_range find_members(const struct import *im, const struct cgroup_member *task)
{
	size_t lo = 0, hi = im->n_members;
	struct member_range r;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (compare_tasks(&im->members[mid], task) < 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	r.at = r.end = im->members + lo;
	while (r.end < im->members + im->n_members && compare_tasks(r.end, task) == 0)
		r.end++;
	return r;
}

static const struct cgroup_member *pop_earlier_member(struct member_range *a,
						      struct member_range *b)
{
	if (a->at == a->end)
		return b->at == b->end ? NULL : b->at++;
	return b->at < b->end && b->at->ts < a->at->ts ? b->at++ : a->at++;
}

/* The time in which a thread may have rows: before and after it, the tid may have been that of
 * another thread. */
struct thread_life {
	uint32_t utid;
	int64_t start, end; /* INT64_MIN, INT64_MAX: unknown */
};

static void add_thread_cgroup(struct import *im, const struct thread_life *of, int64_t ts,
			      uint32_t cgroup)
{
	struct table *t = import_table(im, TABLE_THREAD_CGROUP);
	uint32_t row = table_append(t);

	table_set_u32(t, THREAD_CGROUP_UTID, row, of->utid);
	table_set_ts(t, THREAD_CGROUP_TS, row, ts);
	table_set_dur(t, THREAD_CGROUP_DUR, row,
		      duration_between(ts, MIN(of->end, im->store->end_ts)));
	table_set_u32(t, THREAD_CGROUP_CGROUP, row, cgroup);
}

static void add_thread_cgroups(struct import *im, const struct thread_life *of,
			       struct member_range direct, struct member_range process)
{
	struct table *t = import_table(im, TABLE_THREAD_CGROUP);
	const struct cgroup_member *c;
	bool is_first = true;

	while ((c = pop_earlier_member(&direct, &process)) && !im->store->budget.error) {
		int64_t ts = MAX(c->ts, of->start);
		uint32_t last = t->rows - 1;

		if (c->ts < add_to_time(of->start, -SLACK_NS))
			continue;
		if (c->ts > add_to_time(of->end, SLACK_NS))
			break;
		if (is_first && (c->is_initial || c->ts < add_to_time(of->start, SLACK_NS)))
			ts = MAX(of->start, MIN(im->store->start_ts, c->ts));
		if (!is_first && table_u32(t, THREAD_CGROUP_CGROUP, last) == c->cgroup)
			continue;
		if (!is_first)
			table_set_dur(t, THREAD_CGROUP_DUR, last,
				      duration_between(table_ts(t, THREAD_CGROUP_TS, last), ts));
		add_thread_cgroup(im, of, ts, c->cgroup);
		is_first = false;
	}
}

/* Returns the time at which each thread ends, by utid, or NULL if out of memory. The caller frees
 * it. A thread ends at the latest shortly before the next thread with its tid starts. */
static int64_t *find_ends_of_threads(const struct import *im)
{
	const struct table *threads = &im->store->tables[TABLE_THREAD];
	int64_t *ends = malloc(((size_t)threads->rows + 1) * sizeof(*ends));

	for (uint32_t utid = 0; ends && utid < threads->rows; utid++) {
		int64_t end = table_i64(threads, THREAD_END_TS, utid);

		ends[utid] = end == NULL_I64 ? INT64_MAX : end;
	}
	for (uint32_t utid = 0; ends && utid < threads->rows && utid < im->infos.n_threads;
	     utid++) {
		uint32_t older = im->infos.threads[utid].older;
		int64_t start = table_i64(threads, THREAD_START_TS, utid);

		if (older != NULL_U32 && start != NULL_I64)
			ends[older] = MIN(ends[older], add_to_time(start, -SLACK_NS));
	}
	return ends;
}

/* Finds the members that are this thread, and those that are its process as a whole. */
static void find_members_of_thread(const struct import *im, uint32_t utid,
				   struct member_range *ret_direct,
				   struct member_range *ret_process)
{
	const struct table *threads = &im->store->tables[TABLE_THREAD];
	uint32_t upid = table_u32(threads, THREAD_UPID, utid);
	int64_t tid = table_i64(threads, THREAD_TID, utid);
	int64_t pid = upid == NULL_U32
			      ? 0
			      : table_i64(&im->store->tables[TABLE_PROCESS], PROCESS_PID, upid);
	struct cgroup_member task = {.machine = table_u32(threads, THREAD_MACHINE, utid)};

	*ret_direct = *ret_process = (struct member_range){NULL, NULL};
	if (tid <= 0 || tid > INT32_MAX || pid < 0 || pid > INT32_MAX)
		return;
	task.tid = (int32_t)tid;
	*ret_direct = find_members(im, &task);
	task.tid = (int32_t)pid;
	task.is_process = true;
	*ret_process = find_members(im, &task);
}

static void add_cgroups_of_thread(struct import *im, uint32_t utid, int64_t end)
{
	int64_t start = table_i64(import_table(im, TABLE_THREAD), THREAD_START_TS, utid);
	const struct thread_life of = {utid, start == NULL_I64 ? INT64_MIN : start, end};
	struct member_range direct, process;

	find_members_of_thread(im, utid, &direct, &process);
	add_thread_cgroups(im, &of, direct, process);
}

/* Marks the first member of this thread, and of its process, as known: the table thread already has
 * the task. */
static void mark_members_of_thread(struct import *im, uint32_t utid)
{
	struct member_range direct, process;

	find_members_of_thread(im, utid, &direct, &process);
	if (direct.at < direct.end)
		im->members[direct.at - im->members].is_known = true;
	if (process.at < process.end)
		im->members[process.at - im->members].is_known = true;
}

/* Adds the threads and processes that only members name. */
static void make_threads_of_members(struct import *im)
{
	for (uint32_t utid = 0; utid < import_table(im, TABLE_THREAD)->rows; utid++)
		mark_members_of_thread(im, utid);
	for (size_t i = 0; i < im->n_members; i++) {
		const struct cgroup_member *c = &im->members[i];
		struct tasks *t = &im->machines[c->machine]->tasks;

		if (c->is_known || (i && compare_tasks(&c[-1], c) == 0))
			continue;
		if (c->is_process)
			tasks_get_process(t, c->tid);
		else
			tasks_get_thread_of_process(t, c->tid, c->tgid);
	}
}

void import_cgroup_members_finish(struct import *im)
{
	int64_t *ends;

	if (!im->n_members)
		return;
	qsort(im->members, im->n_members, sizeof(*im->members), compare_members);
	make_threads_of_members(im);
	/* A trace that only has such rows ends with the last of them. */
	if (im->store->start_ts > im->store->end_ts)
		for (size_t i = 0; i < im->n_members; i++)
			import_extend_bounds(im, im->members[i].ts);
	ends = find_ends_of_threads(im);
	if (!ends)
		budget_fail(&im->store->budget);
	for (uint32_t utid = 0; ends && utid < import_table(im, TABLE_THREAD)->rows; utid++)
		add_cgroups_of_thread(im, utid, ends[utid]);
	free(ends);
}

void cgroup_rows_deinit(struct import *im)
{
	free(im->members);
}
