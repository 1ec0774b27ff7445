/* SPDX-License-Identifier: Apache-2.0 */
#include "procfs/process/process_counters.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <time.h>
#include <errno.h>

#include "procfs/process/proc_files.h"
#include "base/core/clock.h"
#include "base/core/mem.h"
#include "gen/fields.h"
#include "procfs/process/process_packet.h"

/*
 * Two cheap checks:
 *
 *	CPU time of the process	unchanged: none of its threads has run, so none has mapped,
 *				locked or touched memory
 *	statm			unchanged: no other process has added or removed pages (reclaim,
 *				process_madvise, userfaultfd)
 *
 * Neither detects another process that shares the memory (CLONE_VM without CLONE_THREAD), as long
 * as the sizes stay the same. So every MEMORY_CHECK_TIMES-th answer is "changed".
 */

/*
 * A read of the CPU-time clock adds up all threads, a read of status does not: above this number of
 * threads status is cheaper.
 */
#define THREADS_MAX 256

/*
 * The id of the CPU-time clock of a process: ~pid in the upper bits, then the clock CPUCLOCK_SCHED
 * (2). clock_getcpuclockid(3) computes the same with a system call.
 */
static clockid_t process_counters_clock_of(int32_t pid)
{
	return (clockid_t)((~(uint32_t)pid << 3) | 2u);
}

/* Returns false if the process has run, or if that is unknown. */
static bool has_not_run(struct memory_check *q, int32_t pid)
{
	uint64_t before = q->ran_ns;
	struct timespec ts;

	if (clock_gettime(process_counters_clock_of(pid), &ts) != 0)
		return false;
	q->ran_ns = (uint64_t)ts.tv_sec * NS_PER_S + (uint64_t)ts.tv_nsec;
	return q->ran_ns == before;
}

static bool has_same_pages(struct memory_check *q, struct proc_files *f, int32_t pid)
{
	const char *text;
	size_t len;
	bool same;

	if (proc_files_cached_text(f, &q->statm, pid, PROC_FILE_STATM, &text, &len) < 0 ||
	    len > sizeof(q->text)) {
		q->len = 0;
		return false;
	}
	same = len > 0 && len == q->len && memcmp(text, q->text, len) == 0;
	memcpy(q->text, text, len);
	q->len = (uint8_t)len;
	return same;
}

/*
 * Returns true if the memory counters of status, read after the last call, are still valid. The CPU
 * time of a thread that is running is up to date at the next tick of its CPU only.
 */
static bool memory_is_unchanged(struct memory_check *q, struct proc_files *f, int32_t pid)
{
	if (!f->own_numbers || q->threads > THREADS_MAX)
		return false;
	if (!has_not_run(q, pid)) {
		q->len = 0;
		return false;
	}
	q->checks++;
	/* Spread these reads over passes, so that not all processes are read again in one pass. */
	return has_same_pages(q, f, pid) && (q->checks + (unsigned)pid) % MEMORY_CHECK_TIMES != 0;
}

static void memory_check_deinit(struct memory_check *q)
{
	proc_cached_close(&q->statm);
}

/*
 * Three tables: the source of each counter in status and in smaps_rollup, and its field in the row.
 */

_Static_assert(PROCESS_COUNTERS <= 32, "struct process_counters.has is 32 bits");

#define FIELD(counter, name) [COUNTER_##counter] = PB_PROCESS_STATS_PROCESS_##name

static const uint32_t counter_fields[PROCESS_COUNTERS] = {
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

struct source {
	uint8_t key;
	uint8_t counter;
};

static const struct source status_sources[] = {
	{PROC_STATUS_VM_SIZE, COUNTER_VM_SIZE},	    {PROC_STATUS_VM_RSS, COUNTER_VM_RSS},
	{PROC_STATUS_RSS_ANON, COUNTER_RSS_ANON},   {PROC_STATUS_RSS_FILE, COUNTER_RSS_FILE},
	{PROC_STATUS_RSS_SHMEM, COUNTER_RSS_SHMEM}, {PROC_STATUS_VM_SWAP, COUNTER_VM_SWAP},
	{PROC_STATUS_VM_LCK, COUNTER_VM_LOCKED},    {PROC_STATUS_VM_HWM, COUNTER_VM_HWM},
};

static const struct source smaps_sources[] = {
	{PROC_SMAPS_RSS, COUNTER_SMR_RSS},
	{PROC_SMAPS_PSS, COUNTER_SMR_PSS},
	{PROC_SMAPS_PSS_ANON, COUNTER_SMR_PSS_ANON},
	{PROC_SMAPS_PSS_FILE, COUNTER_SMR_PSS_FILE},
	{PROC_SMAPS_PSS_SHMEM, COUNTER_SMR_PSS_SHMEM},
	{PROC_SMAPS_SWAP_PSS, COUNTER_SMR_SWAP_PSS},
};

static void set(struct process_counters *c, enum process_counter i, uint64_t v)
{
	c->v[i] = v;
	c->has |= 1u << i;
}

static void read_smaps(struct proc_files *f, int32_t pid, struct process_counters *c)
{
	struct proc_smaps smaps;

	if (proc_files_smaps(f, pid, &smaps) < 0)
		return;
	for (size_t i = 0; i < ARRAY_SIZE(smaps_sources); i++) {
		const struct source *s = &smaps_sources[i];

		if (smaps.has >> s->key & 1)
			set(c, s->counter, smaps.kb[s->key]);
	}
}

static bool has_cached(const struct process_counter_files *s)
{
	return proc_cached_is_open(&s->status) || proc_cached_is_open(&s->oom);
}

void process_counter_files_deinit(struct process_counter_files *s)
{
	proc_cached_close(&s->status);
	proc_cached_close(&s->oom);
	memory_check_deinit(&s->memory_check);
}

/*
 * Without an open file the start time identifies the process. Returns -ESRCH if it is another
 * process.
 */
static int read_stat(struct proc_files *f, struct process_counter_files *s, bool runtime,
		     struct process_counters *c)
{
	struct proc_stat stat;

	if ((has_cached(s) && !runtime) || proc_files_stat(f, s->pid, &stat) < 0)
		return 0;
	if (s->start && s->start != stat.starttime)
		return -ESRCH;
	s->start = stat.starttime;
	if (runtime) {
		set(c, COUNTER_RUNTIME_USER, stat.utime * f->ns_per_tick);
		set(c, COUNTER_RUNTIME_KERNEL, stat.stime * f->ns_per_tick);
	}
	return 0;
}

static void set_memory(const struct proc_status *status, struct process_counters *c)
{
	for (size_t i = 0; i < ARRAY_SIZE(status_sources); i++) {
		const struct source *s = &status_sources[i];

		if (proc_status_has(status, s->key))
			set(c, s->counter, status->kb[s->key - PROC_STATUS_VM_SIZE]);
	}
}

/* Returns false if the process has no memory (any more). */
static bool read_status(struct proc_files *f, struct process_counter_files *s,
			struct process_counters *c)
{
	uint32_t before = c->has;
	struct proc_status status;

	if (s->memory && memory_is_unchanged(&s->memory_check, f, s->pid)) {
		proc_cached_close(&s->status);
		c->has |= s->memory;
		c->same |= s->memory;
		c->idle = true;
		return true;
	}
	s->memory = 0;
	if (proc_files_cached_status(f, &s->status, s->pid, &status) < 0 || status.tgid != s->pid)
		return false;
	if (!proc_status_has(&status, PROC_STATUS_VM_SIZE)) {
		s->kthread = proc_status_is_kthread(&status) ? PROCESS_KTHREAD_READS : 0;
		proc_cached_close(&s->status);
		return false;
	}
	set_memory(&status, c);
	s->memory = c->has & ~before;
	s->memory_check.threads = status.threads;
	return true;
}

static bool process_counters_read_memory(struct proc_files *f, struct process_counter_files *s,
					 const struct process_counters_options *o,
					 struct process_counters *c)
{
	int64_t v;

	if (!read_status(f, s, c))
		return false;
	if (o->dmabuf_rss && proc_files_number(f, s->pid, PROC_FILE_DMABUF_RSS, &v) == 0 && v >= 0)
		set(c, COUNTER_DMABUF_RSS, (uint64_t)v / 1024);
	if (o->smaps_rollup)
		read_smaps(f, s->pid, c);
	return true;
}

int process_counters_read(struct proc_files *f, struct process_counter_files *s,
			  const struct process_counters_options *o, struct process_counters *ret)
{
	bool kept = has_cached(s);
	int64_t oom;
	/* Read the cheapest file first: it shows whether the process exists. */
	int has_oom = proc_files_cached_number(f, &s->oom, s->pid, PROC_FILE_OOM_SCORE_ADJ, &oom);

	*ret = (struct process_counters){0};
	if ((kept && has_oom == -ESRCH) || read_stat(f, s, o->runtime, ret) < 0)
		return -ESRCH;
	if (s->kthread > 0) {
		s->kthread--;
		ret->idle = f->own_numbers && has_not_run(&s->memory_check, s->pid);
	} else if (process_counters_read_memory(f, s, o, ret) && has_oom == 0) {
		set(ret, COUNTER_OOM_SCORE_ADJ, (uint64_t)oom);
	}
	return 0;
}

void process_counters_write(struct process_packet *p, int32_t pid,
			    const uint64_t v[static PROCESS_COUNTERS], uint32_t which)
{
	struct pb_enc *e;

	if (!which)
		return;
	e = process_packet_row(p, PROCESS_PACKET_STATS, PB_PROCESS_STATS_PROCESSES);
	pb_enc_i64(e, PB_PROCESS_STATS_PROCESS_PID, pid);
	for (unsigned i = 0; i < PROCESS_COUNTERS; i++)
		if (which >> i & 1)
			pb_enc_u64(e, counter_fields[i], v[i]);
	pb_enc_close(e);
}
