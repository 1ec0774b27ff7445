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
 * and ends; where the file system hangs, that may be never, so there is a limit of MAX_FILE_WRITERS.
 */
struct file_writer;

/*
 * boost: how urgently the thread runs. On a machine whose CPUs are busy, what is written late fills the
 * session's buffers. 0; -EUSERS: there are too many, most of which hang; -ENOMEM or -errno.
 */
int file_writer_new(struct priority_boost boost, struct file_writer **ret);
/* Nobody waits; results are not told any more. NULL is fine. */
void file_writer_free(struct file_writer *w);
/* An event loop can wait for it: readable when there is a result. */
int file_writer_fd(const struct file_writer *w);

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
int file_writer_write(struct file_writer *w, uint64_t id, int fd, uint8_t *buf, size_t cap,
		      size_t len);
/* fdatasync(2), where the file can. As above. */
int file_writer_sync(struct file_writer *w, uint64_t id, int fd);
/* Cuts the file to so many bytes; no result. */
void file_writer_cut(struct file_writer *w, int fd, off_t end);
/* Takes the descriptor; no result. */
void file_writer_close(struct file_writer *w, int fd);

/* 1: the next result; 0: there is none now. */
int file_writer_next(struct file_writer *w, struct file_result *ret);
/* How many are still to come. */
unsigned file_writer_pending(const struct file_writer *w);
/* Waits until there is one. 0, or -ETIMEDOUT after so many ms. */
int file_writer_wait(struct file_writer *w, int timeout_ms);

/* Of a buffer of records, where the last one ends that ends within the first len bytes. */
size_t file_writer_whole(const uint8_t *records, size_t len);
