/* SPDX-License-Identifier: Apache-2.0 */
/* ProcessTree: names, parents and threads of processes, as /proc shows them. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/import/import_steps.h"
#include "base/core/mem.h"
#include "gen/fields.h"

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

/* Returns the length of a kworker's name without the name of the work that it does now, which
 * changes; the length of any other name. */
static size_t kworker_name_len(const uint8_t *name, size_t len)
{
	if (len <= strlen(KWORKER) || memcmp(name, KWORKER, strlen(KWORKER)))
		return len;
	for (size_t i = strlen(KWORKER); i < len; i++)
		if (name[i] == '+' || name[i] == '-')
			return i;
	return len;
}

/* Returns the upid. A process keeps its first parent: it gets another one when this parent ends. */
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

void rows_process_tree(struct import *im, struct machine *m, const struct pb_field *tree)
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

static int by_process(const void *a, const void *b)
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

void rows_process_args(struct import *im)
{
	struct strings *s = &im->store->strings;
	struct table *t = import_table(im, TABLE_PROCESS);
	size_t at = 0;

	if (im->n_labels)
		qsort(im->labels, im->n_labels, sizeof(*im->labels), by_process);
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
