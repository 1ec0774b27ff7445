/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "base/system/priority_boost.h"

/*
 * Reads of /proc/PID in another process, for two reasons:
 *
 * - Files that demand the rights of ptrace(2): io, smaps_rollup, auxv, the links of fd. A process
 *   in a Landlock domain has none of these rights, whatever its capabilities.
 * - Files whose read takes a lock of the other process: cmdline and smaps_rollup (mmap_lock), io
 *   and auxv (exec_update_lock). The owner of the lock may be waiting for a CPU or a disk. A reader
 *   of kernel rings cannot wait that long.
 *
 * So before a process enters its domain it forks a child, which stays outside and reads for it. The
 * child has only the system calls and capabilities that it needs to read files, answer and change
 * its own priority. It writes no file and parses nothing.
 *
 * A process has one child, and one thread that makes requests. Without a child these functions read
 * in the calling process.
 */

#define OUTSIDE_READ_MAX (128u << 10) /* bytes; of a longer file, the beginning is read */

#define OUTSIDE_READ_SHORT_MS 2 /* for files that can be read later */
#define OUTSIDE_READ_LONG_MS 100

/* Forks the child, which ends with this process. Returns 0 or -errno. */
int outside_reads_start(void);
/* Returns the pid of the child, 0 if there is none. Other code must not kill it. */
pid_t outside_reads_pid(void);
/* Gives the child the priority of the thread that waits for it. */
void outside_reads_boost(struct priority_boost boost);
/* While the process reads kernel rings, it must not wait for locks of other processes. If this is
 * set, callers let the child read even those files that need no ptrace(2) rights. Otherwise they
 * read those files themselves, which takes a quarter of the time. */
void outside_reads_set_timely(bool yes);
bool outside_reads_are_timely(void);

/* Returns the number of bytes at buf, or -errno (-EPIPE: the child has died; -EAGAIN: no answer
 * within wait_ms, or the child is still busy with an earlier read). */
ssize_t outside_read(const char *path, void *buf, size_t size, int wait_ms);
/* As readlink(2), but returns -errno as outside_read(). */
ssize_t outside_readlink(const char *path, char *buf, size_t size, int wait_ms);
/* As stat(2), but returns 0 or -errno. Waits up to OUTSIDE_READ_LONG_MS. */
int outside_stat(const char *path, struct stat *ret);
