/* SPDX-License-Identifier: Apache-2.0 */
#include "procfs/process/process_tree.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/clock.h"
#include "base/core/mem.h"
#include "client/transport/writer.h"
#include "gen/fields.h"

/* A packet of this size takes no further task. */
#define PROCESS_PACKET_BYTES (16u << 10)

/*
 *	| timestamp | incremental_state_cleared | process_tree: row row row ... collection_end |
 */

static const uint32_t packet_fields[] = {
	[PROCESS_PACKET_TREE] = PB_TRACE_PACKET_PROCESS_TREE,
	[PROCESS_PACKET_STATS] = PB_TRACE_PACKET_PROCESS_STATS,
};

static const uint32_t end_fields[] = {
	[PROCESS_PACKET_TREE] = PB_PROCESS_TREE_COLLECTION_END_TIMESTAMP,
	[PROCESS_PACKET_STATS] = PB_PROCESS_STATS_COLLECTION_END_TIMESTAMP,
};

void process_packet_prepare(struct process_packet *p)
{
	if (p->single_event || (p->e && pb_enc_pos(p->e) - p->start_pos >= PROCESS_PACKET_BYTES))
		process_packet_end(p);
	p->single_event = false;
	p->task_ns = clock_boot_ns();
}

/* Like process_packet_prepare() for the state that an event reported at ns of CLOCK_BOOTTIME (0:
 * now). The packet sorts right after the event. */
static void process_packet_prepare_at(struct process_packet *p, uint64_t ns)
{
	process_packet_prepare(p);
	if (!ns)
		return;
	process_packet_end(p);
	p->single_event = true;
	p->task_ns = ns + 1;
}

struct pb_enc *process_packet_open(struct process_packet *p, enum process_packet_kind kind)
{
	if (p->e && p->kind != kind)
		process_packet_end(p);
	if (p->e)
		return p->e;
	p->e = writer_begin(p->w);
	p->kind = kind;
	pb_enc_u64(p->e, PB_TRACE_PACKET_TIMESTAMP, p->task_ns);
	if (p->new_state)
		pb_enc_bool(p->e, PB_TRACE_PACKET_INCREMENTAL_STATE_CLEARED, true);
	p->new_state = false;
	pb_enc_open(p->e, packet_fields[kind]);
	p->start_pos = pb_enc_pos(p->e);
	return p->e;
}

struct pb_enc *process_packet_open_row(struct process_packet *p, enum process_packet_kind kind,
				       uint32_t field)
{
	pb_enc_open(process_packet_open(p, kind), field);
	return p->e;
}

void process_packet_end(struct process_packet *p)
{
	if (!p->e)
		return;
	if (!p->single_event)
		pb_enc_u64(p->e, end_fields[p->kind], clock_boot_ns());
	pb_enc_close(p->e);
	writer_end(p->w);
	p->e = NULL;
}

/*
 * There are three sources of tasks. The scan walks directories (/proc/PID, then
 * /proc/PID/task/TID): the process of a thread is known, and the small file "comm" has its name.
 * Events name ids of tasks that ran: their status is read to find their process. And events report
 * tasks that start, change their names or execute a program:
 *
 *	state of a task --> does it exist? --yes--> its files, and the name of the event
 *	                                \--no--> the state itself, in a packet of its own with the
 *	                                         time at which it was true
 *
 * A reused id is forgotten if events report it; without events the old row stays until a poll finds
 * that the task has exited, or the state is cleared.
 */

#define KTHREADD 2 /* parent of all kernel threads */

/* ---- rows ---- */

/* A Process row. */
struct tree_process {
	struct proc_status *status;
	const char *cmdline; /* NUL-separated; if empty, the name is written instead */
	size_t cmdline_len;
	bool has_start;
	uint64_t start_from_boot_ns;
};

static void tree_write_process_row(struct process_tree *t, const struct tree_process *row)
{
	struct pb_enc *e =
		process_packet_open_row(t->packet, PROCESS_PACKET_TREE, PB_PROCESS_TREE_PROCESSES);
	const char *arg, *p = row->cmdline, *end = p + row->cmdline_len;
	const struct proc_status *s = row->status;
	bool has_cmdline = false;
	size_t len;

	pb_enc_i64(e, PB_PROCESS_TREE_PROCESS_PID, s->pid);
	if (proc_status_has(s, PROC_STATUS_PPID))
		pb_enc_i64(e, PB_PROCESS_TREE_PROCESS_PPID, s->ppid);
	while ((p = proc_cmdline_next(p, end, &arg, &len))) {
		pb_enc_bytes(e, PB_PROCESS_TREE_PROCESS_CMDLINE, arg, len);
		has_cmdline = true;
	}
	/* Readers detect kernel threads and exiting processes by this mark. */
	if (!has_cmdline) {
		pb_enc_bytes(e, PB_PROCESS_TREE_PROCESS_CMDLINE, s->name.s, s->name.len);
		pb_enc_bool(e, PB_PROCESS_TREE_PROCESS_CMDLINE_IS_COMM, true);
	}
	/* The field is signed, uids are not: 4294967294 is written as -2. */
	if (proc_status_has(s, PROC_STATUS_UID))
		pb_enc_i64(e, PB_PROCESS_TREE_PROCESS_UID, (int32_t)s->uid);
	for (unsigned i = 0; i < s->n_nspid; i++)
		pb_enc_i64(e, PB_PROCESS_TREE_PROCESS_NSPID, s->nspid[i]);
	if (row->has_start)
		pb_enc_u64(e, PB_PROCESS_TREE_PROCESS_PROCESS_START_FROM_BOOT,
			   row->start_from_boot_ns);
	if (proc_status_has(s, PROC_STATUS_KTHREAD))
		pb_enc_bool(e, PB_PROCESS_TREE_PROCESS_IS_KTHREAD, s->kthread);
	pb_enc_close(e);
	task_table_add(&t->tasks, s->pid)->has_name_only = row->cmdline_len == 0;
}

/* Writes the row of a thread. name: NULL if it is unknown. namespaced: the status with its ids in
 * namespaces, or NULL. */
static void tree_write_thread_row(struct process_tree *t, int32_t tgid, int32_t tid,
				  const struct proc_name *name,
				  const struct proc_status *namespaced)
{
	struct pb_enc *e =
		process_packet_open_row(t->packet, PROCESS_PACKET_TREE, PB_PROCESS_TREE_THREADS);
	struct task *task = task_table_add(&t->tasks, tid);

	pb_enc_i64(e, PB_PROCESS_TREE_THREAD_TID, tid);
	if (name && t->options.thread_names)
		pb_enc_bytes(e, PB_PROCESS_TREE_THREAD_NAME, name->s, name->len);
	pb_enc_i64(e, PB_PROCESS_TREE_THREAD_TGID, tgid);
	for (unsigned i = 0; namespaced && i < namespaced->n_nspid; i++)
		pb_enc_i64(e, PB_PROCESS_TREE_THREAD_NSTID, namespaced->nspid[i]);
	pb_enc_close(e);
	if (tid != tgid)
		task->relation = tgid;
	task->has_row = true;
}

/* Writes the Thread row of a task, except that of a leader if skip_main_thread is set. */
static void tree_write_task_row(struct process_tree *t, const struct proc_status *s)
{
	if (s->pid == s->tgid && t->options.skip_main_thread)
		task_table_add(&t->tasks, s->pid)->has_row = true;
	else
		tree_write_thread_row(t, s->tgid, s->pid,
				      proc_status_has(s, PROC_STATUS_NAME) ? &s->name : NULL, s);
}

/* Writes the first known parent into *s, or makes that of *s the first known one. */
static void tree_keep_first_parent(struct process_tree *t, struct proc_status *s)
{
	int32_t known = task_parent(&t->tasks, s->pid);
	bool has_parent = proc_status_has(s, PROC_STATUS_PPID);

	if (known == TASK_NO_PARENT) {
		task_set_parent(&t->tasks, s->pid, has_parent ? s->ppid : TASK_NO_PARENT);
		return;
	}
	s->ppid = known;
	s->has |= 1u << PROC_STATUS_PPID;
}

/*
 * A row names a parent, which readers look up at the time of the row. If the parent has exited by
 * then, readers create another process without a name, and the child is detached from its real
 * parent. So this function returns a time before that of the packet at which the parent existed. It
 * returns 0 (the row has the time of its packet) if there is none, if the child began later
 * (began_ns; 0: unknown), or if two flushes were answered since: readers that sort while they
 * stream can put a packet in its place until the second flush after its time.
 *
 * The time is that of the parent's exit. In two cases it is just after the fork: /proc has another
 * parent by now (parent_now) although no event has reported the exit, because that event is still
 * in a kernel ring; or the id of the parent has begun another task since.
 */
static uint64_t tree_find_parent_time(struct process_tree *t, const struct proc_status *s,
				      int32_t parent_now, uint64_t began_ns)
{
	uint64_t fork_ns = task_table_find(&t->tasks, s->pid)->began_ns, ns;
	const struct task *parent = task_table_find(&t->tasks, s->ppid);
	bool has_other;

	if (!proc_status_has(s, PROC_STATUS_PPID))
		return 0;
	ns = parent->ended_ns;
	has_other = !ns && parent_now != TASK_NO_PARENT && parent_now != s->ppid;
	if (fork_ns && (has_other || parent->began_ns > fork_ns))
		ns = fork_ns;
	if (!ns || ns >= t->packet->task_ns || ns < began_ns)
		return 0;
	return ns >= t->flushed_ns[0] ? ns : 0;
}

/* Writes the row with the time of tree_find_parent_time(). If there is no such time, the process is
 * not in the trace yet and its first parent has ended, the row names parent_now instead: the parent
 * in /proc, or TASK_NO_PARENT if that is unknown. */
static void tree_write_in_parent_time(struct process_tree *t, const struct tree_process *row,
				      int32_t parent_now, uint64_t began_ns)
{
	struct process_packet *p = t->packet;
	struct proc_status *s = row->status;
	uint64_t task_ns = p->task_ns, ns = tree_find_parent_time(t, s, parent_now, began_ns);
	bool single_event = p->single_event;

	if (ns) {
		process_packet_prepare_at(p, ns);
		tree_write_process_row(t, row);
		process_packet_end(p);
		p->task_ns = task_ns;
		p->single_event = single_event;
		return;
	}
	if (parent_now != TASK_NO_PARENT && !task_table_find(&t->tasks, s->pid)->has_row &&
	    task_table_find(&t->tasks, s->ppid)->ended_ns) {
		task_set_parent(&t->tasks, s->pid, parent_now);
		s->ppid = parent_now;
	}
	tree_write_process_row(t, row);
}

/* ---- tasks that exist: their files ---- */

/* Reads the other files of a process and writes its row. A process without a command line gets its
 * name instead if by_name is set or it is a kernel thread; otherwise nothing is written. Returns
 * true if the row was written. began_ns: as in tree_find_parent_time(). */
static bool tree_write_process_from_files(struct process_tree *t, struct proc_status *s,
					  bool by_name, uint64_t began_ns)
{
	int32_t parent_now = proc_status_has(s, PROC_STATUS_PPID) ? s->ppid : TASK_NO_PARENT;
	struct tree_process row = {.status = s, .cmdline = ""};
	struct proc_stat stat;

	if (t->options.age && proc_files_read_stat(t->files, s->pid, &stat) == 0) {
		row.has_start = true;
		row.start_from_boot_ns = stat.starttime * t->files->ns_per_tick;
	}
	/* Kernel threads have no command line; an unreadable one counts as missing. */
	if (!proc_status_is_kthread(s)) {
		int r = proc_files_read_cmdline(t->files, s->pid, &row.cmdline, &row.cmdline_len);

		if (r == -EAGAIN && t->n_unread < PROCESS_TREE_UNREAD_MAX)
			t->unread[t->n_unread++] = s->pid;
		if (row.cmdline_len == 0 && !by_name)
			return false;
	}
	tree_keep_first_parent(t, s);
	/* The row of a process begins a packet: see process_tree.h. */
	process_packet_end(t->packet);
	tree_write_in_parent_time(t, &row, parent_now, began_ns);
	return true;
}

bool process_tree_write_process(struct process_tree *t, int32_t pid, struct proc_status *ret_status)
{
	process_packet_prepare(t->packet);
	/* An id that now belongs to a thread of another process is not a leader. */
	if (proc_files_read_status(t->files, pid, ret_status) != 0 || ret_status->tgid != pid ||
	    ret_status->pid != pid)
		return false;
	if (task_table_find(&t->tasks, pid)->has_row)
		return true;
	if (!proc_files_has_run(t->files, pid, ret_status))
		return false;
	tree_write_process_from_files(t, ret_status, true, 0);
	tree_write_task_row(t, ret_status);
	return true;
}

void process_tree_write_thread(struct process_tree *t, const struct pid_list *threads, int32_t tid,
			       bool namespaced)
{
	int32_t pid = threads->pid;
	struct proc_status status;
	struct proc_name name;

	if (task_table_find(&t->tasks, tid)->has_row)
		return;
	process_packet_prepare(t->packet);
	if (namespaced) {
		if (proc_files_read_thread_status(t->files, threads, tid, &status) == 0)
			tree_write_thread_row(t, pid, tid, &status.name, &status);
	} else if (!t->options.thread_names) {
		tree_write_thread_row(t, pid, tid, NULL, NULL);
	} else if (proc_files_read_thread_comm(t->files, threads, tid, &name) == 0) {
		tree_write_thread_row(t, pid, tid, &name, NULL);
	}
}

void process_tree_write_named_thread(struct process_tree *t, int32_t pid, int32_t tid,
				     const struct proc_name *name)
{
	if (!task_table_find(&t->tasks, tid)->has_row)
		tree_write_thread_row(t, pid, tid, name, NULL);
}

static bool tree_read_status(struct process_tree *t, int32_t tid, struct proc_status *ret)
{
	process_packet_prepare(t->packet);
	return proc_files_read_status(t->files, tid, ret) == 0 && ret->pid == tid;
}

static void tree_ensure_process(struct process_tree *t, int32_t pid)
{
	struct proc_status leader;

	if (!task_table_find(&t->tasks, pid)->has_row)
		(void)process_tree_write_process(t, pid, &leader);
}

void process_tree_queue_task(struct process_tree *t, int32_t tid)
{
	size_t n = t->queue_end - t->queue_next;
	struct task *task = task_table_add(&t->tasks, tid);

	if (tid <= 0 || task->has_row || task->is_queued || n >= PROCESS_TREE_QUEUE_MAX)
		return;
	/* Served ids leave the array when it is full. */
	if (t->queue_end == t->queue_cap && t->queue_next) {
		memmove(t->queue, t->queue + t->queue_next, n * sizeof(*t->queue));
		t->queue_next = 0;
		t->queue_end = n;
	}
	if (array_reserve(&t->queue, &t->queue_cap, t->queue_end + 1, sizeof(*t->queue)) < 0)
		return;
	task->is_queued = true;
	t->queue[t->queue_end++] = tid;
}

bool process_tree_run_queue(struct process_tree *t, const struct time_slice *slice)
{
	while (process_tree_has_queued(t)) {
		int32_t tid = t->queue[t->queue_next++];
		struct task *task = task_table_find(&t->tasks, tid);
		struct proc_status status;

		task->is_queued = false;
		if (!task->has_row && tree_read_status(t, tid, &status)) {
			if (status.tgid != tid) {
				tree_ensure_process(t, status.tgid);
				tree_write_task_row(t, &status);
			} else if (proc_files_has_run(t->files, tid, &status)) {
				tree_write_process_from_files(t, &status, true, 0);
				tree_write_task_row(t, &status);
			}
		}
		if (time_slice_over(slice))
			return process_tree_has_queued(t);
	}
	t->queue_next = t->queue_end = 0;
	return false;
}

void process_tree_retry_unread(struct process_tree *t, const struct time_slice *slice)
{
	unsigned count = t->n_unread, i;

	/* Entries that are still unread move to the front. */
	t->n_unread = 0;
	for (i = 0; i < count && !time_slice_over(slice); i++) {
		struct proc_status s;

		/* A process that has exited was written from its events. */
		if (tree_read_status(t, t->unread[i], &s) && s.tgid == s.pid)
			(void)tree_write_process_from_files(t, &s, false, 0);
	}
	for (; i < count; i++)
		t->unread[t->n_unread++] = t->unread[i];
}

/* ---- states that events reported ---- */

static void tree_set_name_from_event(struct proc_status *s, const struct task_state *state)
{
	if (!state->has_name)
		return;
	s->has |= 1u << PROC_STATUS_NAME;
	s->name.len = (uint8_t)strnlen(state->name, sizeof(state->name));
	memcpy(s->name.s, state->name, s->name.len);
}

/* Updates the relations of the task from its events. */
static void tree_update_relations(struct process_tree *t, const struct task_state *state)
{
	struct task_table *tasks = &t->tasks;
	int32_t tid = state->tid, process, parent;
	struct proc_status s;

	if (state->was)
		task_clear(tasks, state->was);
	if (!state->is_new) {
		/* A thread that executes a program becomes the leader. */
		if (state->file && task_parent(tasks, tid) == TASK_NO_PARENT)
			task_set_parent(tasks, tid, TASK_NO_PARENT);
		return;
	}
	task_clear(tasks, tid);
	/* The process of the creator, which may not have been written. */
	process = task_tgid(tasks, state->creator);
	if (!process && tree_read_status(t, state->creator, &s)) {
		process = s.tgid;
		if (s.tgid == s.pid)
			tree_keep_first_parent(t, &s);
		else
			task_table_add(tasks, s.pid)->relation = s.tgid;
	}
	if (state->is_thread) {
		if (process)
			task_table_add(tasks, tid)->relation = process;
		return;
	}
	/* A creator that is unknown by now was short-lived, so most likely the only thread of its
	 * process. Without a parent in the row readers that know the creator as a process take the
	 * row for another process of the same id. */
	parent = process ? process : state->creator;
	if (state->is_sibling)
		parent = process ? task_parent(tasks, process) : TASK_NO_PARENT;
	task_set_parent(tasks, tid, parent);
}

/* Writes the task from the events alone. s: what is known of it. */
static void tree_write_state_from_events(struct process_tree *t, const struct task_state *state,
					 struct proc_status *s)
{
	struct tree_process row = {
		.status = s,
		.cmdline = state->file ? state->file : "",
		.cmdline_len = state->file_len,
		.has_start = t->options.age && state->began_ns,
		.start_from_boot_ns = state->began_ns,
	};
	struct task *task;

	tree_set_name_from_event(s, state);
	if (s->tgid != s->pid)
		tree_ensure_process(t, s->tgid);
	process_packet_prepare_at(t->packet, state->last_ns);
	if (s->tgid != s->pid) {
		tree_write_task_row(t, s);
		return;
	}
	tree_keep_first_parent(t, s);
	if (s->ppid == KTHREADD) {
		s->kthread = true;
		s->has |= 1u << PROC_STATUS_KTHREAD;
	}
	/* Readers that know the parent take a row without a parent for another process of the same
	 * id. So no Process row is written while another publisher may report the parent. And if
	 * only the name of a written process changed, its Process row stays as it is. */
	task = task_table_find(&t->tasks, s->pid);
	if (!(state->awaits_start && !proc_status_has(s, PROC_STATUS_PPID)) &&
	    (state->is_new || state->file || !task->has_row || task->has_name_only))
		tree_write_in_parent_time(t, &row, TASK_NO_PARENT,
					  state->is_new ? state->began_ns : 0);
	tree_write_task_row(t, s);
}

/*
 * Writes the task from its files, *s. Returns false if it is exiting: nothing was written then.
 *
 * Either name may be newer, that of the event or that of the file: the task may have changed its
 * name since the event, or the kernel may have emitted the event before the change took effect. If
 * they differ, the name of the event is written with its own time and that of the file is not
 * written. (Events truncate names of kernel threads.)
 */
static bool tree_write_state_from_files(struct process_tree *t, const struct task_state *state,
					struct proc_status *s)
{
	size_t len = strnlen(state->name, sizeof(state->name));
	bool other_name = state->has_name && !proc_status_is_kthread(s) &&
			  (len != s->name.len || memcmp(state->name, s->name.s, len) != 0);

	if (other_name)
		s->has &= ~(1u << PROC_STATUS_NAME);
	if (s->tgid != s->pid)
		tree_ensure_process(t, s->tgid);
	else if (!tree_write_process_from_files(t, s, false, state->is_new ? state->began_ns : 0))
		return false;
	tree_write_task_row(t, s);
	if (other_name && t->options.thread_names) {
		tree_set_name_from_event(s, state);
		process_packet_prepare_at(t->packet, state->last_ns);
		/* No ids in namespaces: this row is before that of its process. */
		s->n_nspid = 0;
		tree_write_task_row(t, s);
	}
	return true;
}

void process_tree_write_state(struct process_tree *t, const struct task_state *state)
{
	struct proc_status s;
	bool is_known_thread, exists;
	int32_t tgid;

	tree_update_relations(t, state);
	tgid = task_tgid(&t->tasks, state->tid);
	/* For a written thread that only changed its name nothing has to be read. */
	is_known_thread = !state->is_new && !state->file && tgid && tgid != state->tid &&
			  task_table_find(&t->tasks, state->tid)->has_row;
	/* The files of an exited task do not exist any more, and another task may have the id. */
	exists = !state->closed && !(state->has_ended && tgid) && !is_known_thread &&
		 tree_read_status(t, state->tid, &s) &&
		 !(state->is_new && state->is_thread == (s.tgid == s.pid));
	if (exists && tree_write_state_from_files(t, state, &s))
		return;
	if (!exists)
		s = (struct proc_status){.pid = state->tid,
					 .tgid = task_tgid(&t->tasks, state->tid)};
	if (s.tgid)
		tree_write_state_from_events(t, state, &s);
}

void process_tree_clear(struct process_tree *t, bool keep_relations)
{
	task_table_clear(&t->tasks, keep_relations);
	t->packet->new_state = true;
}

void process_tree_deinit(struct process_tree *t)
{
	free(t->queue);
	task_table_deinit(&t->tasks);
}
