/* SPDX-License-Identifier: Apache-2.0 */
#include "procfs/process/process_poll.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/core/clock.h"
#include "base/core/hash_table.h"
#include "base/core/mem.h"
#include "gen/fields.h"

/*
 * A pass walks /proc. Each process that it meets has a row in a hash table: its open files, and its
 * last counters, to find those that have changed. After the walk the rows of other processes are
 * dropped: these have exited.
 *
 *	/proc/PID --> row --> unchanged? --no--> files --> counters --> changed ones into the packet
 *	                          \--yes--> the old counters hold
 */

/* The counters, in the order in which a row of the trace has them. */
enum counter {
	COUNTER_VM_SIZE,
	COUNTER_VM_RSS,
	COUNTER_RSS_ANON,
	COUNTER_RSS_FILE,
	COUNTER_RSS_SHMEM,
	COUNTER_VM_SWAP,
	COUNTER_VM_LOCKED,
	COUNTER_VM_HWM,
	COUNTER_OOM_SCORE_ADJ,
	COUNTER_SMR_RSS,
	COUNTER_SMR_PSS,
	COUNTER_SMR_PSS_ANON,
	COUNTER_SMR_PSS_FILE,
	COUNTER_SMR_PSS_SHMEM,
	COUNTER_RUNTIME_USER,
	COUNTER_RUNTIME_KERNEL,
	COUNTER_SMR_SWAP_PSS,
	COUNTER_DMABUF_RSS,
	COUNTERS,
};
_Static_assert(COUNTERS <= 32, "sets of counters are 32 bits");

#define FIELD(counter, name) [COUNTER_##counter] = PB_PROCESS_STATS_PROCESS_##name

static const uint32_t counter_fields[COUNTERS] = {
	FIELD(VM_SIZE, VM_SIZE_KB),
	FIELD(VM_RSS, VM_RSS_KB),
	FIELD(RSS_ANON, RSS_ANON_KB),
	FIELD(RSS_FILE, RSS_FILE_KB),
	FIELD(RSS_SHMEM, RSS_SHMEM_KB),
	FIELD(VM_SWAP, VM_SWAP_KB),
	FIELD(VM_LOCKED, VM_LOCKED_KB),
	FIELD(VM_HWM, VM_HWM_KB),
	FIELD(OOM_SCORE_ADJ, OOM_SCORE_ADJ),
	FIELD(SMR_RSS, SMR_RSS_KB),
	FIELD(SMR_PSS, SMR_PSS_KB),
	FIELD(SMR_PSS_ANON, SMR_PSS_ANON_KB),
	FIELD(SMR_PSS_FILE, SMR_PSS_FILE_KB),
	FIELD(SMR_PSS_SHMEM, SMR_PSS_SHMEM_KB),
	FIELD(RUNTIME_USER, RUNTIME_USER_MODE),
	FIELD(RUNTIME_KERNEL, RUNTIME_KERNEL_MODE),
	FIELD(SMR_SWAP_PSS, SMR_SWAP_PSS_KB),
	FIELD(DMABUF_RSS, DMABUF_RSS_KB),
};

/* The counter of each line of status and of smaps_rollup. */
struct counter_line {
	uint8_t key;
	uint8_t counter;
};

static const struct counter_line status_counters[] = {
	{PROC_STATUS_VM_SIZE, COUNTER_VM_SIZE},	    {PROC_STATUS_VM_RSS, COUNTER_VM_RSS},
	{PROC_STATUS_RSS_ANON, COUNTER_RSS_ANON},   {PROC_STATUS_RSS_FILE, COUNTER_RSS_FILE},
	{PROC_STATUS_RSS_SHMEM, COUNTER_RSS_SHMEM}, {PROC_STATUS_VM_SWAP, COUNTER_VM_SWAP},
	{PROC_STATUS_VM_LCK, COUNTER_VM_LOCKED},    {PROC_STATUS_VM_HWM, COUNTER_VM_HWM},
};

static const struct counter_line smaps_counters[] = {
	{PROC_SMAPS_RSS, COUNTER_SMR_RSS},
	{PROC_SMAPS_PSS, COUNTER_SMR_PSS},
	{PROC_SMAPS_PSS_ANON, COUNTER_SMR_PSS_ANON},
	{PROC_SMAPS_PSS_FILE, COUNTER_SMR_PSS_FILE},
	{PROC_SMAPS_PSS_SHMEM, COUNTER_SMR_PSS_SHMEM},
	{PROC_SMAPS_SWAP_PSS, COUNTER_SMR_SWAP_PSS},
};

struct counters {
	uint32_t has; /* bits by enum counter */
	uint32_t same; /* bits of has: unchanged since the last read, and not in v */
	bool idle; /* the process has not run since the last read; false: it has, or unknown */
	uint64_t v[COUNTERS]; /* kB, ns, or a score (signed) */
};

/* Size of the text of statm: seven page counts. With a longer text, status is always read again. */
#define STATM_BYTES 56

/* The state of a process between passes. */
struct polled {
	int32_t pid;
	uint32_t pass; /* the last pass that met it */
	bool is_new; /* its counters have not been read yet */
	/* reads left for which the process is taken for a kernel thread, which has no memory */
	uint8_t kthread;
	struct proc_cached_file status, oom, statm; /* owned */
	uint64_t start; /* start time in ticks; 0: not read */
	bool has_runtime; /* the run times at ran_ns are in v */
	uint32_t has; /* counters (bits) that are in the trace */
	uint32_t memory; /* counters (bits) of status at its last read */
	uint64_t v[COUNTERS]; /* those in the trace */
	/* What the poll compares to decide whether /proc/PID/status must be read again. */
	uint32_t threads; /* number of threads; 0: unknown */
	uint64_t ran_ns; /* CPU time of all threads at the last check */
	uint8_t checks; /* number of checks */
	uint8_t statm_len; /* length of statm_text; 0: not read since the process ran */
	char statm_text[STATM_BYTES];
	struct process_tracks_row tracks;
	UT_hash_handle hh;
};

/* ---- what has to be read again ---- */

/*
 * Most processes sleep from one poll to the next. Two cheap checks, a third of the cost of reading
 * status:
 *
 *	CPU time of the process	unchanged: none of its threads has run, so its run times are
 *				the same, and it has not mapped, locked or touched memory
 *	statm			unchanged: no other process has added or removed pages (reclaim,
 *				process_madvise, userfaultfd)
 *
 * Neither detects another process that shares the memory (CLONE_VM without CLONE_THREAD), as long
 * as the sizes stay the same. So every SAME_MEMORY_TIMES-th answer is "changed".
 */
#define SAME_MEMORY_TIMES 16

/* A read of the CPU-time clock adds up all threads, a read of status does not: above this number of
 * threads status is cheaper. */
#define THREADS_MAX 256

/* Reads the CPU time of the process. Returns false if it has run since the last call, or if that is
 * unknown. */
static bool polled_update_runtime(struct polled *row)
{
	/* The CPU-time clock of a process: ~pid in the upper bits, then CPUCLOCK_SCHED (2).
	 * clock_getcpuclockid(3) computes the same with a system call. */
	clockid_t clock = (clockid_t)((~(uint32_t)row->pid << 3) | 2u);
	uint64_t before = row->ran_ns;
	struct timespec ts;

	if (clock_gettime(clock, &ts) != 0)
		return false;
	row->ran_ns = (uint64_t)ts.tv_sec * NS_PER_S + (uint64_t)ts.tv_nsec;
	return row->ran_ns == before;
}

/* Updates ran_ns. Returns true if the process has not run since the last call, false also if that
 * is unknown. The CPU time of a thread that is running is up to date at the next tick of its CPU
 * only. */
static bool polled_check_idle(struct polled *row, const struct proc_files *f)
{
	return f->own_numbers && row->threads <= THREADS_MAX && polled_update_runtime(row);
}

/* Compares statm with that of the last call. Returns true if the memory counters of status, read
 * after that call, are still valid. */
static bool polled_compare_memory(struct polled *row, struct proc_files *f, bool idle)
{
	const char *text;
	size_t len;
	bool same;

	if (!idle) {
		row->statm_len = 0;
		return false;
	}
	row->checks++;
	if (proc_files_read_cached_text(f, &row->statm, row->pid, PROC_FILE_STATM, &text, &len) <
		    0 ||
	    len > sizeof(row->statm_text)) {
		row->statm_len = 0;
		return false;
	}
	same = len > 0 && len == row->statm_len && memcmp(text, row->statm_text, len) == 0;
	memcpy(row->statm_text, text, len);
	row->statm_len = (uint8_t)len;
	/* Spread these reads over passes, so that not all processes are read again in one pass. */
	return same && (row->checks + (unsigned)row->pid) % SAME_MEMORY_TIMES != 0;
}

/* ---- the counters of a process ---- */

/* A kernel thread may execute a program and has memory from then on (before Linux 5.18 the helpers
 * of the kernel started that way). So its status is read again after this many reads. */
#define KTHREAD_READS 16

static void counters_set(struct counters *c, enum counter i, uint64_t v)
{
	c->v[i] = v;
	c->has |= 1u << i;
}

static void counters_set_same(struct counters *c, uint32_t which)
{
	c->has |= which;
	c->same |= which;
}

/* Reads the counters of status. Returns false if the process has no memory (any more), or cannot be
 * read. */
static bool polled_read_status(struct polled *row, struct proc_files *f, struct counters *c)
{
	struct proc_status status;

	if (row->memory && polled_compare_memory(row, f, c->idle)) {
		proc_cached_close(&row->status);
		counters_set_same(c, row->memory);
		return true;
	}
	row->memory = 0;
	if (proc_files_read_cached_status(f, &row->status, row->pid, &status) < 0 ||
	    status.tgid != row->pid)
		return false;
	if (!proc_status_has(&status, PROC_STATUS_VM_SIZE)) {
		row->kthread = proc_status_is_kthread(&status) ? KTHREAD_READS : 0;
		proc_cached_close(&row->status);
		return false;
	}
	for (size_t i = 0; i < ARRAY_SIZE(status_counters); i++) {
		const struct counter_line *l = &status_counters[i];

		if (!proc_status_has(&status, l->key))
			continue;
		counters_set(c, l->counter, status.kb[l->key - PROC_STATUS_VM_SIZE]);
		row->memory |= 1u << l->counter;
	}
	row->threads = status.threads;
	return true;
}

/* Reads the counters; there may be none. Returns 0, or -ESRCH if the process has exited; its id may
 * be in use again. A file that stayed open detects that, or else the start time. */
static int polled_read_counters(struct polled *row, struct proc_files *f,
				const struct process_poll_options *o, struct counters *ret)
{
	bool was_open = proc_cached_is_open(&row->status) || proc_cached_is_open(&row->oom);
	bool idle = polled_check_idle(row, f), same_runtime = idle && row->has_runtime;
	struct proc_smaps smaps;
	struct proc_stat stat;
	int64_t oom, dmabuf;
	/* Read the cheapest file first: it shows whether the process exists. */
	int has_oom = proc_files_read_cached_number(f, &row->oom, row->pid, PROC_FILE_OOM_SCORE_ADJ,
						    &oom);

	*ret = (struct counters){.idle = idle};
	if (was_open && has_oom == -ESRCH)
		return -ESRCH;
	if (o->runtime && same_runtime)
		counters_set_same(ret, 1u << COUNTER_RUNTIME_USER | 1u << COUNTER_RUNTIME_KERNEL);
	if (((o->runtime && !same_runtime) ||
	     (!proc_cached_is_open(&row->status) && !proc_cached_is_open(&row->oom))) &&
	    proc_files_read_stat(f, row->pid, &stat) == 0) {
		if (row->start && row->start != stat.starttime)
			return -ESRCH;
		row->start = stat.starttime;
		if (o->runtime && !same_runtime) {
			counters_set(ret, COUNTER_RUNTIME_USER, stat.utime * f->ns_per_tick);
			counters_set(ret, COUNTER_RUNTIME_KERNEL, stat.stime * f->ns_per_tick);
			row->has_runtime = true;
		}
	}
	if (row->kthread > 0) {
		row->kthread--;
		return 0;
	}
	if (!polled_read_status(row, f, ret))
		return 0;
	if (o->dmabuf_rss &&
	    proc_files_read_number(f, row->pid, PROC_FILE_DMABUF_RSS, &dmabuf) == 0 && dmabuf >= 0)
		counters_set(ret, COUNTER_DMABUF_RSS, (uint64_t)dmabuf / 1024);
	if (o->smaps_rollup && proc_files_read_smaps(f, row->pid, &smaps) == 0)
		for (size_t i = 0; i < ARRAY_SIZE(smaps_counters); i++)
			if (smaps.has >> smaps_counters[i].key & 1)
				counters_set(ret, smaps_counters[i].counter,
					     smaps.kb[smaps_counters[i].key]);
	if (has_oom == 0)
		counters_set(ret, COUNTER_OOM_SCORE_ADJ, (uint64_t)oom);
	return 0;
}

/* Writes a row with the counters that are not in the trace with their current value, if any. */
static void polled_write_row(struct polled *row, const struct counters *now,
			     struct process_packet *p)
{
	uint32_t changed = now->has & ~row->has;
	struct pb_enc *e;

	for (unsigned i = 0; i < COUNTERS; i++) {
		if (!((now->has & ~now->same) >> i & 1))
			continue;
		if (row->v[i] != now->v[i])
			changed |= 1u << i;
		row->v[i] = now->v[i];
	}
	row->has |= now->has;
	if (!changed)
		return;
	e = process_packet_open_row(p, PROCESS_PACKET_STATS, PB_PROCESS_STATS_PROCESSES);
	pb_enc_i64(e, PB_PROCESS_STATS_PROCESS_PID, row->pid);
	for (unsigned i = 0; i < COUNTERS; i++)
		if (changed >> i & 1)
			pb_enc_u64(e, counter_fields[i], row->v[i]);
	pb_enc_close(e);
}

/* ---- the rows of all processes ---- */

static void polled_close(struct polled *row)
{
	proc_cached_close(&row->status);
	proc_cached_close(&row->oom);
	proc_cached_close(&row->statm);
}

/* Empties the row, except pid and pass. Its files must be closed (polled_close()). */
static void polled_reset(struct polled *row)
{
	*row = (struct polled){.pid = row->pid,
			       .pass = row->pass,
			       .is_new = true,
			       .status = PROC_CACHED_NONE,
			       .oom = PROC_CACHED_NONE,
			       .statm = PROC_CACHED_NONE,
			       .hh = row->hh};
}

/* Returns the row of the process, an empty one if it is new; NULL if memory runs out. */
static struct polled *poll_find_or_add_row(struct process_poll *p, int32_t pid)
{
	struct polled *row;

	HASH_FIND_INT(p->by_pid, &pid, row);
	if (!row) {
		row = calloc(1, sizeof(*row));
		if (!row)
			return NULL;
		row->pid = pid;
		polled_reset(row);
		HASH_ADD_INT(p->by_pid, pid, row);
		if (!row->hh.tbl) {
			free(row);
			return NULL;
		}
	}
	row->pass = p->pass;
	return row;
}

static void poll_drop_row(struct process_poll *p, struct polled *row)
{
	polled_close(row);
	HASH_DEL(p->by_pid, row);
	free(row);
}

/* Clears a task that has exited, so that a new task with the same id is written. Not needed if a
 * publisher reports the starts of tasks. */
static void poll_remove_task(struct process_poll *p, int32_t tid)
{
	if (!p->knows_starts)
		task_clear(&p->tree->tasks, tid);
}

/* Ends the row of a process that has exited: removes its tracks and clears its id. */
static void poll_handle_exit(struct process_poll *p, struct polled *row)
{
	if (process_tracks_is_enabled(&p->tracks))
		process_tracks_remove_process(&p->tracks, row->pid, &row->tracks);
	poll_remove_task(p, row->pid);
}

/* Drops the rows that the pass did not meet, in pieces. Returns true while there are more. */
static bool poll_drop_exited(struct process_poll *p)
{
	for (unsigned i = 0; p->next && i < PROCESS_POLL_PIECE; i++) {
		struct polled *row = p->next;

		p->next = row->hh.next;
		if (row->pass == p->pass)
			continue;
		poll_handle_exit(p, row);
		poll_drop_row(p, row);
	}
	return p->next != NULL;
}

/* ---- a pass ---- */

int process_poll_begin(struct process_poll *p, struct process_tree *t)
{
	int r = pid_list_open(&p->processes, t->files->root, 0);

	if (r < 0)
		return r;
	p->tree = t;
	if (p->pass % p->options.full_every == 0)
		for (struct polled *row = p->by_pid; row; row = row->hh.next)
			row->has = 0;
	p->pass++;
	p->at = POLL_TASKS;
	return 0;
}

static void poll_process(struct process_poll *p, int32_t pid)
{
	struct process_packet *packet = p->tree->packet;
	struct proc_files *f = p->tree->files;
	struct polled *row = poll_find_or_add_row(p, pid);
	struct counters now;

	if (!row || (row->is_new && !proc_files_has_run(f, pid, NULL)))
		return;
	process_packet_prepare(packet);
	if (polled_read_counters(row, f, &p->options, &now) < 0) {
		/* The id was reused. */
		poll_handle_exit(p, row);
		polled_close(row);
		polled_reset(row);
		process_packet_prepare(packet);
		(void)polled_read_counters(row, f, &p->options, &now);
	}
	/* The open packet may be about the previous owner of the id. */
	if (row->is_new)
		process_packet_end(packet);
	row->is_new = false;
	polled_write_row(row, &now, packet);
	if (process_tracks_is_enabled(&p->tracks))
		process_tracks_read_process(&p->tracks, f, pid, now.idle, &row->tracks);
}

/* The report of a task's start may still be in a kernel ring: the id appears in /proc before the
 * kernel emits the report. The report has the start time and the first parent; /proc may have
 * another parent by now (task_table.h). So a task without a row is queued only when the rings have
 * been read up to REPORT_WAIT_S after the poll first saw it. */
#define REPORT_WAIT_S 2

static void poll_queue_unknown(struct process_poll *p, int32_t tid)
{
	struct task *task = task_table_add(&p->tree->tasks, tid);

	if (task->has_row) {
		task->unknown_s = 0;
		return;
	}
	if (p->knows_starts && !task->unknown_s) {
		task->unknown_s = (uint32_t)MAX(clock_boot_ns() / NS_PER_S, 1);
		return;
	}
	if (!p->knows_starts || p->reported_until / NS_PER_S >= task->unknown_s + REPORT_WAIT_S)
		process_tree_queue_task(p->tree, tid);
}

/* Serves one task. Returns false after the last one. */
static bool poll_task(struct process_poll *p)
{
	int32_t pid, tid, tgid;

	if (process_tracks_read_thread(&p->tracks, p->tree->files, &tid)) {
		poll_queue_unknown(p, tid);
		return true;
	}
	if (!pid_list_next(&p->processes, &pid)) {
		pid_list_close(&p->processes);
		return false;
	}
	/* Exits of threads are not tracked here. But a thread has exited if its id is now that of a
	 * process. */
	tgid = task_tgid(&p->tree->tasks, pid);
	if (tgid && tgid != pid)
		poll_remove_task(p, pid);
	poll_process(p, pid);
	poll_queue_unknown(p, pid);
	return true;
}

bool process_poll_run(struct process_poll *p, const struct time_slice *slice)
{
	bool has_tracks = process_tracks_is_enabled(&p->tracks);

	if (has_tracks)
		process_tracks_begin(&p->tracks);
	do {
		if (p->at == POLL_TASKS) {
			if (!poll_task(p)) {
				p->at = POLL_EXITED_PROCESSES;
				p->next = p->by_pid;
			}
		} else if (p->at == POLL_EXITED_PROCESSES) {
			if (!poll_drop_exited(p))
				p->at = has_tracks ? POLL_EXITED_THREADS : POLL_IDLE;
		} else if (!process_tracks_drop_exited(&p->tracks)) {
			p->at = POLL_IDLE;
		}
	} while (p->at != POLL_IDLE && !time_slice_over(slice));
	if (has_tracks)
		process_tracks_end(&p->tracks);
	return p->at != POLL_IDLE;
}

void process_poll_end(struct process_poll *p)
{
	p->at = POLL_IDLE;
	pid_list_close(&p->processes);
	pid_list_close(&p->tracks.threads);
}

void process_poll_clear(struct process_poll *p)
{
	for (struct polled *row = p->by_pid; row; row = row->hh.next)
		row->has = 0;
	process_tracks_clear(&p->tracks);
}

bool process_poll_free_rows(struct process_poll *p)
{
	for (unsigned i = 0; p->by_pid && i < PROCESS_POLL_PIECE; i++)
		poll_drop_row(p, p->by_pid);
	return p->by_pid != NULL;
}

void process_poll_deinit(struct process_poll *p)
{
	pid_list_close(&p->processes);
	while (process_poll_free_rows(p))
		;
	process_tracks_deinit(&p->tracks);
}
