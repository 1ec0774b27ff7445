/* SPDX-License-Identifier: Apache-2.0 */
#include "procfs/process/process_writer.h"

#include <errno.h>
#include <string.h>

#include "base/core/clock.h"
#include "procfs/process/process_packet.h"

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
 * An id is marked as seen only after its row was written. A reused id is forgotten if events report
 * it; without events the old row stays until a poll finds that the task has exited, or the state is
 * cleared.
 */

#define KTHREADD 2 /* parent of all kernel threads */

/* name: NULL if it is unknown. */
static void describe_thread(struct process_writer *n, int32_t tgid, int32_t tid,
			    const struct proc_name *name, const struct proc_status *nested)
{
	process_packet_add_thread(n->packet, &(struct thread_row){
						     .tid = tid,
						     .tgid = tgid,
						     .name = n->options.thread_names ? name : NULL,
						     .nstid = nested ? nested->nspid : NULL,
						     .n_nstid = nested ? nested->n_nspid : 0,
					     });
	if (tid != tgid)
		pid_relations_put_thread(&n->relations, tid, tgid);
	/* If memory runs out, the task is written again. */
	(void)pid_set_add(&n->seen, tid);
}

/* Writes the Thread row of a task, except that of a leader if skip_main_thread is set. */
static void describe_task(struct process_writer *n, const struct proc_status *s)
{
	const struct proc_name *name = proc_status_has(s, PROC_STATUS_NAME) ? &s->name : NULL;

	if (s->pid == s->tgid && n->options.skip_main_thread)
		(void)pid_set_add(&n->seen, s->pid);
	else
		describe_thread(n, s->tgid, s->pid, name, s);
}

/* The first known parent stays; see pid_map.h. */
static void keep_first_parent(struct process_writer *n, struct proc_status *s)
{
	int32_t known = pid_relations_parent(&n->relations, s->pid);

	if (known != PID_NO_PARENT) {
		s->ppid = known;
		s->has |= 1u << PROC_STATUS_PPID;
	} else if (proc_status_has(s, PROC_STATUS_PPID)) {
		pid_relations_put_process(&n->relations, s->pid, s->ppid);
	} else {
		pid_relations_put_process(&n->relations, s->pid, PID_NO_PARENT);
	}
}

static void write_process(struct process_writer *n, const struct process_row *row)
{
	process_packet_add_process(n->packet, row);
	if (row->cmdline_len > 0)
		pid_set_remove(&n->by_name, row->status->pid);
	else
		(void)pid_set_add(&n->by_name, row->status->pid);
}

/*
 * Readers that sort while they stream can put a packet in its place if its time is after the last
 * flush, however late the packet comes, or at most RECENT_NS ago.
 */
#define RECENT_NS 2000000000ull

static bool is_sorted_in(const struct process_writer *n, uint64_t ns)
{
	return ns >= n->flushed_ns || clock_boot_ns() - ns <= RECENT_NS;
}

/*
 * A row names a parent, which readers look up at the time of the row. If the parent has exited by
 * then, readers create another process without a name, and the child is detached from its real
 * parent. So this function returns a time before that of the packet at which the parent existed. It
 * returns 0 (the row has the time of its packet) if there is none, if readers cannot sort the row
 * in, or if the child began later (began_ns; 0: unknown).
 *
 * The time is that of the parent's exit. In two cases it is just behind the fork: /proc has another
 * parent by now (parent_now) although no event has reported the exit, because that event is still
 * in a kernel ring; or the id of the parent has begun another task since.
 */
static uint64_t time_of_parent(const struct process_writer *n, const struct proc_status *s,
			       int32_t parent_now, uint64_t began_ns)
{
	uint64_t fork_ns = pid_times_get(&n->times, s->pid).began_ns, ns;
	struct task_times parent = pid_times_get(&n->times, s->ppid);
	bool has_other;

	if (!proc_status_has(s, PROC_STATUS_PPID))
		return 0;
	ns = parent.ended_ns;
	has_other = !ns && parent_now != PID_NO_PARENT && parent_now != s->ppid;
	if (fork_ns && (has_other || parent.began_ns > fork_ns))
		ns = fork_ns;
	if (!ns || ns >= n->packet->task_ns || ns < began_ns || !is_sorted_in(n, ns))
		return 0;
	return ns;
}

/*
 * Writes the row with the time of time_of_parent(). Without such a time a process that is not in
 * the trace yet gets parent_now, its parent in /proc (or PID_NO_PARENT), if its first parent has
 * ended.
 */
static void write_in_time(struct process_writer *n, const struct process_row *row,
			  struct proc_status *s, int32_t parent_now, uint64_t began_ns)
{
	struct process_packet *p = n->packet;
	uint64_t task_ns = p->task_ns, ns = time_of_parent(n, s, parent_now, began_ns);
	bool single_event = p->single_event;

	if (ns) {
		process_packet_next_at(p, ns);
		write_process(n, row);
		process_packet_end(p);
		p->task_ns = task_ns;
		p->single_event = single_event;
		return;
	}
	if (parent_now != PID_NO_PARENT && !pid_set_has(&n->seen, s->pid) &&
	    pid_times_get(&n->times, s->ppid).ended_ns) {
		pid_relations_put_process(&n->relations, s->pid, parent_now);
		s->ppid = parent_now;
	}
	write_process(n, row);
}

/* Writes a row that was read from /proc, in a packet of its own. */
static void write_read(struct process_writer *n, const struct process_row *row,
		       struct proc_status *s, uint64_t began_ns)
{
	int32_t parent_now = proc_status_has(s, PROC_STATUS_PPID) ? s->ppid : PID_NO_PARENT;

	keep_first_parent(n, s);
	process_packet_end(n->packet);
	write_in_time(n, row, s, parent_now, began_ns);
}

static void read_cmdline(struct process_writer *n, int32_t pid, struct process_row *row)
{
	int r = proc_files_cmdline(n->files, pid, &row->cmdline, &row->cmdline_len);

	if (r == -EAGAIN && n->n_unread < PROCESS_UNREAD_MAX)
		n->unread[n->n_unread++] = pid;
}

static void read_start(struct process_writer *n, int32_t pid, struct process_row *row)
{
	struct proc_stat stat;

	if (!n->options.age || proc_files_stat(n->files, pid, &stat) != 0)
		return;
	row->has_start = true;
	row->start_from_boot_ns = stat.starttime * n->files->ns_per_tick;
}

/*
 * Writes a process whose command line was missing. An exited process was written from its events.
 */
static void describe_again(struct process_writer *n, int32_t pid)
{
	struct process_row row = {.cmdline = ""};
	struct proc_status s;

	process_packet_next(n->packet);
	if (proc_files_status(n->files, pid, &s) != 0 || s.tgid != s.pid)
		return;
	row.status = &s;
	read_start(n, pid, &row);
	read_cmdline(n, pid, &row);
	if (row.cmdline_len == 0)
		return;
	write_read(n, &row, &s, 0);
}

void process_writer_read_again(struct process_writer *n, const struct time_slice *slice)
{
	unsigned count = n->n_unread, i;

	/* Entries that are still unread move to the front. */
	n->n_unread = 0;
	for (i = 0; i < count && !time_slice_over(slice); i++)
		describe_again(n, n->unread[i]);
	for (; i < count; i++)
		n->unread[n->n_unread++] = n->unread[i];
}

/*
 * Writes a process. began_ns: as in time_of_parent(). Without a command line it writes the name
 * instead if by_name is true; if by_name is false it returns false and writes nothing.
 */
static bool describe_process(struct process_writer *n, struct proc_status *s, bool by_name,
			     uint64_t began_ns)
{
	struct process_row row = {.status = s, .cmdline = ""};

	read_start(n, s->pid, &row);
	/* Kernel threads have no command line; an unreadable one counts as missing. */
	if (!proc_status_is_kthread(s)) {
		read_cmdline(n, s->pid, &row);
		if (row.cmdline_len == 0 && !by_name)
			return false;
	}
	write_read(n, &row, s, began_ns);
	describe_task(n, s);
	return true;
}

bool process_writer_write_process(struct process_writer *n, int32_t pid,
				  struct proc_status *ret_status)
{
	process_packet_next(n->packet);
	/* An id that now belongs to a thread of another process is not a leader. */
	if (proc_files_status(n->files, pid, ret_status) != 0 || ret_status->tgid != pid ||
	    ret_status->pid != pid)
		return false;
	if (pid_set_has(&n->seen, pid))
		return true;
	if (!proc_files_has_run(n->files, pid, ret_status))
		return false;
	(void)describe_process(n, ret_status, true, 0);
	return true;
}

void process_writer_write_thread(struct process_writer *n, const struct pid_list *threads,
				 int32_t tid, bool namespaced)
{
	int32_t pid = threads->pid;
	struct proc_status status;
	struct proc_name name;

	if (pid_set_has(&n->seen, tid))
		return;
	process_packet_next(n->packet);
	if (namespaced) {
		if (proc_files_thread_status(n->files, threads, tid, &status) == 0)
			describe_thread(n, pid, tid, &status.name, &status);
	} else if (!n->options.thread_names) {
		describe_thread(n, pid, tid, NULL, NULL);
	} else if (proc_files_thread_comm(n->files, threads, tid, &name) == 0) {
		describe_thread(n, pid, tid, &name, NULL);
	}
}

void process_writer_write_named_thread(struct process_writer *n, int32_t pid, int32_t tid,
				       const struct proc_name *name)
{
	if (!pid_set_has(&n->seen, tid))
		describe_thread(n, pid, tid, name, NULL);
}

/* Writes a thread from its status; first its process if that is unknown. */
static void describe_thread_there(struct process_writer *n, const struct proc_status *s)
{
	struct proc_status leader;

	if (!pid_set_has(&n->seen, s->tgid))
		(void)process_writer_write_process(n, s->tgid, &leader);
	describe_task(n, s);
}

static bool read_task(struct process_writer *n, int32_t tid, struct proc_status *ret)
{
	process_packet_next(n->packet);
	return proc_files_status(n->files, tid, ret) == 0 && ret->pid == tid;
}

void process_writer_write_task(struct process_writer *n, int32_t tid)
{
	struct proc_status status;

	if (tid <= 0 || pid_set_has(&n->seen, tid) || !read_task(n, tid, &status))
		return;
	if (status.tgid == tid && proc_files_has_run(n->files, tid, &status))
		(void)describe_process(n, &status, true, 0);
	else if (status.tgid != tid)
		describe_thread_there(n, &status);
}

/* ---- states that events reported ---- */

static void process_writer_take_name(struct proc_status *s, const struct task_state *t)
{
	if (!t->has_name)
		return;
	s->has |= 1u << PROC_STATUS_NAME;
	s->name.len = (uint8_t)strnlen(t->name, sizeof(t->name));
	memcpy(s->name.s, t->name, s->name.len);
}

/* Returns the process of a task that may not have been written; 0: unknown. */
static int32_t find_process(struct process_writer *n, int32_t tid)
{
	int32_t tgid = pid_relations_tgid(&n->relations, tid);
	struct proc_status s;

	if (tgid || !read_task(n, tid, &s))
		return tgid;
	if (s.tgid == tid)
		keep_first_parent(n, &s);
	else
		pid_relations_put_thread(&n->relations, tid, s.tgid);
	return s.tgid;
}

/* Updates the relations of the task from its events. */
static void update_relations(struct process_writer *n, const struct task_state *t)
{
	int32_t process, parent;

	if (t->was) {
		pid_set_remove(&n->seen, t->was);
		pid_relations_forget(&n->relations, t->was);
	}
	if (!t->is_new) {
		/* A thread that executes a program becomes the leader. */
		if (t->file && pid_relations_parent(&n->relations, t->tid) == PID_NO_PARENT)
			pid_relations_put_process(&n->relations, t->tid, PID_NO_PARENT);
		return;
	}
	pid_set_remove(&n->seen, t->tid);
	pid_relations_forget(&n->relations, t->tid);
	process = find_process(n, t->creator);
	if (t->is_thread) {
		if (process)
			pid_relations_put_thread(&n->relations, t->tid, process);
		return;
	}
	/*
	 * A creator that is unknown by now was short-lived, so most likely the only thread of its
	 * process. Without a parent in the row readers that know the creator as a process take the
	 * row for another process of the same id.
	 */
	parent = process ? process : t->creator;
	if (t->is_sibling)
		parent = process ? pid_relations_parent(&n->relations, process) : PID_NO_PARENT;
	pid_relations_put_process(&n->relations, t->tid, parent);
}

/*
 * An exiting process has no command line any more, so the events are the only source. s: the other
 * known values.
 */
static void describe_past_process(struct process_writer *n, const struct task_state *t,
				  struct proc_status *s)
{
	struct process_row row = {
		.status = s,
		.cmdline = t->file ? t->file : "",
		.cmdline_len = t->file_len,
		.has_start = n->options.age && t->began_ns,
		.start_from_boot_ns = t->began_ns,
	};

	keep_first_parent(n, s);
	if (s->ppid == KTHREADD) {
		s->kthread = true;
		s->has |= 1u << PROC_STATUS_KTHREAD;
	}
	/*
	 * Readers that know the parent take a row without a parent for another process of the same
	 * id. So no Process row is written while another publisher may report the parent.
	 */
	if (t->awaits_start && !proc_status_has(s, PROC_STATUS_PPID)) {
		describe_task(n, s);
		return;
	}
	/* If only the name of a written process changed, its Process row stays as it is. */
	if (t->is_new || t->file || !pid_set_has(&n->seen, s->pid) ||
	    pid_set_has(&n->by_name, s->pid))
		write_in_time(n, &row, s, PID_NO_PARENT, t->is_new ? t->began_ns : 0);
	describe_task(n, s);
}

static void describe_past(struct process_writer *n, const struct task_state *t,
			  struct proc_status *s)
{
	struct proc_status leader;

	process_writer_take_name(s, t);
	if (s->tgid != t->tid && !pid_set_has(&n->seen, s->tgid))
		(void)process_writer_write_process(n, s->tgid, &leader);
	process_packet_next_at(n->packet, t->last_ns);
	if (s->tgid == t->tid)
		describe_past_process(n, t, s);
	else
		describe_task(n, s);
}

/*
 * Either name may be newer, that of the event or that of the file: the task may have changed its
 * name since the event, or the kernel may have emitted the event before the change took effect. If
 * they differ, the name of the event is written with its own time and that of the file is not
 * written. (Events truncate names of kernel threads.)
 */
static bool is_other_name(const struct task_state *t, const struct proc_status *s)
{
	size_t len = strnlen(t->name, sizeof(t->name));

	return t->has_name && !proc_status_is_kthread(s) &&
	       (len != s->name.len || memcmp(t->name, s->name.s, len) != 0);
}

/*
 * Writes the task from its files. Returns false if it has exited or is exiting, or another task has
 * its id; *s has the known values then.
 */
static bool describe_there(struct process_writer *n, const struct task_state *t,
			   struct proc_status *s)
{
	/* The files of an exited task are gone: the known values must suffice. */
	bool is_past = t->closed || (t->has_ended && pid_relations_tgid(&n->relations, t->tid));
	bool other_name;

	if (is_past || !read_task(n, t->tid, s) ||
	    (t->is_new && t->is_thread == (s->tgid == s->pid))) {
		*s = (struct proc_status){.pid = t->tid,
					  .tgid = pid_relations_tgid(&n->relations, t->tid)};
		return false;
	}
	other_name = is_other_name(t, s);
	if (other_name)
		s->has &= ~(1u << PROC_STATUS_NAME);
	if (s->tgid != s->pid)
		describe_thread_there(n, s);
	else if (!describe_process(n, s, false, t->is_new ? t->began_ns : 0))
		return false;
	if (other_name && n->options.thread_names) {
		process_writer_take_name(s, t);
		process_packet_next_at(n->packet, t->last_ns);
		/* No ids in namespaces: this row is before that of its process. */
		s->n_nspid = 0;
		describe_task(n, s);
	}
	return true;
}

/* For a known thread that only changed its name nothing else has to be read. */
static bool is_known_thread(const struct process_writer *n, const struct task_state *t)
{
	int32_t tgid = pid_relations_tgid(&n->relations, t->tid);

	return !t->is_new && !t->file && tgid && tgid != t->tid && pid_set_has(&n->seen, t->tid);
}

void process_writer_task_began(struct process_writer *n, int32_t tid, uint64_t ns)
{
	pid_times_put_begin(&n->times, tid, ns);
}

void process_writer_task_ended(struct process_writer *n, int32_t tid, uint64_t ns)
{
	pid_times_put_end(&n->times, tid, ns);
}

void process_writer_write_state(struct process_writer *n, const struct task_state *t)
{
	struct proc_status s = {.pid = t->tid};

	update_relations(n, t);
	s.tgid = pid_relations_tgid(&n->relations, t->tid);
	if ((is_known_thread(n, t) || !describe_there(n, t, &s)) && s.tgid)
		describe_past(n, t, &s);
}

void process_writer_deinit(struct process_writer *n)
{
	pid_set_clear(&n->seen);
	pid_set_clear(&n->by_name);
	pid_times_clear(&n->times);
	pid_map_clear(&n->relations.map);
}

void process_writer_clear(struct process_writer *n)
{
	pid_set_clear(&n->seen);
	n->packet->new_state = true;
}
