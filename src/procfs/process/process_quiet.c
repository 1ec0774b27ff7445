/* SPDX-License-Identifier: Apache-2.0 */
#include "procfs/process/process_quiet.h"

#include <string.h>
#include <time.h>

#include "base/core/clock.h"

/*
 * Two things are looked at, both of them cheap:
 *
 *	the CPU time of the process	as before: none of its threads has run, so none has mapped,
 *					locked or touched anything
 *	statm				as before: nobody else has taken or given pages (reclaim,
 *					process_madvise, userfaultfd)
 *
 * What neither shows is what another process does that shares the memory (CLONE_VM without
 * CLONE_THREAD), where it leaves the sizes as they are: so now and then the answer is no.
 */

/* The clock adds up the threads, status does not: of one with more than these status is cheaper. */
#define THREADS_MAX 256

/* The kernel's number of the CPU-time clock of a process: ~pid in the upper bits, below that the
 * clock CPUCLOCK_SCHED (2). clock_getcpuclockid(3) is the same and a system call. */
static clockid_t clock_of(int32_t pid)
{
	return (clockid_t)((~(uint32_t)pid << 3) | 2u);
}

/* False: it has, or nobody can tell. */
static bool has_not_run(struct process_quiet *q, int32_t pid)
{
	uint64_t before = q->ran_ns;
	struct timespec ts;

	if (clock_gettime(clock_of(pid), &ts) != 0)
		return false;
	q->ran_ns = (uint64_t)ts.tv_sec * NS_PER_S + (uint64_t)ts.tv_nsec;
	return q->ran_ns == before;
}

static bool has_same_pages(struct process_quiet *q, struct proc_files *f, int32_t pid)
{
	const char *text;
	size_t len;
	bool same;

	if (proc_files_kept_text(f, &q->statm, pid, PROC_FILE_STATM, &text, &len) < 0 ||
	    len > sizeof(q->text)) {
		q->len = 0;
		return false;
	}
	same = len > 0 && len == q->len && memcmp(text, q->text, len) == 0;
	memcpy(q->text, text, len);
	q->len = (uint8_t)len;
	return same;
}

bool process_is_quiet(struct process_quiet *q, struct proc_files *f, int32_t pid)
{
	if (!f->own_numbers || q->threads > THREADS_MAX)
		return false;
	if (!has_not_run(q, pid)) {
		q->len = 0;
		return false;
	}
	q->asked++;
	/* Not for all of them in the same pass. */
	return has_same_pages(q, f, pid) && (q->asked + (unsigned)pid) % PROCESS_QUIET_TIMES != 0;
}

void process_quiet_deinit(struct process_quiet *q)
{
	proc_kept_close(&q->statm);
}
