/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/import/tasks.h"

#include <errno.h>
#include <stdlib.h>

#include "analyze/store/stats.h"
#include "base/core/hash_table.h"
#include "base/core/mem.h"

/* Tids that Linux can have (PID_MAX_LIMIT) are in pages of arrays. Other tids, such as those that
 * track events invent, are in a hash. */
#define ARRAY_TIDS (1u << 22)
#define PAGE_TIDS 1024u
#define PAGES (ARRAY_TIDS / PAGE_TIDS)

struct task_number {
	int64_t number;
	uint32_t id; /* utid or upid */
	UT_hash_handle hh;
};

/* Work that waits until the process of a thread is known: `other` is the utid of a thread of that
 * process, or the upid of a child of it (is_child). */
struct task_wait {
	uint32_t next; /* index in task_infos.waits; NULL_U32: none */
	uint32_t other;
	bool is_child;
};

static void tasks_set_enomem(struct tasks *t)
{
	if (!t->store->budget.error)
		t->store->budget.error = -ENOMEM;
}

static struct table *thread_table(const struct tasks *t)
{
	return &t->store->tables[TABLE_THREAD];
}

static struct table *process_table(const struct tasks *t)
{
	return &t->store->tables[TABLE_PROCESS];
}

/* ---- numbers ---- */

static uint32_t find_task_number(struct task_number *const *hash, int64_t number)
{
	struct task_number *n;

	HASH_FIND(hh, *hash, &number, sizeof(number), n);
	return n ? n->id : NULL_U32;
}

static void tasks_set_number(struct tasks *t, struct task_number **hash, int64_t number,
			     uint32_t id)
{
	struct task_number *n;

	HASH_FIND(hh, *hash, &number, sizeof(number), n);
	if (!n) {
		n = budget_alloc(&t->store->budget, sizeof(*n));
		if (n)
			n->number = number;
		n = BUDGET_HASH_ADD(&t->store->budget, *hash, number, n);
	}
	if (n)
		n->id = id;
}

static void free_numbers(struct task_number **hash)
{
	HASH_FREE(*hash);
}

static uint32_t newest_thread(const struct tasks *t, int64_t tid)
{
	const uint32_t *page;

	if (tid < 0 || tid >= ARRAY_TIDS)
		return find_task_number(&t->tids, tid);
	page = t->pages ? t->pages[tid / PAGE_TIDS] : NULL;
	return page ? page[tid % PAGE_TIDS] : NULL_U32;
}

static void set_newest_thread(struct tasks *t, int64_t tid, uint32_t utid)
{
	uint32_t **page;

	if (tid < 0 || tid >= ARRAY_TIDS) {
		tasks_set_number(t, &t->tids, tid, utid);
		return;
	}
	if (!t->pages)
		t->pages = calloc(PAGES, sizeof(*t->pages));
	if (!t->pages)
		return tasks_set_enomem(t);
	page = &t->pages[tid / PAGE_TIDS];
	if (!*page) {
		*page = malloc(PAGE_TIDS * sizeof(**page));
		if (!*page)
			return tasks_set_enomem(t);
		for (unsigned i = 0; i < PAGE_TIDS; i++)
			(*page)[i] = NULL_U32;
	}
	(*page)[tid % PAGE_TIDS] = utid;
}

/* ---- rows ---- */

static uint32_t tasks_add_thread(struct tasks *t, int64_t tid, int64_t start)
{
	struct table *rows = thread_table(t);
	uint32_t utid = table_append(rows);

	table_set_i64(rows, THREAD_TID, utid, tid);
	table_set_u32(rows, THREAD_NAME, utid, NULL_U32);
	table_set_i64(rows, THREAD_START_TS, utid, start);
	table_set_i64(rows, THREAD_END_TS, utid, NULL_I64);
	table_set_u32(rows, THREAD_UPID, utid, NULL_U32);
	table_set_u8(rows, THREAD_IS_MAIN, utid, NULL_U8);
	table_set_u8(rows, THREAD_IS_IDLE, utid, 0);
	table_set_u32(rows, THREAD_MACHINE, utid, t->machine);
	table_set_u32(rows, THREAD_ARGS, utid, NULL_U32);
	if (array_reserve(&t->infos->threads, &t->infos->cap_threads, (size_t)utid + 1,
			  sizeof(*t->infos->threads))) {
		tasks_set_enomem(t);
		return t->infos->n_threads ? (uint32_t)t->infos->n_threads - 1 : 0;
	}
	t->infos->threads[utid] = (struct thread_info){.older = NULL_U32,
						       .oldest = utid,
						       .free = NULL_U32,
						       .state_row = NULL_U32,
						       .blocked_row = NULL_U32,
						       .timer_due = NULL_I64,
						       .waits = NULL_U32,
						       .in_write = NULL_U32,
						       .rank = NO_RANK};
	t->infos->n_threads = MAX(t->infos->n_threads, (size_t)utid + 1);
	return utid;
}

static uint32_t tasks_add_process(struct tasks *t, int64_t pid)
{
	struct table *rows = process_table(t);
	uint32_t upid = table_append(rows);

	table_set_i64(rows, PROCESS_PID, upid, pid);
	table_set_u32(rows, PROCESS_NAME, upid, NULL_U32);
	table_set_i64(rows, PROCESS_START_TS, upid, NULL_I64);
	table_set_i64(rows, PROCESS_END_TS, upid, NULL_I64);
	table_set_u32(rows, PROCESS_PARENT, upid, NULL_U32);
	table_set_u32(rows, PROCESS_UID, upid, NULL_U32);
	table_set_u32(rows, PROCESS_CMDLINE, upid, NULL_U32);
	table_set_u32(rows, PROCESS_ARGS, upid, NULL_U32);
	table_set_u32(rows, PROCESS_MACHINE, upid, t->machine);
	if (array_reserve(&t->infos->processes, &t->infos->cap_processes, (size_t)upid + 1,
			  sizeof(*t->infos->processes))) {
		tasks_set_enomem(t);
		return t->infos->n_processes ? (uint32_t)t->infos->n_processes - 1 : 0;
	}
	t->infos->processes[upid] = (struct process_info){.is_kthread = NULL_U8, .rank = NO_RANK};
	t->infos->n_processes = MAX(t->infos->n_processes, (size_t)upid + 1);
	return upid;
}

uint32_t tasks_upid(const struct tasks *t, uint32_t utid)
{
	return table_u32(thread_table(t), THREAD_UPID, utid);
}

/* Replaces the parent that a process tree named: a tree names 0 for a process that is ending. */
static void set_parent_process(struct tasks *t, uint32_t upid, uint32_t parent)
{
	table_set_u32(process_table(t), PROCESS_PARENT, upid, parent);
}

/* Returns the key of the thread of a process in the list whose last thread is `oldest`. */
static int64_t member_key(uint32_t oldest, uint32_t upid)
{
	return (int64_t)((uint64_t)oldest << 32 | upid);
}

static void add_thread_to_process(struct tasks *t, uint32_t utid, uint32_t upid)
{
	uint32_t oldest = t->infos->threads[utid].oldest, known;

	if (utid == oldest)
		return;
	known = find_task_number(&t->members, member_key(oldest, upid));
	if (known == NULL_U32 || known < utid)
		tasks_set_number(t, &t->members, member_key(oldest, upid), utid);
}

/* Assigns a thread to a process. Returns false, and changes nothing, if it already has a
 * process. */
static bool set_first_process(struct tasks *t, uint32_t utid, uint32_t upid)
{
	struct table *rows = thread_table(t);
	int64_t tid = table_i64(rows, THREAD_TID, utid),
		pid = table_i64(process_table(t), PROCESS_PID, upid);

	if (table_u32(rows, THREAD_UPID, utid) != NULL_U32)
		return false;
	table_set_u32(rows, THREAD_UPID, utid, upid);
	table_set_u8(rows, THREAD_IS_MAIN, utid, tid == pid);
	add_thread_to_process(t, utid, upid);
	return true;
}

/* Takes the list of waits from the thread, and appends `rest`. Returns the first wait. */
static uint32_t detach_waiting_tasks(struct tasks *t, uint32_t utid, uint32_t rest)
{
	uint32_t first = t->infos->threads[utid].waits, last = first;

	if (first == NULL_U32)
		return rest;
	t->infos->threads[utid].waits = NULL_U32;
	while (t->infos->waits[last].next != NULL_U32)
		last = t->infos->waits[last].next;
	t->infos->waits[last].next = rest;
	return first;
}

/* Assigns the thread to the process, then the threads that wait for the thread's process, then
 * those that wait for these, and so on. */
static void assign_process(struct tasks *t, uint32_t utid, uint32_t upid)
{
	uint32_t wait = set_first_process(t, utid, upid) ? detach_waiting_tasks(t, utid, NULL_U32)
							 : NULL_U32;

	while (wait != NULL_U32) {
		struct task_wait w = t->infos->waits[wait];

		wait = w.next;
		if (w.is_child)
			set_parent_process(t, w.other, upid);
		else if (set_first_process(t, w.other, upid))
			wait = detach_waiting_tasks(t, w.other, wait);
	}
}

/* Keeps `other` until the process of `thread` is known. That process then becomes the parent of the
 * process `other` (is_child), or the process of the thread `other`. */
static void add_waiting_task(struct tasks *t, uint32_t thread, uint32_t other, bool is_child)
{
	struct task_infos *in = t->infos;

	if (!budget_charge(&t->store->budget, sizeof(*in->waits)) ||
	    array_reserve(&in->waits, &in->cap_waits, in->n_waits + 1, sizeof(*in->waits)))
		return tasks_set_enomem(t);
	in->waits[in->n_waits] = (struct task_wait){
		.next = in->threads[thread].waits, .other = other, .is_child = is_child};
	in->threads[thread].waits = (uint32_t)in->n_waits++;
}

void tasks_set_parent_of(struct tasks *t, uint32_t upid, uint32_t thread)
{
	uint32_t parent = tasks_upid(t, thread);

	if (parent != NULL_U32)
		set_parent_process(t, upid, parent);
	else
		add_waiting_task(t, thread, upid, true);
}

void tasks_share_process(struct tasks *t, uint32_t utid, uint32_t thread)
{
	uint32_t known = tasks_upid(t, thread);

	if (known != NULL_U32) {
		assign_process(t, utid, known);
		return;
	}
	if (tasks_upid(t, utid) != NULL_U32) {
		assign_process(t, thread, tasks_upid(t, utid));
		return;
	}
	add_waiting_task(t, thread, utid, false);
	add_waiting_task(t, utid, thread, false);
}

/* ---- look-up ---- */

bool tasks_is_alive(const struct tasks *t, uint32_t utid)
{
	uint32_t upid = tasks_upid(t, utid);

	if (table_i64(thread_table(t), THREAD_END_TS, utid) != NULL_I64)
		return false;
	return upid == NULL_U32 || (table_i64(process_table(t), PROCESS_END_TS, upid) == NULL_I64 &&
				    !t->infos->processes[upid].replaced);
}

/* Returns the newest living thread with this tid. Dead threads newer than it leave the list. */
static uint32_t newest_living_thread(struct tasks *t, int64_t tid)
{
	uint32_t first = newest_thread(t, tid), utid = first;

	while (utid != NULL_U32 && !tasks_is_alive(t, utid))
		utid = t->infos->threads[utid].older;
	if (utid != first)
		set_newest_thread(t, tid, utid);
	return utid;
}

/* Returns the newest thread without a process in the list that begins with utid, or NULL_U32. The
 * threads before it have processes for good, so their `free` is set to skip them in the next
 * walk. */
static uint32_t newest_without_process(struct tasks *t, uint32_t utid)
{
	struct thread_info *infos = t->infos->threads;
	uint32_t found = utid, next;

	while (found != NULL_U32 && tasks_upid(t, found) != NULL_U32)
		found = infos[found].free;
	for (; utid != NULL_U32 && utid != found; utid = next) {
		next = infos[utid].free;
		infos[utid].free = found;
	}
	return found;
}

/* Returns the thread of the process in the list whose last thread is `oldest`; NULL_U32 if there is
 * none, or if it is not alive. */
static uint32_t find_thread_of_process(const struct tasks *t, uint32_t oldest, uint32_t upid)
{
	uint32_t utid = find_task_number(&t->members, member_key(oldest, upid));

	if (utid == NULL_U32 && tasks_upid(t, oldest) == upid)
		utid = oldest;
	return utid != NULL_U32 && tasks_is_alive(t, utid) ? utid : NULL_U32;
}

/* Returns the newest living thread with the tid that is of a process with this pid, or of none;
 * NULL_U32: there is none. pid: NULL_I64 for any process. */
static uint32_t find_living_thread(struct tasks *t, int64_t tid, int64_t pid)
{
	uint32_t utid = newest_living_thread(t, tid), upid, of_none, of_process = NULL_U32;

	if (utid == NULL_U32 || pid == NULL_I64 || tasks_upid(t, utid) == NULL_U32 ||
	    table_i64(process_table(t), PROCESS_PID, tasks_upid(t, utid)) == pid)
		return utid;
	of_none = newest_without_process(t, utid);
	upid = find_task_number(&t->pids, pid);
	if (upid != NULL_U32)
		of_process = find_thread_of_process(t, t->infos->threads[utid].oldest, upid);
	if (of_none == NULL_U32 || of_process == NULL_U32)
		return MIN(of_none, of_process);
	return MAX(of_none, of_process);
}

uint32_t tasks_new_thread(struct tasks *t, int64_t tid, int64_t start)
{
	uint32_t older = newest_thread(t, tid), utid = tasks_add_thread(t, tid, start);

	if (older != utid && older != NULL_U32) {
		struct thread_info *info = &t->infos->threads[utid];

		info->older = info->free = older;
		info->oldest = t->infos->threads[older].oldest;
	}
	set_newest_thread(t, tid, utid);
	return utid;
}

uint32_t tasks_find_thread(struct tasks *t, int64_t tid)
{
	return tid == 0 ? t->idle : find_living_thread(t, tid, NULL_I64);
}

uint32_t tasks_get_thread(struct tasks *t, int64_t tid)
{
	uint32_t utid = tasks_find_thread(t, tid);

	return utid != NULL_U32 ? utid : tasks_new_thread(t, tid, NULL_I64);
}

uint32_t tasks_get_process(struct tasks *t, int64_t pid)
{
	uint32_t upid = find_task_number(&t->pids, pid), utid;

	if (upid != NULL_U32)
		return upid;
	upid = tasks_add_process(t, pid);
	tasks_set_number(t, &t->pids, pid, upid);
	utid = find_living_thread(t, pid, pid);
	if (utid == NULL_U32)
		utid = tasks_new_thread(t, pid, NULL_I64);
	assign_process(t, utid, upid);
	return upid;
}

uint32_t tasks_new_process(struct tasks *t, int64_t pid, int64_t start, uint32_t *ret_main)
{
	struct task_number *n;
	uint32_t upid;

	HASH_FIND(hh, t->pids, &pid, sizeof(pid), n);
	if (n) {
		t->infos->processes[n->id].replaced = true;
		HASH_DEL(t->pids, n);
		free(n);
	}
	set_newest_thread(t, pid, NULL_U32);
	*ret_main = tasks_new_thread(t, pid, start);
	upid = tasks_get_process(t, pid);
	table_set_i64(process_table(t), PROCESS_START_TS, upid, start);
	return upid;
}

uint32_t tasks_get_thread_of_process(struct tasks *t, int64_t tid, int64_t pid)
{
	uint32_t utid = find_living_thread(t, tid, pid), upid;

	if (utid != NULL_U32 && tasks_upid(t, utid) != NULL_U32)
		return utid;
	upid = tasks_get_process(t, pid); /* the tid may be the one of its main thread */
	utid = find_living_thread(t, tid, pid);
	if (utid == NULL_U32)
		utid = tasks_new_thread(t, tid, NULL_I64);
	assign_process(t, utid, upid);
	return utid;
}

/* ---- names, ends ---- */

void tasks_name_thread(struct tasks *t, uint32_t utid, uint32_t name, enum thread_namer by)
{
	struct thread_info *info = &t->infos->threads[utid];

	if (name == NULL_U32 || by < info->namer)
		return;
	info->namer = (uint8_t)by;
	table_set_u32(thread_table(t), THREAD_NAME, utid, name);
}

void tasks_name_process(struct tasks *t, uint32_t upid, uint32_t name, enum process_namer by)
{
	struct process_info *info = &t->infos->processes[upid];

	if (name == NULL_U32 || by < info->namer)
		return;
	info->namer = (uint8_t)by;
	table_set_u32(process_table(t), PROCESS_NAME, upid, name);
}

void tasks_end_thread(struct tasks *t, int64_t tid, int64_t ts)
{
	uint32_t utid = find_living_thread(t, tid, NULL_I64), upid;

	if (utid == NULL_U32 || utid == t->idle)
		return;
	table_set_i64(thread_table(t), THREAD_END_TS, utid, ts);
	set_newest_thread(t, tid, NULL_U32);
	upid = tasks_upid(t, utid);
	if (upid != NULL_U32 && table_i64(process_table(t), PROCESS_PID, upid) == tid) {
		struct task_number *n;

		table_set_i64(process_table(t), PROCESS_END_TS, upid, ts);
		HASH_FIND(hh, t->pids, &tid, sizeof(tid), n);
		if (n) {
			HASH_DEL(t->pids, n);
			free(n);
		}
	}
}

/* ---- life ---- */

void tasks_init(struct tasks *t, struct store *store, struct task_infos *infos, uint32_t machine)
{
	uint32_t upid;

	*t = (struct tasks){.store = store, .infos = infos, .machine = machine};
	upid = tasks_add_process(t, 0);
	tasks_set_number(t, &t->pids, 0, upid);
	t->idle = tasks_new_thread(t, 0, NULL_I64);
	assign_process(t, t->idle, upid);
	table_set_u8(thread_table(t), THREAD_IS_IDLE, t->idle, 1);
	tasks_name_thread(t, t->idle, strings_intern_z(&store->strings, "swapper"), THREAD_IDLE);
}

void tasks_deinit(struct tasks *t)
{
	for (unsigned i = 0; t->pages && i < PAGES; i++)
		free(t->pages[i]);
	free(t->pages);
	free_numbers(&t->tids);
	free_numbers(&t->pids);
	free_numbers(&t->members);
	*t = (struct tasks){0};
}

void task_infos_deinit(struct task_infos *infos)
{
	free(infos->threads);
	free(infos->processes);
	free(infos->waits);
	*infos = (struct task_infos){0};
}
