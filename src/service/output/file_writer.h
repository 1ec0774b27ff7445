/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/core/err.h"
#include "config/trace_config.pb-c.h"
#include "service/output/file_owner.h"

/* What a TraceConfig says about the file that the service writes, and what zero means there. */

/* 0 or -EINVAL. Whether a descriptor came with it is file_writer_new's. */
int file_config_check(const Pb__TraceConfig *config, struct err_text *e);

/* How often they are flushed for another reason, of a session without a file too; 0: never. */
uint32_t file_config_flush_period_ms(const Pb__TraceConfig *config);

/*
 * write_into_file: the service writes a session's trace itself, into a file that the consumer passed
 * or that the service makes: once a period, each time FILE_FILL_BYTES have come into a buffer, or half
 * of a smaller one, and when the session ends. So a buffer that is read in time uses little memory,
 * over and over (service/buffer/buffer_ring.c), and what is written is still in the caches.
 *
 *	start --> each period: [flush] --> turns: one reading pass, one write(2) --> [fdatasync]
 *	      --> each fill:   the same without a flush
 *	finish --> the same once more --> fdatasync, close --> ops.closed
 *
 * A turn of the loop reads and writes about FILE_BATCH_BYTES, so that is how long a file holds up
 * everybody else: a write(2) of so much, as slow as the disk makes it. fdatasync(2) takes what it
 * takes. What a slow reader of a pipe has not taken yet stays in the session's buffers.
 *
 * An error ends the session with its reason; so does max_file_size_bytes.
 */
struct file_writer;

/*
 * For a config with write_into_file. fd (taken, also on failure; -1 for none) or output_path says
 * where to; exactly one must. 0, -EINVAL, or -errno of making the file, with the reason in e.
 */
int file_writer_new(const struct file_owner *owner, int fd, struct err_text *e,
		    struct file_writer **ret);
/* Closes; a clone that is not all written is cut to what its file was. NULL is fine. */
void file_writer_free(struct file_writer *f);
/* The session comes to nothing: a file that was made goes. */
void file_writer_discard(struct file_writer *f);

/* The session has started. */
void file_writer_start(struct file_writer *f);
/* A producer committed chunks, maybe into a buffer of the session: begins to write a full one. */
void file_writer_committed(struct file_writer *f);
/* It is DISABLED: writes what is left (nothing, of one that never started), closes, and calls
 * ops.closed, now or from the loop. */
void file_writer_finish(struct file_writer *f);
/* The session is being freed: what finish has begun is done at the end of the call, or given up
 * where a reader would have to be waited for. */
void file_writer_finish_now(struct file_writer *f);
/* Waits for what the writer of the file does next; false: it has nothing to do, or hangs, or writes a
 * pipe, whose reader is not waited for. */
bool file_writer_await_writer(struct file_writer *f);
bool file_writer_is_closed(const struct file_writer *f);

/* Can a session that writes into f be cloned into fd? 0, or -errno with the reason in e. */
int file_writer_check_clone(const struct file_writer *f, int fd, struct err_text *e);
/*
 * For such a clone: what f has by now, and after it what the clone has, to which it is given then.
 * fd (taken, also on failure) is where to. file_writer_finish writes it, from the loop, without
 * fdatasync; when it fails, the file is cut to what it was. 0, or -errno with the reason in e.
 */
int file_writer_new_clone(struct file_writer *f, int fd, struct err_text *e,
			  struct file_writer **ret);
/* The file belongs to another session from now on. */
void file_writer_set_owner(struct file_writer *f, const struct file_owner *owner);
/* Ends ops.flush(ctx, number), whether all producers answered or not. What they commit from now on
 * needs no file older than this number. */
void file_writer_flushed(struct file_writer *f, uint32_t number);
