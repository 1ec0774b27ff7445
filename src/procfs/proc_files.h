/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <dirent.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/str.h"
#include "procfs/proc_status.h"

/*
 * Reads the files of tasks under one root ("/proc"), one at a time into one buffer. Tasks come and
 * go meanwhile: -ENOENT and -ESRCH are the answer for one that has gone.
 */

/* 65,536 groups (NGROUPS_MAX) of 11 bytes stand in one line of status. */
#define PROC_STATUS_FILE_MAX (1u << 20)
/* Of a longer command line the rest is not recorded. */
#define PROC_CMDLINE_FILE_MAX (128u << 10)

struct proc_files {
	int root; /* owned */
	uint64_t ns_per_tick;
	struct strbuf text; /* the last file read */
};

/* 0 or -errno (nothing to deinit then). */
int proc_files_init(struct proc_files *f, const char *root);
void proc_files_deinit(struct proc_files *f);

/* Each gives 0, -errno of the file, or -EBADMSG for a text that is not in the format. */
int proc_files_status(struct proc_files *f, int32_t pid, struct proc_status *ret);
int proc_files_thread_status(struct proc_files *f, int32_t pid, int32_t tid,
			     struct proc_status *ret);
int proc_files_comm(struct proc_files *f, int32_t pid, int32_t tid, struct proc_name *ret);
int proc_files_stat(struct proc_files *f, int32_t pid, struct proc_stat *ret);
int proc_files_smaps(struct proc_files *f, int32_t pid, struct proc_smaps *ret);
/* A file of one number. */
int proc_files_number(struct proc_files *f, int32_t pid, const char *file, int64_t *ret_v);
/* Borrowed until the next call. May be empty: kernel threads and the dead have none. */
int proc_files_cmdline(struct proc_files *f, int32_t pid, const char **ret_text, size_t *ret_len);

/* What a descriptor of a task leads to, cut off at size; not terminated. Its length or -errno. */
ssize_t proc_files_fd(const struct proc_files *f, int32_t tid, int32_t fd, char *path, size_t size);

/* The tasks of a folder: of the root (pid 0), or the threads of a process. Zero-initialise. */
struct proc_list {
	DIR *dir; /* owned */
};

int proc_list_open(struct proc_list *l, const struct proc_files *f, int32_t pid);
/* The next task in the kernel's order; false at the end. */
bool proc_list_next(struct proc_list *l, int32_t *ret_pid);
void proc_list_close(struct proc_list *l);
static inline bool proc_list_is_open(const struct proc_list *l)
{
	return l->dir != NULL;
}
