/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/core/err.h"
#include "config/trace_config.pb-c.h"
#include "service/output/file_owner.h"
#include "service/output/passed_file.h"

/* ---- the fields of a TraceConfig about the file: their check, and the period of flushes ---- */

/* Returns 0, or -EINVAL and sets e. file_writer_new() checks for a passed descriptor. */
int file_writer_check_config(const Pb__TraceConfig *config, struct err_text *e);

/* Returns the period of flushes that are not part of a write, or 0 if there are none. A session
 * without a file may have such flushes, too. */
uint32_t file_writer_flush_period_ms(const Pb__TraceConfig *config);

/*
 * write_into_file: the service itself writes a session's trace, into a file that the consumer
 * passed or that the service creates. It writes once per period, each time a buffer has received
 * FILE_FILL_BYTES (or half the size of a smaller buffer), and when the session ends. So a buffer
 * reuses little memory (service/buffer/buffer_store.c), and the data to write is still in the CPU
 * caches.
 *
 *	start --> each period: [flush] --> batches: read, write(2) --> [fdatasync]
 *	      --> each fill:   the same without a flush
 *	finish --> the same once more --> fdatasync, close --> ops.closed
 *
 * One iteration of the loop reads and writes about FILE_BATCH_BYTES, which bounds the delay of
 * other peers. Data that a slow reader of a pipe has not taken stays in the session's buffers.
 *
 * A write error ends the session with an error. A file that reaches max_file_size_bytes ends it
 * without one.
 */
struct file_writer;

/* Creates the file writer of a config with write_into_file. The trace goes into `file`, if one was
 * passed, or into output_path; exactly one must be set. Takes ownership of `file`, even on failure.
 * Returns 0, or -errno and sets e: -EINVAL, or the error of creating the file. */
int file_writer_new(const struct file_owner *owner, struct passed_file file, struct err_text *e,
		    struct file_writer **ret);
/* Closes the file. The file of a clone that is not complete is truncated to its original size.
 * No-op for NULL. */
void file_writer_free(struct file_writer *f);
/* Removes the file that was created, and frees f. For a session that is refused. */
void file_writer_discard(struct file_writer *f);

/* Call when the session starts. */
void file_writer_start(struct file_writer *f);
/* Call after a producer committed chunks: begins to write if a buffer has received enough new
 * data. */
void file_writer_on_committed(struct file_writer *f);
/* Call when the session is DISABLED: writes the rest (nothing if it was never started), closes the
 * file, and calls ops.closed, at once or from the loop. */
void file_writer_finish(struct file_writer *f);
/* Completes file_writer_finish() before it returns. Call it before the session is freed. Gives up
 * if it would have to wait for the reader of a pipe. */
void file_writer_finish_now(struct file_writer *f);
/* Waits for the next result of the writer thread. Returns false if it has no job, hangs, or writes
 * a pipe. */
bool file_writer_await_writer(struct file_writer *f);
bool file_writer_is_closed(const struct file_writer *f);
/* Returns for how many ms the file has accepted none of the data that waits for it. */
uint64_t file_writer_stalled_ms(const struct file_writer *f);

/* Returns 0 if a session that writes into f can be cloned into fd, else -errno and sets e. */
int file_writer_check_clone(const struct file_writer *f, int fd, struct err_text *e);
/* Creates the file writer of a clone: it copies what f has written so far into `file`, which it
 * owns from now on, even on failure. Then it writes the data of the clone. Its thread waits for
 * that of f; the caller does not. file_writer_finish() begins the data of the clone, without
 * fdatasync. On failure the file is truncated to its original size. Returns 0, or -errno and sets
 * e. */
int file_writer_new_clone(struct file_writer *f, struct passed_file file, struct err_text *e,
			  struct file_writer **ret);
/* Between these two calls, data stays in the buffers until one is half full: for a clone, whose
 * files then get it even if this one has no room left. */
void file_writer_hold(struct file_writer *f);
void file_writer_release(struct file_writer *f);
/* Moves the file to another session. */
void file_writer_set_owner(struct file_writer *f, const struct file_owner *owner);
/* Call when the flush that ops.flush(ctx, number) began is over: all have answered, or it has timed
 * out. Data committed from now on does not depend on files older than this number. */
void file_writer_on_flushed(struct file_writer *f, uint32_t number);
