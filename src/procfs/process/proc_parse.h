/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/text/span.h"

/*
 * Parsers of the files of a task: /proc/PID/{status,stat,smaps_rollup,cmdline,comm,io,cgroup},
 * /proc/PID/task/TID/schedstat, and files with one number. A task sets its own name and arguments,
 * so the texts are untrusted.
 *
 * Formats: proc(5), cgroups(7); fs/proc/array.c and Documentation/scheduler/sched-stats.rst of the
 * kernel.
 */

/* The name of a task has up to 15 bytes, that of a kernel worker with its queue up to 63. */
#define PROC_NAME_MAX 64
/* Namespaces nest 32 deep (MAX_PID_NS_LEVEL). */
#define PROC_NSPID_MAX 32

enum proc_status_key {
	PROC_STATUS_NAME,
	PROC_STATUS_TGID,
	PROC_STATUS_PID,
	PROC_STATUS_PPID,
	PROC_STATUS_UID,
	PROC_STATUS_NSPID,
	PROC_STATUS_KTHREAD, /* Linux 6.4 */
	PROC_STATUS_THREADS,
	/* The following are in kB. */
	PROC_STATUS_VM_SIZE,
	PROC_STATUS_VM_LCK,
	PROC_STATUS_VM_HWM,
	PROC_STATUS_VM_RSS,
	PROC_STATUS_RSS_ANON,
	PROC_STATUS_RSS_FILE,
	PROC_STATUS_RSS_SHMEM,
	PROC_STATUS_VM_SWAP,
	PROC_STATUS_KEYS,
};

struct proc_name {
	uint8_t len;
	char s[PROC_NAME_MAX]; /* any bytes but NUL; not terminated */
};

struct proc_status {
	uint32_t has; /* bits by enum proc_status_key; missing values are zero */
	int32_t tgid;
	int32_t pid;
	int32_t ppid;
	uint32_t uid; /* real user id */
	uint32_t threads;
	bool kthread;
	bool has_switched; /* it was scheduled out at least once */
	uint8_t n_nspid;
	int32_t nspid[PROC_NSPID_MAX]; /* ids in namespaces below that of /proc, outermost first */
	struct proc_name name; /* as the task set it; the escapes of the kernel are removed */
	uint64_t kb[PROC_STATUS_KEYS - PROC_STATUS_VM_SIZE];
};

static inline bool proc_status_has(const struct proc_status *s, enum proc_status_key key)
{
	return s->has >> key & 1;
}

/* Kernels before 6.4 have no Kthread line; there, kernel threads are the children of process 2. */
static inline bool proc_status_is_kthread(const struct proc_status *s)
{
	if (proc_status_has(s, PROC_STATUS_KTHREAD))
		return s->kthread;
	return s->pid == 2 || s->ppid == 2;
}

/* Returns 0, or -EBADMSG if Name, Tgid or Pid is missing. A value that is not a number counts as
 * missing. Of two lines with the same key the first counts. */
int proc_status_parse(const char *text, size_t len, struct proc_status *ret);

/* /proc/PID/stat, in clock ticks (sysconf(_SC_CLK_TCK)). */
struct proc_stat {
	uint64_t utime;
	uint64_t stime;
	uint64_t starttime; /* since boot */
};

/* Returns 0 or -EBADMSG. */
int proc_stat_parse(const char *text, size_t len, struct proc_stat *ret);

enum proc_smaps_key {
	PROC_SMAPS_RSS,
	PROC_SMAPS_PSS,
	PROC_SMAPS_PSS_ANON,
	PROC_SMAPS_PSS_FILE,
	PROC_SMAPS_PSS_SHMEM,
	PROC_SMAPS_SWAP_PSS,
	PROC_SMAPS_KEYS,
};

/* /proc/PID/smaps_rollup, in kB. */
struct proc_smaps {
	uint32_t has; /* bits by enum proc_smaps_key */
	uint64_t kb[PROC_SMAPS_KEYS];
};

/* Parses the text; ret->has shows which values it contains. */
void proc_smaps_parse(const char *text, size_t len, struct proc_smaps *ret);

/* Parses a file that has one integer, such as oom_score_adj. Returns 0 or -EBADMSG. */
int proc_number_parse(const char *text, size_t len, int64_t *ret_v);

/* Parses /proc/PID/comm: the name and a newline. */
void proc_comm_parse(const char *text, size_t len, struct proc_name *ret);

/*
 * Iterates over the arguments of /proc/PID/cmdline, each up to a NUL or the end. Empty arguments
 * are skipped.
 *	for (const char *p = text; (p = proc_cmdline_next(p, end, &arg, &n)); )
 */
const char *proc_cmdline_next(const char *p, const char *end, const char **ret_arg,
			      size_t *ret_len);

/* ---- resources that a task has used ---- */

enum proc_io_key {
	PROC_IO_RCHAR, /* bytes returned by read(2) and similar calls */
	PROC_IO_WCHAR,
	PROC_IO_SYSCR, /* calls */
	PROC_IO_SYSCW,
	PROC_IO_READ_BYTES, /* from storage */
	PROC_IO_WRITE_BYTES,
	PROC_IO_CANCELLED_WRITE_BYTES, /* written bytes that a truncation made unnecessary */
	PROC_IO_KEYS,
};

struct proc_io {
	uint32_t has; /* bits by enum proc_io_key */
	uint64_t v[PROC_IO_KEYS];
};

/* Returns 0, or -EBADMSG if no line has the format. */
int proc_io_parse(const char *text, size_t len, struct proc_io *ret);

struct proc_schedstat {
	uint64_t run_ns; /* on a CPU */
	uint64_t wait_ns; /* runnable, on the run queue of a CPU */
	uint64_t slices; /* how often it was scheduled on a CPU */
};

/* Returns 0 or -EBADMSG. */
int proc_schedstat_parse(const char *text, size_t len, struct proc_schedstat *ret);

/* Finds the cgroup of a process; *ret_path points into text. With several hierarchies it prefers,
 * among the paths other than "/": version 2, then systemd, then the memory controller, then the
 * first of the others. Returns 0 or -EBADMSG. */
int proc_cgroup_parse(const char *text, size_t len, struct span *ret_path);
