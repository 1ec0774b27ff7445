/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>
#include <sys/types.h>

/*
 * Reads of /proc/PID that demand the rights of ptrace(2): io, smaps_rollup, the links of fd. A process
 * in a Landlock domain has none of them, whatever its capabilities. So before it enters its domain it
 * forks a child, which stays outside and reads for it. The child may do no more than that: no system
 * calls but those for reading and answering, no capabilities but those for reading, and it writes
 * nothing. It parses nothing either.
 *
 * One child a process, one thread; each read waits for the answer. Without a child the reads are made
 * here, so that a caller need not know.
 */

#define OUTSIDE_READ_MAX 4096 /* bytes of a file; of a longer one the beginning */

/* Forks the child, which ends with this process. 0 or -errno. */
int outside_reads_start(void);
/* The child, to be killed by nobody else; 0: there is none. */
pid_t outside_reads_pid(void);

/* The number of bytes at buf, or -errno (-EPIPE: the child has died). */
ssize_t outside_read(const char *path, void *buf, size_t size);
/* As readlink(2), but for the errors. */
ssize_t outside_readlink(const char *path, char *buf, size_t size);
/* 0 or -errno. */
int outside_stat(const char *path, struct stat *ret);
