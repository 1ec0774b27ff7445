/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/system/priority_boost.h"

/*
 * A thread that makes all system calls that may block on the files of a session, so that the loop
 * never waits for a slow disk, a file system that hangs, or a peer that holds the lock of a pipe,
 * of a file or of its offset. Jobs are done in the order in which they were given.
 *
 *	loop --jobs--> pipe --> thread: lseek(2), write(2), fdatasync(2), ftruncate(2), close(2)
 *	     <-- pipe <--results--
 *
 * A copy of another session's file is made from thread to thread. A pipe is between them: the
 * thread of the source writes the range of its file into it when it has done all earlier jobs, and
 * the thread of the copy waits for that.
 *
 *	thread of the source: write, write, range, write ...
 *	                                      |
 *	thread of the copy:      copy: waits -+-> pread(2) of the range, write(2)
 *
 * Loop and thread share the two pipes only: a job belongs to the thread until its result is taken.
 * After write_thread_free() the thread finishes its jobs, without waiting for readers of pipes, and
 * ends. In a file system that hangs it never ends, so the number of threads is limited
 * (MAX_WRITE_THREADS), with a quarter for root.
 */
struct write_thread;

/* user: the owner of the file. is_root: quota_is_root() of the user. boost: the scheduling priority
 * of the thread; on a busy machine, late writes fill the session's buffers. Returns 0, -EUSERS
 * (too many threads), -ENOMEM or -errno. */
int write_thread_new(uint64_t user, bool is_root, struct priority_boost boost,
		     struct write_thread **ret);
/* Frees w. The thread ends after its jobs, whose results are dropped; this function does not wait
 * for it. No-op for NULL. */
void write_thread_free(struct write_thread *w);
/* Returns a descriptor that is readable when there is a result. */
int write_thread_fd(const struct write_thread *w);

enum file_result_kind { FILE_WRITTEN, FILE_SYNCED, FILE_RANGE_SENT, FILE_COPIED, FILE_PROGRESS };

struct file_result {
	uint64_t id; /* as given with the job */
	/* FILE_PROGRESS: a write to a pipe or a copy made progress and continues; only id is set */
	enum file_result_kind kind;
	int error; /* -errno: the job is incomplete */
	uint8_t *buf; /* FILE_WRITTEN: owned by the caller again */
	size_t cap, len; /* FILE_WRITTEN: as given with the job */
	uint64_t kept; /* bytes that are in the file; FILE_WRITTEN: of whole records */
	bool removed; /* FILE_WRITTEN: the file was unlinked */
};

/* Call it first for each file. The trace begins at the offset of the descriptor, or at the end of a
 * file open with O_APPEND. At most MAX_FILE_PARTS files may be open. Has no result. Returns 0, or
 * -EAGAIN if too many jobs wait. */
int write_thread_add_file(struct write_thread *w, int fd);
/* Writes whole records (Trace.packet: a tag of one byte, a length, the packet). On success, buf
 * (cap bytes from malloc(3)) belongs to the thread until the result returns it. After an error a
 * regular file is truncated to whole records. Returns as write_thread_add_file(). */
int write_thread_write(struct write_thread *w, uint64_t id, int fd, uint8_t *buf, size_t cap,
		       size_t len);
/* Calls fdatasync(2), if the file supports it. Returns as write_thread_add_file(). */
int write_thread_sync(struct write_thread *w, uint64_t id, int fd);
/* Writes the range of the trace in the file into `range`, the write end of an empty pipe. On
 * success, the thread owns the pipe end. Returns as write_thread_add_file(). */
int write_thread_send_range(struct write_thread *w, uint64_t id, int fd, int range);
/* Appends the range that is read from `range`, of the file `from`; the thread owns both descriptors
 * on success. After write_thread_free() the copy ends early. Returns as write_thread_add_file(). */
int write_thread_copy(struct write_thread *w, uint64_t id, int fd, int from, int range);
/* Truncates the file to where the trace began; has no result. */
void write_thread_truncate(struct write_thread *w, int fd);
/* Closes the descriptor; has no result. */
void write_thread_close(struct write_thread *w, int fd);

/* Returns 1 and the next result, or 0 if there is none yet. */
int write_thread_next_result(struct write_thread *w, struct file_result *ret);
/* Returns the number of results to come. */
unsigned write_thread_pending(const struct write_thread *w);
/* Returns for how many ms a result has been due without one being returned; 0 if none is due. */
uint64_t write_thread_stalled_ms(const struct write_thread *w);
/* Waits for the next result. Returns 0, or -ETIMEDOUT after timeout_ms; -1: no limit. */
int write_thread_wait(struct write_thread *w, int timeout_ms);
