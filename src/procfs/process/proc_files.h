/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/text/str.h"
#include "procfs/process/proc_parse.h"
#include "procfs/process/task_table.h"

/*
 * Reads files of tasks below one root ("/proc"), one at a time into one buffer. Tasks may exit
 * meanwhile: the result is -ENOENT or -ESRCH then. Other errors are counted by the kind of file.
 */

/* One line of status may have 65,536 groups (NGROUPS_MAX) of 11 bytes. */
#define PROC_STATUS_FILE_MAX (1u << 20)
/* Longer command lines are truncated. */
#define PROC_CMDLINE_FILE_MAX (128u << 10)
/* The limit of files that all struct proc_files of this process keep open; never more than a
 * quarter of RLIMIT_NOFILE. The kernel uses up to 5 kB for each. */
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

/* Read errors of one kind of file since the start. */
struct proc_errors {
	uint64_t count; /* files that could not be read or parsed */
	int error; /* the latest error: -errno; -EBADMSG: invalid format */
	bool absent; /* this kernel has no such file; it is not opened again */
	bool looked; /* absent has been determined */
};

struct proc_files {
	int root; /* owned */
	char *path; /* owned: of root */
	bool own_numbers; /* task ids below root are those that system calls of this process use */
	uint64_t ns_per_tick;
	struct strbuf text; /* the last file read */
	struct proc_errors errors[PROC_FILES];
};

/* Returns 0 or -errno. After an error there is nothing to deinit. */
int proc_files_init(struct proc_files *f, const char *root);
void proc_files_deinit(struct proc_files *f);

/* Returns the name of the file in /proc/PID. */
const char *proc_file_name(enum proc_file file);

/* Read a file of /proc/PID. Return 0, -errno of the file, or -EBADMSG if the format of the text is
 * invalid. */
int proc_files_read_status(struct proc_files *f, int32_t pid, struct proc_status *ret);
int proc_files_read_stat(struct proc_files *f, int32_t pid, struct proc_stat *ret);
int proc_files_read_smaps(struct proc_files *f, int32_t pid, struct proc_smaps *ret);
/* Reads a file that has one number. */
int proc_files_read_number(struct proc_files *f, int32_t pid, enum proc_file file, int64_t *ret_v);
/* Reads the arguments. *ret_text, borrowed until the next call, is empty for kernel threads and for
 * processes that exit. -EAGAIN: it could not be read in time. */
int proc_files_read_cmdline(struct proc_files *f, int32_t pid, const char **ret_text,
			    size_t *ret_len);

int proc_files_read_io(struct proc_files *f, int32_t pid, struct proc_io *ret);
/* Reads the path of the control group. *ret_path is borrowed until the next call. */
int proc_files_read_cgroup(struct proc_files *f, int32_t pid, struct span *ret_path);

/* Returns whether the process has run. Its id appears in /proc just before the kernel emits
 * task_newtask. So the row of a process that has not run could be written with a time before its
 * start. s: its status, or NULL. Returns true if it is unknown. */
bool proc_files_has_run(struct proc_files *f, int32_t pid, const struct proc_status *s);

/* Read a file of a thread of an open list of threads. Results as above. */
int proc_files_read_thread_status(struct proc_files *f, const struct pid_list *threads, int32_t tid,
				  struct proc_status *ret);
int proc_files_read_thread_comm(struct proc_files *f, const struct pid_list *threads, int32_t tid,
				struct proc_name *ret);
int proc_files_read_thread_schedstat(struct proc_files *f, const struct pid_list *threads,
				     int32_t tid, struct proc_schedstat *ret);

/* A file that stays open between reads, which halves the cost of a read. It belongs to the process,
 * not to its id: reads return -ESRCH and close it after the process has exited, even if the id is
 * in use again. Above the limit of open files each read opens the file and closes it. */
struct proc_cached_file {
	int fd; /* owned; -1: not open */
};
#define PROC_CACHED_NONE ((struct proc_cached_file){.fd = -1})

static inline bool proc_cached_is_open(const struct proc_cached_file *k)
{
	return k->fd >= 0;
}
void proc_cached_close(struct proc_cached_file *k);

/* Read a file of a process that stays open. Results as above. */
int proc_files_read_cached_status(struct proc_files *f, struct proc_cached_file *k, int32_t pid,
				  struct proc_status *ret);
int proc_files_read_cached_number(struct proc_files *f, struct proc_cached_file *k, int32_t pid,
				  enum proc_file file, int64_t *ret_v);
/* Returns -EMFILE if the file may not stay open. *ret_text is borrowed until the next call. */
int proc_files_read_cached_text(struct proc_files *f, struct proc_cached_file *k, int32_t pid,
				enum proc_file file, const char **ret_text, size_t *ret_len);
