/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/system/priority_boost.h"

/*
 * A thread that writes regular files and pipes, so that the loop never waits for a slow disk, a
 * file system that hangs, or a peer that holds the lock of a pipe. Jobs are done in the order in
 * which they were given.
 *
 *	loop --jobs--> pipe --> thread: write(2), fdatasync(2), ftruncate(2), close(2)
 *	     <-- pipe <--results--
 *
 * Loop and thread share the two pipes only: a job belongs to the thread until its result is taken.
 * After write_thread_free() the thread finishes its jobs, without waiting for readers of pipes, and
 * ends. In a file system that hangs it never ends, so the number of threads is limited
 * (MAX_WRITE_THREADS), and each user has a share of them.
 */
struct write_thread;

/*
 * user: the owner of the file; is_root: whether the user has what is kept for root (quota_is_root()).
 * boost: the scheduling priority of the thread. On a busy machine, late writes fill the session's
 * buffers. Returns 0, -EUSERS (MAX_WRITE_THREADS exist), -EDQUOT (the user has its share), -ENOMEM or
 * -errno.
 */
int write_thread_new(uint64_t user, bool is_root, struct priority_boost boost,
		     struct write_thread **ret);
/* Does not wait for the jobs; their results are dropped. No-op for NULL. */
void write_thread_free(struct write_thread *w);
/* Returns a descriptor that is readable when there is a result. */
int write_thread_fd(const struct write_thread *w);

struct file_result {
	uint64_t id; /* as given with the job */
	int error; /* -errno: the write or the sync is incomplete */
	uint8_t *buf; /* of a write, owned by the caller again; NULL: another job */
	size_t cap, len; /* as given with the job */
	size_t kept; /* bytes of buf that are in the file, whole records only */
	bool removed; /* the file was unlinked */
	bool is_progress; /* a write to a pipe made progress and continues; only id is set */
};

/*
 * Writes whole records (Trace.packet: a tag of one byte, a length, the packet). Takes buf, cap
 * bytes from malloc, on success. After an error a regular file is truncated to whole records.
 * Returns 0, or -EAGAIN if too many jobs wait.
 */
int write_thread_write(struct write_thread *w, uint64_t id, int fd, uint8_t *buf, size_t cap,
		       size_t len);
/* Calls fdatasync(2), if the file supports it. Returns as above. */
int write_thread_sync(struct write_thread *w, uint64_t id, int fd);
/* Truncates the file; has no result. */
void write_thread_cut(struct write_thread *w, int fd, off_t end);
/* Closes the descriptor; has no result. */
void write_thread_close(struct write_thread *w, int fd);

/* Returns 1 and the next result, or 0 if there is none yet. */
int write_thread_next(struct write_thread *w, struct file_result *ret);
/* Returns the number of results to come. */
unsigned write_thread_pending(const struct write_thread *w);
/* Returns for how many ms a result has been due, since the last one that was taken; 0: none is. */
uint64_t write_thread_waits_ms(const struct write_thread *w);
/* Waits for the next result. Returns 0, or -ETIMEDOUT after timeout_ms. */
int write_thread_wait(struct write_thread *w, int timeout_ms);
