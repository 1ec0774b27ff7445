/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/core/err.h"
#include "config/trace_config.pb-c.h"

struct session;

/*
 * write_into_file: the service writes a session's trace itself, into a file that the consumer passed
 * or that the service makes: once a period, each time FILE_FILL_BYTES have come into a buffer, or half
 * of a smaller one, and when the session ends. So a buffer that is read in time uses little memory,
 * over and over (service/buffer/trace_buffer_ring.c), and what is written is still in the caches.
 *
 *	start --> each period: [flush] --> turns: one reading pass, one write(2) --> [fdatasync]
 *	      --> each fill:   the same without a flush
 *	finish --> the same once more --> fdatasync, close --> session_ended
 *
 * A turn of the loop reads and writes about FILE_BATCH_BYTES, so that is how long a file holds up
 * everybody else: a write(2) of so much, as slow as the disk makes it. fdatasync(2) takes what it
 * takes. What a slow reader of a pipe has not taken yet stays in the session's buffers.
 *
 * What fails ends the session with the reason. max_file_size_bytes ends it without one.
 */
struct file_sink;

/*
 * For a config with write_into_file. fd (taken, also on failure; -1 for none) or output_path says
 * where to; exactly one must. 0, -EINVAL, or -errno of making the file, with the reason in e.
 */
int file_sink_new(struct session *s, const Pb__TraceConfig *config, int fd, struct err_text *e,
		  struct file_sink **ret);
/* Closes; a clone that is not all written is cut to what its file was. NULL is fine. */
void file_sink_free(struct file_sink *f);
/* The session comes to nothing: a file that was made goes. */
void file_sink_discard(struct file_sink *f);

/* The session has started. */
void file_sink_start(struct file_sink *f);
/* A producer committed chunks, maybe into a buffer of the session: begins to write a full one. */
void file_sink_committed(struct file_sink *f);
/* It is DISABLED: writes what is left (nothing, of one that never started), closes, and calls
 * session_ended, now or from the loop. */
void file_sink_finish(struct file_sink *f);
/* The session is being freed: what finish has begun is done at the end of the call, or given up
 * where a reader would have to be waited for. */
void file_sink_finish_now(struct file_sink *f);
/* Waits for what the writer of the file does next; false: it has nothing to do, or hangs. */
bool file_sink_await_writer(struct file_sink *f);
bool file_sink_is_closed(const struct file_sink *f);

/* May a session that writes into f be cloned into fd, by a user who is to read it? 0, or -errno
 * with the reason in e. */
int file_sink_check_clone(const struct file_sink *f, int fd, uid_t reader, struct err_text *e);
/*
 * For such a clone: what f has by now, and after it what the clone has, to which it is given then.
 * fd (taken, also on failure) is where to. file_sink_finish writes it, from the loop, without
 * fdatasync; when it fails, the file is cut to what it was. 0, or -errno with the reason in e.
 */
int file_sink_new_clone(struct file_sink *f, int fd, uid_t reader, struct err_text *e,
			struct file_sink **ret);
/* The clone is there, and owns it. */
void file_sink_give_clone(struct file_sink *f, struct session *clone);
/* After a rotation: what producers commit from now on needs no file older than this one. */
void file_sink_answered(struct file_sink *f, uint32_t number);
