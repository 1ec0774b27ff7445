/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes rows of the packets of linux.process_stats: names and parents, counters, memory
 * mappings.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/import/import_steps.h"
#include "analyze/import/remembered.h"
#include "analyze/import/tracks.h"
#include "analyze/store/columns.h"
#include "base/core/mem.h"
#include "gen/fields.h"

/* ---- ids in pid namespaces ---- */

static int64_t *remembered_tid(struct import *im, const struct machine *m, int64_t pid,
			       int64_t own_tid)
{
	return import_remembered(im, m, REMEMBER_TID, (uint64_t)pid << 32 | (uint32_t)own_tid);
}

/* Remembers the last id in `ids`, which is that in the innermost namespace. */
static void remember_own_tid(struct import *im, const struct machine *m, int32_t pid, int32_t tid,
			     const struct pb_field *row, uint32_t ids)
{
	int64_t own = 0, *remembered;

	pb_for_each (f, row)
		if (f.id == ids && !f.data)
			own = (int32_t)f.u64;
	remembered = own > 0 ? remembered_tid(im, m, pid, own) : NULL;
	if (remembered)
		*remembered = tid;
}

void tokenize_process_tree(struct import *im, struct machine *m, const struct pb_field *tree)
{
	pb_for_each (f, tree) {
		int32_t pid = 0, tid = 0;

		if (f.id == PB_PROCESS_TREE_PROCESSES && f.data) {
			pb_read(&f, PB_TO(PB_PROCESS_TREE_PROCESS_PID, &pid));
			remember_own_tid(im, m, pid, pid, &f, PB_PROCESS_TREE_PROCESS_NSPID);
		} else if (f.id == PB_PROCESS_TREE_THREADS && f.data) {
			pb_read(&f, PB_TO(PB_PROCESS_TREE_THREAD_TID, &tid),
				PB_TO(PB_PROCESS_TREE_THREAD_TGID, &pid));
			remember_own_tid(im, m, pid, tid, &f, PB_PROCESS_TREE_THREAD_NSTID);
		}
	}
}

void import_translate_ids(struct import *im, const struct machine *m, int64_t writer, int64_t *pid,
			  int64_t *tid)
{
	const int64_t *process, *thread;

	if (!writer || !import_remembered_count(im, REMEMBER_TID))
		return;
	process = remembered_tid(im, m, writer, *pid);
	if (!process || *process != writer)
		return;
	thread = remembered_tid(im, m, writer, *tid);
	*pid = writer;
	*tid = thread && *thread ? *thread : -*tid;
}

/* ProcessTree: names, parents and threads of processes, as /proc shows them. */

#define KTHREADD_PID 2
#define KWORKER "kworker/"

struct tree_process {
	int32_t pid, ppid;
	uint32_t uid; /* NULL_U32: unknown */
	uint64_t start_ns; /* CLOCK_BOOTTIME; 0: unknown */
	bool is_kthread, has_kthread, is_comm, has_start;
	size_t n_words;
	const uint8_t *name; /* the first word */
	size_t name_len;
	struct strbuf cmdline; /* all words, with spaces */
};

static void read_process(const struct pb_field *process, struct tree_process *p)
{
	pb_for_each (f, process)
		switch (f.id) {
		case PB_PROCESS_TREE_PROCESS_PID:
			p->pid = (int32_t)f.u64;
			break;
		case PB_PROCESS_TREE_PROCESS_PPID:
			p->ppid = (int32_t)f.u64;
			break;
		case PB_PROCESS_TREE_PROCESS_CMDLINE:
			if (!f.data)
				break;
			if (p->n_words++)
				strbuf_putc(&p->cmdline, ' ');
			else
				p->name = f.data;
			if (p->n_words == 1)
				p->name_len = f.len;
			strbuf_add(&p->cmdline, f.data, f.len);
			break;
		case PB_PROCESS_TREE_PROCESS_UID:
			p->uid = (uint32_t)f.u64;
			break;
		case PB_PROCESS_TREE_PROCESS_PROCESS_START_FROM_BOOT:
			p->start_ns = f.u64;
			p->has_start = true;
			break;
		case PB_PROCESS_TREE_PROCESS_IS_KTHREAD:
			p->has_kthread = true;
			p->is_kthread = f.u64 != 0;
			break;
		case PB_PROCESS_TREE_PROCESS_CMDLINE_IS_COMM:
			p->is_comm = f.u64 != 0;
			break;
		}
}

/* Returns the length of a name. For a kworker it leaves out the name of the current work, which
 * changes. */
static size_t kworker_name_len(const uint8_t *name, size_t len)
{
	if (len <= strlen(KWORKER) || memcmp(name, KWORKER, strlen(KWORKER)))
		return len;
	for (size_t i = strlen(KWORKER); i < len; i++)
		if (name[i] == '+' || name[i] == '-')
			return i;
	return len;
}

/* Returns the upid of pid, and sets its parent if it has none. A process keeps its first parent
 * here: the kernel gives it another one when that parent ends, which is only counted. */
static uint32_t process_with_parent(struct import *im, struct machine *m, int32_t pid, int32_t ppid)
{
	uint32_t parent = tasks_get_process(&m->tasks, ppid),
		 upid = tasks_get_process(&m->tasks, pid);
	struct table *t = import_table(im, TABLE_PROCESS);
	uint32_t known = table_u32(t, PROCESS_PARENT, upid);

	if (known == NULL_U32 && (upid != parent || pid == 0))
		table_set_u32(t, PROCESS_PARENT, upid, parent);
	else if (known != NULL_U32 && known != parent)
		stats_add(im->store, STAT_PROCESS_TRACKER_PARENT_PID_CHANGED, STAT_NO_INDEX, 1);
	return upid;
}

static void process_tree_add_process(struct import *im, struct machine *m, struct tree_process *p)
{
	struct table *t = import_table(im, TABLE_PROCESS);
	struct strings *strings = &im->store->strings;
	size_t cmdline_len = p->cmdline.len;
	uint32_t upid, name, cmdline;
	int64_t start;

	if (p->ppid == KTHREADD_PID) {
		p->name_len = kworker_name_len(p->name, p->name_len);
		cmdline_len = kworker_name_len((const uint8_t *)p->cmdline.s, cmdline_len);
	}
	if (p->n_words == 1 && memchr(p->name, ' ', p->name_len))
		p->name_len =
			(size_t)((const uint8_t *)memchr(p->name, ' ', p->name_len) - p->name);
	upid = process_with_parent(im, m, p->pid, p->ppid);
	name = strings_intern(strings, p->name, p->name_len);
	tasks_name_process(&m->tasks, upid, name, PROCESS_BY_SYSTEM);
	if (p->cmdline.failed)
		im->store->budget.error = -ENOMEM;
	cmdline = strings_intern(strings, p->cmdline.s, cmdline_len);
	table_set_u32(t, PROCESS_CMDLINE, upid, cmdline);
	if (p->uid != NULL_U32)
		table_set_u32(t, PROCESS_UID, upid, p->uid);
	if (p->has_start && table_i64(t, PROCESS_START_TS, upid) == NULL_I64 &&
	    clocks_to_trace_time(&m->clocks, CLOCK_BOOTTIME_ID, (int64_t)p->start_ns, &start))
		table_set_i64(t, PROCESS_START_TS, upid, start);
	if (p->has_kthread)
		im->infos.processes[upid].is_kthread = p->is_kthread;
	if (p->is_comm)
		tasks_name_thread(&m->tasks, tasks_get_thread_of_process(&m->tasks, p->pid, p->pid),
				  cmdline, THREAD_BY_TREE);
}

static bool is_kthread(struct import *im, uint32_t upid)
{
	struct table *t = import_table(im, TABLE_PROCESS);
	uint32_t parent = upid == NULL_U32 ? upid : table_u32(t, PROCESS_PARENT, upid);

	return parent != NULL_U32 && table_i64(t, PROCESS_PID, parent) == KTHREADD_PID;
}

static void process_tree_add_thread(struct import *im, struct machine *m,
				    const struct pb_field *thread)
{
	int32_t tid = 0, tgid = 0;
	struct pb_field name = {0};
	uint32_t utid;

	pb_read(thread, PB_TO(PB_PROCESS_TREE_THREAD_TID, &tid),
		PB_TO(PB_PROCESS_TREE_THREAD_TGID, &tgid),
		PB_TO(PB_PROCESS_TREE_THREAD_NAME, &name));
	utid = tasks_get_thread_of_process(&m->tasks, tid, tgid);
	if (!name.data)
		return;
	if (tid == tgid && is_kthread(im, tasks_upid(&m->tasks, utid)))
		name.len = kworker_name_len(name.data, name.len);
	tasks_name_thread(&m->tasks, utid, strings_intern(&im->store->strings, name.data, name.len),
			  THREAD_BY_TREE);
}

void import_process_tree(struct import *im, struct machine *m, const struct pb_field *tree)
{
	pb_for_each (f, tree) {
		struct tree_process p = {.uid = NULL_U32};

		if (f.id == PB_PROCESS_TREE_PROCESSES && f.data) {
			read_process(&f, &p);
			if (p.n_words)
				process_tree_add_process(im, m, &p);
			strbuf_deinit(&p.cmdline);
		}
	}
	pb_for_each (f, tree)
		if (f.id == PB_PROCESS_TREE_THREADS && f.data)
			process_tree_add_thread(im, m, &f);
}

static int compare_processes(const void *a, const void *b)
{
	const struct process_label *x = a, *y = b;

	if (x->upid != y->upid)
		return x->upid < y->upid ? -1 : 1;
	if (x->index != y->index)
		return x->index < y->index ? -1 : 1;
	return x->order < y->order ? -1 : x->order > y->order;
}

static void add_thread_args(struct import *im)
{
	struct table *t = import_table(im, TABLE_THREAD);

	for (uint32_t utid = 0; utid < t->rows && utid < im->infos.n_threads; utid++) {
		if (im->infos.threads[utid].rank == NO_RANK)
			continue;
		arg_builder_add_int(im->store, &im->args, "thread_sort_index_hint", ARG_INT,
				    im->infos.threads[utid].rank);
		table_set_u32(t, THREAD_ARGS, utid, arg_sets_add(im->store, &im->args));
	}
}

void import_process_args(struct import *im)
{
	struct strings *s = &im->store->strings;
	struct table *t = import_table(im, TABLE_PROCESS);
	size_t at = 0;

	if (im->n_labels)
		qsort(im->labels, im->n_labels, sizeof(*im->labels), compare_processes);
	for (uint32_t upid = 0; upid < t->rows && upid < im->infos.n_processes; upid++) {
		uint8_t is_kthread = im->infos.processes[upid].is_kthread;

		if (is_kthread != NULL_U8)
			arg_builder_add_int(im->store, &im->args, "is_kthread", ARG_BOOL,
					    is_kthread);
		if (im->infos.processes[upid].rank != NO_RANK)
			arg_builder_add_int(im->store, &im->args, "process_sort_index_hint",
					    ARG_INT, im->infos.processes[upid].rank);
		for (; at < im->n_labels && im->labels[at].upid == upid; at++)
			arg_builder_add(
				im->store, &im->args,
				&(struct stored_arg){
					.key = strings_intern_f(s, "chrome.process_label[%u]",
								im->labels[at].index),
					.flat_key = strings_intern_z(s, "chrome.process_label"),
					.type = ARG_STRING,
					.value = im->labels[at].text});
		if (im->args.n)
			table_set_u32(t, PROCESS_ARGS, upid, arg_sets_add(im->store, &im->args));
	}
	add_thread_args(im);
}

/* ---- counters: a row of `fields` says which field is which ---- */

static const struct track_type smaps_type = {
	"smaps", NULL, true, {{"upid", false}, {"smaps_key", true}}};
static const struct track_type runtime = {
	"proc_stat_runtime", NULL, true, {{"upid", false}, {"proc_stat_runtime_key", true}}};

static const struct process_field {
	uint32_t field;
	const struct track_type *type;
	const char *name, *key;
	int64_t scale; /* the counter's value is the field times this */
} fields[] = {
	{PB_PROCESS_STATS_PROCESS_VM_SIZE_KB, &track_process_memory, "mem.virt", "virt", 1024},
	{PB_PROCESS_STATS_PROCESS_VM_RSS_KB, &track_process_memory, "mem.rss", "rss", 1024},
	{PB_PROCESS_STATS_PROCESS_RSS_ANON_KB, &track_process_memory, "mem.rss.anon", "rss.anon",
	 1024},
	{PB_PROCESS_STATS_PROCESS_RSS_FILE_KB, &track_process_memory, "mem.rss.file", "rss.file",
	 1024},
	{PB_PROCESS_STATS_PROCESS_RSS_SHMEM_KB, &track_process_memory, "mem.rss.shmem", "rss.shmem",
	 1024},
	{PB_PROCESS_STATS_PROCESS_VM_SWAP_KB, &track_process_memory, "mem.swap", "swap", 1024},
	{PB_PROCESS_STATS_PROCESS_VM_LOCKED_KB, &track_process_memory, "mem.locked", "locked",
	 1024},
	{PB_PROCESS_STATS_PROCESS_VM_HWM_KB, &track_process_memory, "mem.rss.watermark",
	 "rss.watermark", 1024},
	{PB_PROCESS_STATS_PROCESS_DMABUF_RSS_KB, &track_process_memory, "mem.dmabuf_rss",
	 "dmabuf_rss", 1024},
	{PB_PROCESS_STATS_PROCESS_OOM_SCORE_ADJ, &track_oom_score_adj, "oom_score_adj", NULL, 1},
	{PB_PROCESS_STATS_PROCESS_SMR_RSS_KB, &smaps_type, "mem.smaps.rss", "rss", 1024},
	{PB_PROCESS_STATS_PROCESS_SMR_PSS_KB, &smaps_type, "mem.smaps.pss", "pss", 1024},
	{PB_PROCESS_STATS_PROCESS_SMR_PSS_ANON_KB, &smaps_type, "mem.smaps.pss.anon", "pss.anon",
	 1024},
	{PB_PROCESS_STATS_PROCESS_SMR_PSS_FILE_KB, &smaps_type, "mem.smaps.pss.file", "pss.file",
	 1024},
	/* trace_processor's own spelling */
	{PB_PROCESS_STATS_PROCESS_SMR_PSS_SHMEM_KB, &smaps_type, "mem.smaps.pss.smem", "pss.smem",
	 1024},
	{PB_PROCESS_STATS_PROCESS_SMR_SWAP_PSS_KB, &smaps_type, "mem.smaps.swap.pss", "swap.pss",
	 1024},
	{PB_PROCESS_STATS_PROCESS_RUNTIME_USER_MODE, &runtime, "runtime.user_ns", "user_ns", 1},
	{PB_PROCESS_STATS_PROCESS_RUNTIME_KERNEL_MODE, &runtime, "runtime.kernel_ns", "kernel_ns",
	 1},
};

static const struct process_field *process_stats_rows_find_field(uint32_t number)
{
	for (size_t i = 0; i < ARRAY_SIZE(fields); i++)
		if (fields[i].field == number)
			return &fields[i];
	return NULL;
}

static void process_stats_rows_add_counter(struct import *im, struct machine *m, int64_t ts,
					   uint32_t upid, const struct process_field *p, uint64_t v)
{
	struct strings *s = &im->store->strings;
	int64_t values[] = {upid, p->key ? strings_intern_z(s, p->key) : 0};
	uint32_t track = tracks_get(im, m, p->type, strings_intern_z(s, p->name), values);

	rows_add_counter(im, ts, track, (double)(int64_t)(v * (uint64_t)p->scale), NULL_U32);
}

static void process_stats_rows_add_thread(struct import *im, struct machine *m, int64_t pid,
					  const struct pb_field *thread)
{
	pb_for_each (f, thread)
		if (f.id == PB_PROCESS_STATS_THREAD_TID)
			tasks_get_thread_of_process(&m->tasks, (int32_t)f.u64, pid);
}

static void process_stats_rows_add_process(struct import *im, struct machine *m, int64_t ts,
					   const struct pb_field *process)
{
	int32_t pid = 0;

	pb_read(process, PB_TO(PB_PROCESS_STATS_PROCESS_PID, &pid));
	pb_for_each (f, process) {
		const struct process_field *p = process_stats_rows_find_field(f.id);

		if (p && !f.data)
			process_stats_rows_add_counter(im, m, ts, tasks_get_process(&m->tasks, pid),
						       p, f.u64);
		else if (f.id == PB_PROCESS_STATS_PROCESS_THREADS && f.data)
			process_stats_rows_add_thread(im, m, pid, &f);
	}
}

void import_process_stats(struct import *im, struct machine *m, int64_t ts,
			  const struct pb_field *stats)
{
	pb_for_each (f, stats)
		if (f.id == PB_PROCESS_STATS_PROCESSES && f.data)
			process_stats_rows_add_process(im, m, ts, &f);
}

/*
 * The memory mappings of a process. Each SmapsEntry becomes a row of profiler_smaps. PackedSmaps
 * has columns, from which rows of process_memory_mappings are made.
 */

#define DELETED " (deleted)" /* what the kernel adds to the path of a file that has no name */

/* ---- a message for each mapping ---- */

static void smaps_rows_add_entry(struct import *im, int64_t ts, uint32_t upid,
				 const struct pb_field *entry)
{
	struct table *t = import_table(im, TABLE_SMAPS);
	uint32_t row = table_append(t);

	table_set_u32(t, SMAPS_UPID, row, upid);
	table_set_ts(t, SMAPS_TS, row, ts);
	for (unsigned c = SMAPS_PATH; c <= SMAPS_PROPORTIONAL; c++)
		if (t->def->columns[c].kind == COLUMN_STRING)
			table_set_u32(t, c, row, NULL_U32);
		else
			table_set_i64(t, c, row, 0);
	pb_for_each (f, entry) {
		unsigned c = SMAPS_PATH + f.id - PB_SMAPS_ENTRY_PATH;

		if (f.id < PB_SMAPS_ENTRY_PATH || c > SMAPS_PROPORTIONAL)
			continue;
		if (t->def->columns[c].kind == COLUMN_I64 && !f.data)
			table_set_i64(t, c, row, (int64_t)f.u64);
		else if (t->def->columns[c].kind == COLUMN_STRING && f.data)
			table_set_u32(t, c, row,
				      strings_intern(&im->store->strings, f.data, f.len));
	}
}

/* ---- columns ---- */

struct mapping_path {
	uint32_t text; /* a string */
	bool is_deleted;
};

struct mapping_paths {
	struct mapping_path *of; /* owned */
	size_t n, cap;
};

static void add_path(struct import *im, struct mapping_paths *p, const struct pb_field *path)
{
	size_t suffix = sizeof(DELETED) - 1;
	bool is_deleted =
		path->len >= suffix && !memcmp(path->data + path->len - suffix, DELETED, suffix);

	if (!budget_charge(&im->store->budget, sizeof(*p->of)))
		return;
	if (array_reserve(&p->of, &p->cap, p->n + 1, sizeof(*p->of))) {
		im->store->budget.error = -ENOMEM;
		return;
	}
	p->of[p->n++] = (struct mapping_path){
		.text = strings_intern(&im->store->strings, path->data,
				       path->len - (is_deleted ? suffix : 0)),
		.is_deleted = is_deleted,
	};
}

static void smaps_rows_add_mapping(struct import *im, int64_t ts, uint32_t upid,
				   const struct mapping_path *path)
{
	struct table *t = import_table(im, TABLE_MEMORY_MAPPINGS);
	uint32_t row = table_append(t);

	table_set_ts(t, MAPPINGS_TS, row, ts);
	table_set_u32(t, MAPPINGS_UPID, row, upid);
	table_set_u32(t, MAPPINGS_PATH, row, path ? path->text : NULL_U32);
	table_set_u32(t, MAPPINGS_IS_DELETED, row, path && path->is_deleted);
	table_set_i64(t, MAPPINGS_COUNT, row, 1);
	for (unsigned c = MAPPINGS_SIZE; c <= MAPPINGS_SWAP_PSS; c++)
		table_set_i64(t, c, row, NULL_I64);
}

/* Adds a row for each mapping: as many as name_id has values, or else as there are paths. */
static void add_mappings(struct import *im, int64_t ts, uint32_t upid,
			 const struct pb_field *packed, const struct mapping_paths *paths)
{
	bool named = false;
	uint64_t id;

	pb_for_each (f, packed) {
		if (f.id != PB_PACKED_SMAPS_NAME_ID)
			continue;
		for (struct pb_packed p = pb_packed_of(&f); pb_packed_next(&p, &id);) {
			named = true;
			smaps_rows_add_mapping(im, ts, upid, id < paths->n ? &paths->of[id] : NULL);
		}
	}
	for (size_t i = 0; !named && i < paths->n; i++)
		smaps_rows_add_mapping(im, ts, upid, &paths->of[i]);
}

/* Sets the values of the rows from `first` on. */
static void set_columns(struct import *im, const struct pb_field *packed, uint32_t first)
{
	struct table *t = import_table(im, TABLE_MEMORY_MAPPINGS);
	uint32_t next[MAPPINGS_SWAP_PSS + 1] = {0}; /* number of values so far, by column */
	uint64_t v;

	pb_for_each (f, packed) {
		unsigned c = MAPPINGS_COUNT + f.id - PB_PACKED_SMAPS_AGGREGATE_COUNT;

		if (f.id < PB_PACKED_SMAPS_AGGREGATE_COUNT || c > MAPPINGS_SWAP_PSS)
			continue;
		for (struct pb_packed p = pb_packed_of(&f);
		     next[c] < t->rows - first && pb_packed_next(&p, &v);)
			table_set_i64(t, c, first + next[c]++, (int64_t)v);
	}
}

static void add_packed_mappings(struct import *im, int64_t ts, uint32_t upid,
				const struct pb_field *packed)
{
	uint32_t first = import_table(im, TABLE_MEMORY_MAPPINGS)->rows;
	struct mapping_paths paths = {.n = 0};

	pb_for_each (f, packed)
		if (f.id == PB_PACKED_SMAPS_STRING_TABLE && f.data)
			add_path(im, &paths, &f);
	add_mappings(im, ts, upid, packed, &paths);
	if (!im->store->budget.error)
		set_columns(im, packed, first);
	free(paths.of);
	im->store->budget.used -= paths.n * sizeof(*paths.of);
}

void import_smaps(struct import *im, struct machine *m, int64_t ts, const struct pb_field *smaps)
{
	uint32_t pid = 0;
	uint32_t upid;

	pb_read(smaps, PB_TO(PB_SMAPS_PACKET_PID, &pid));
	upid = tasks_get_process(&m->tasks, pid);
	pb_for_each (f, smaps) {
		if (f.id == PB_SMAPS_PACKET_ENTRIES && f.data)
			smaps_rows_add_entry(im, ts, upid, &f);
		else if (f.id == PB_SMAPS_PACKET_PACKED_ENTRIES && f.data)
			add_packed_mappings(im, ts, upid, &f);
	}
}
