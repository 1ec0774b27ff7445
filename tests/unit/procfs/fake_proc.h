/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <assert.h>
#include <ftw.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/*
 * A directory that stands in for /proc, made of the tasks that a test wants. Include it once in a
 * test.
 */

static char proc_root[64];

static inline void proc_new(void)
{
	/* In memory where there is such a directory: thousands of tasks are thousands of files. */
	const char *base = access("/dev/shm", W_OK | X_OK) == 0 ? "/dev/shm" : "/tmp";

	snprintf(proc_root, sizeof(proc_root), "%s/sonda-proc-XXXXXX", base);
	if (!mkdtemp(proc_root))
		abort();
}

static inline int proc_unlink(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	return remove(path);
}

static inline void proc_remove_all(void)
{
	nftw(proc_root, proc_unlink, 16, FTW_DEPTH | FTW_PHYS);
}

/* Everything below a path relative to the root. */
static inline void proc_remove(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
static inline void proc_remove(const char *fmt, ...)
{
	char path[512];
	va_list ap;
	int n = snprintf(path, sizeof(path), "%s/", proc_root);

	va_start(ap, fmt);
	vsnprintf(path + n, sizeof(path) - (size_t)n, fmt, ap);
	va_end(ap);
	nftw(path, proc_unlink, 16, FTW_DEPTH | FTW_PHYS);
}

static inline void proc_put(const char *data, size_t len, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* Writes a file and makes the directories above it. */
static inline void proc_put(const char *data, size_t len, const char *fmt, ...)
{
	char path[512];
	va_list ap;
	size_t n = (size_t)snprintf(path, sizeof(path), "%s/", proc_root);
	FILE *f;

	va_start(ap, fmt);
	vsnprintf(path + n, sizeof(path) - n, fmt, ap);
	va_end(ap);
	for (char *slash = path + n; (slash = strchr(slash, '/')); *slash++ = '/') {
		*slash = '\0';
		mkdir(path, 0700);
	}
	f = fopen(path, "w");
	if (!f || fwrite(data, 1, len, f) != len || fclose(f) != 0)
		abort();
}

struct proc_task {
	int pid;
	int tid; /* 0: the leader */
	const char *name; /* as it stands in status: escaped */
	unsigned threads; /* of the process; 0: 1 */
	const char *more; /* further lines of status */
};

/* The files of one task. Of a leader also cmdline "NAME\0arg\0" and stat with start time PID. */
static inline void proc_put_task(struct proc_task t)
{
	int tid = t.tid ? t.tid : t.pid;
	char text[4096];
	int n = snprintf(text, sizeof(text),
			 "Name:\t%s\nUmask:\t0022\nState:\tS (sleeping)\nTgid:\t%d\nNgid:\t0\n"
			 "Pid:\t%d\nPPid:\t1\nTracerPid:\t0\nUid:\t1000\t0\t0\t0\n%s"
			 "Threads:\t%u\n",
			 t.name, t.pid, tid, t.more ? t.more : "Kthread:\t0\n",
			 t.threads ? t.threads : 1);

	proc_put(text, (size_t)n, "%d/task/%d/status", t.pid, tid);
	/* Threads have a directory in the root too, that readdir does not show; here it does,
	 * unless the caller takes it away. */
	proc_put(text, (size_t)n, "%d/status", tid);
	n = snprintf(text, sizeof(text), "%s\n", t.name);
	proc_put(text, (size_t)n, "%d/task/%d/comm", t.pid, tid);
	if (tid != t.pid)
		return;
	n = snprintf(text, sizeof(text), "%s", t.name) + 1;
	memcpy(text + n, "arg", 4);
	proc_put(text, (size_t)n + 4, "%d/cmdline", t.pid);
	n = snprintf(text, sizeof(text),
		     "%d (%s) S 1 1 1 0 -1 4194304 0 0 0 0 7 8 0 0 20 0 1 0 %d 0 0 0\n", t.pid,
		     t.name, t.pid);
	proc_put(text, (size_t)n, "%d/stat", t.pid);
}
