/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/text/str.h"
#include "procfs/process/proc_status.h"
#include "procfs/process/proc_usage.h"

/*
 * The tasks of a folder, by number: those of /proc, or the threads in /proc/PID/task. May stay open
 * between turns; the kernel's order is by number, so the walk goes on where it was, whoever has come
 * or gone.
 */

#define PROC_LIST_BYTES (2u << 10) /* some 80 names at a time: the kernel makes an inode for each */

/* Zero-initialise. */
struct pid_list {
	bool open;
	int fd; /* owned while open; files of the tasks can be opened relative to it */
	int32_t pid; /* whose threads, or 0 */
	uint32_t expected; /* with that many tasks it is at its end; 0: not known */
	uint32_t n; /* tasks so far */
	bool skipped; /* the first of them, which is the leader */
	uint32_t at;
	uint32_t end; /* what is left of names is [at, end) */
	_Alignas(8) char names[PROC_LIST_BYTES];
};

/* root: of /proc. pid 0: all processes. 0 or -errno. */
int pid_list_open(struct pid_list *l, int root, int32_t pid);
/* Of an open list of threads, before the first: so many there are, and the leader is of no interest.
 * It may come all the same, and so may threads that have come before. */
void pid_list_expect(struct pid_list *l, uint32_t threads);
/* The next task in the kernel's order; false at the end. */
bool pid_list_next(struct pid_list *l, int32_t *ret_tid);
/* Also of one that is not open. */
void pid_list_close(struct pid_list *l);
static inline bool pid_list_is_open(const struct pid_list *l)
{
	return l->open;
}

/*
 * Reads the files of tasks under one root ("/proc"), one at a time into one buffer. Tasks come and
 * go meanwhile: -ENOENT and -ESRCH are the answer for one that has gone. Any other trouble with a
 * file is counted by the kind of the file.
 */

/* 65,536 groups (NGROUPS_MAX) of 11 bytes stand in one line of status. */
#define PROC_STATUS_FILE_MAX (1u << 20)
/* Of a longer command line the rest is not recorded. */
#define PROC_CMDLINE_FILE_MAX (128u << 10)
/* Files of this process that stay open, of all struct proc_files together; never more than a quarter
 * of what it may have open. The kernel keeps up to 5 kB for each. */
#define PROC_KEPT_MAX 8192u

enum proc_file {
	PROC_FILE_STATUS,
	PROC_FILE_STAT,
	PROC_FILE_STATM,
	PROC_FILE_CMDLINE,
	PROC_FILE_COMM,
	PROC_FILE_OOM_SCORE_ADJ,
	PROC_FILE_SMAPS_ROLLUP,
	PROC_FILE_DMABUF_RSS,
	PROC_FILE_IO,
	PROC_FILE_SCHEDSTAT,
	PROC_FILE_CGROUP,
	PROC_FILES,
};

/* Of one kind of file, since the start. */
struct proc_errors {
	uint64_t count; /* files that could not be read, or not understood */
	int error; /* the latest: -errno, -EBADMSG for a text that is not in the format */
	bool absent; /* this kernel has no such file: it is not looked for any more */
	bool looked; /* whether it has */
};

struct proc_files {
	int root; /* owned */
	char *path; /* owned: of root */
	bool own_numbers; /* tasks have the numbers there that they have for our system calls */
	uint64_t ns_per_tick;
	struct strbuf text; /* the last file read */
	struct proc_errors errors[PROC_FILES];
};

/* 0 or -errno (nothing to deinit then). */
int proc_files_init(struct proc_files *f, const char *root);
void proc_files_deinit(struct proc_files *f);

/* The file's name in /proc/PID. */
const char *proc_file_name(enum proc_file file);

/* Each gives 0, -errno of the file, or -EBADMSG for a text that is not in the format. */
int proc_files_status(struct proc_files *f, int32_t pid, struct proc_status *ret);
int proc_files_stat(struct proc_files *f, int32_t pid, struct proc_stat *ret);
int proc_files_smaps(struct proc_files *f, int32_t pid, struct proc_smaps *ret);
/* A file of one number. */
int proc_files_number(struct proc_files *f, int32_t pid, enum proc_file file, int64_t *ret_v);
/* Borrowed until the next call. May be empty: kernel threads and the dead have none. */
int proc_files_cmdline(struct proc_files *f, int32_t pid, const char **ret_text, size_t *ret_len);

int proc_files_io(struct proc_files *f, int32_t pid, struct proc_io *ret);
/* Borrowed until the next call. */
int proc_files_cgroup(struct proc_files *f, int32_t pid, struct span *ret_path);

/*
 * Has the process run? Its numbers appear in /proc just before the kernel tells of it (task_newtask), and it
 * runs after that: what is written of one that has not run may be older than its beginning. s: its
 * status, or NULL. True where the kernel does not say.
 */
bool proc_files_has_run(struct proc_files *f, int32_t pid, const struct proc_status *s);

/* Of a thread in the open list of a process' threads. */
int proc_files_thread_status(struct proc_files *f, const struct pid_list *threads, int32_t tid,
			     struct proc_status *ret);
int proc_files_thread_comm(struct proc_files *f, const struct pid_list *threads, int32_t tid,
			   struct proc_name *ret);
int proc_files_thread_schedstat(struct proc_files *f, const struct pid_list *threads, int32_t tid,
				struct proc_schedstat *ret);

/* What a descriptor of a task leads to, cut off at size; not terminated. Its length or -errno. */
ssize_t proc_files_fd(const struct proc_files *f, int32_t tid, int32_t fd, char *path, size_t size);

/*
 * A file that stays open from one read to the next, which halves what a read costs. It goes with the
 * process and not with its number: -ESRCH once that has ended, whoever has the number then; it is
 * closed by that. Where no more may be kept it is opened each time, and kept says so.
 */
struct proc_cached_file {
	int fd; /* owned; -1: not open */
};
#define PROC_CACHED_NONE ((struct proc_cached_file){.fd = -1})

static inline bool proc_cached_is_open(const struct proc_cached_file *k)
{
	return k->fd >= 0;
}
void proc_cached_close(struct proc_cached_file *k);

int proc_files_cached_status(struct proc_files *f, struct proc_cached_file *k, int32_t pid,
			     struct proc_status *ret);
int proc_files_cached_number(struct proc_files *f, struct proc_cached_file *k, int32_t pid,
			     enum proc_file file, int64_t *ret_v);
/* Only where it may be kept: else -EMFILE. Borrowed until the next call. */
int proc_files_cached_text(struct proc_files *f, struct proc_cached_file *k, int32_t pid,
			   enum proc_file file, const char **ret_text, size_t *ret_len);
