/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/system/priority_boost.h"

/*
 * A thread that writes regular files and pipes, so that a disk that is slow, a file system that hangs, or
 * a peer that holds the lock of a pipe with a write of its own that does not end, holds up nobody else. Jobs are done one after the other, in the order in which they were given.
 *
 *	loop --jobs--> pipe --> thread: write(2), fdatasync(2), ftruncate(2), close(2)
 *	     <-- pipe <--results--
 *
 * The pipes are all that loop and thread share: what a job has is the thread's until its result is
 * taken. A thread whose writer was freed does the jobs that it has, but waits for no reader of a pipe,
 * and ends; where the file system hangs, that may be never, so there is a limit of MAX_WRITE_THREADS.
 */
struct write_thread;

/*
 * boost: how urgently the thread runs. On a machine whose CPUs are busy, what is written late fills the
 * session's buffers. 0; -EUSERS: there are too many, most of which hang; -ENOMEM or -errno.
 */
int write_thread_new(struct priority_boost boost, struct write_thread **ret);
/* Nobody waits; results are not told any more. NULL is fine. */
void write_thread_free(struct write_thread *w);
/* An event loop can wait for it: readable when there is a result. */
int write_thread_fd(const struct write_thread *w);

struct file_result {
	uint64_t id; /* of who gave the job */
	int error; /* -errno: not everything was written, or it may not be on the disk */
	uint8_t *buf; /* of the write, the caller's again; NULL: it was another job */
	size_t cap, len; /* as they were given */
	size_t kept; /* bytes of it that are in the file: all, or whole records of them */
	bool removed; /* the file has no name in any folder */
	bool is_progress; /* of a write to a pipe that goes on: only the id is set */
};

/*
 * Writes records (Trace.packet: a tag of one byte, a length, the packet) that are all whole. buf, of cap
 * bytes from malloc, is taken on success. What an error leaves of the last record is cut off, of a
 * regular file. 0 or -EAGAIN: too many jobs wait.
 */
int write_thread_write(struct write_thread *w, uint64_t id, int fd, uint8_t *buf, size_t cap,
		       size_t len);
/* fdatasync(2), where the file can. As above. */
int write_thread_sync(struct write_thread *w, uint64_t id, int fd);
/* Cuts the file to so many bytes; no result. */
void write_thread_cut(struct write_thread *w, int fd, off_t end);
/* Takes the descriptor; no result. */
void write_thread_close(struct write_thread *w, int fd);

/* 1: the next result; 0: there is none now. */
int write_thread_next(struct write_thread *w, struct file_result *ret);
/* How many are still to come. */
unsigned write_thread_pending(const struct write_thread *w);
/* Waits until there is one. 0, or -ETIMEDOUT after so many ms. */
int write_thread_wait(struct write_thread *w, int timeout_ms);
