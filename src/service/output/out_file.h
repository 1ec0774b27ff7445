/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "config/trace_config.pb-c.h"
#include "service/filter/packet_sink.h"
#include "service/output/write_thread.h"

/* A file that a trace is written into. Packets are collected in memory as records
 * (service/output/trace_record.h). The writer thread takes the whole buffer while the next one
 * fills, so at most two buffers wait outside the session. Each job ends with a whole packet. After
 * an error the file is truncated to the last whole packet. */
struct out_file {
	struct packet_sink sink; /* packets in; without memory for a packet, error is set */
	int fd; /* owned; -1: closed */
	bool is_pipe;
	int error; /* -errno of the first failure; later packets are dropped */
	uint64_t written; /* bytes given to the writer, less those that it could not write */
	struct write_thread *writer; /* borrowed until the file is closed */
	uint64_t id; /* of this file's jobs in the writer */
	unsigned writing; /* jobs that add to the file and have no result yet */
	unsigned ranges; /* ranges to be sent, without a result (write_thread_send_range()) */
	uint8_t *spare; /* owned: a buffer that the writer returned */
	size_t spare_cap;
	size_t used, cap;
	uint8_t *buf; /* owned; NULL while it is empty */
};

/* Handles the result of a job of this file. Keeps or frees its buffer. */
void out_file_handle_result(struct out_file *o, struct file_result *r);
/* Gives all pending data to the writer, without waiting for it, and then syncs. Errors are lost.
 * Returns 0 or -errno. Afterwards only file_part_deinit() may be called. */
int out_file_write_and_sync(struct out_file *o);

/* Truncates the file to its original size, if it supports that. */
void out_file_truncate(struct out_file *o);
/* Appends all that was put into `from` so far, pending data included; both have writers. The writer
 * of `to` copies it when that of `from` has written it, and data put into `to` later follows it.
 * Returns 0, -EBUSY (MAX_FILE_COPIES copies wait for `from`), the error of `from`, or -errno. */
int out_file_copy(struct out_file *to, struct out_file *from);

/* OUT_FILE_MORE: call again; OUT_FILE_WAIT: the writer must make progress first. */
enum out_file_state { OUT_FILE_DONE, OUT_FILE_MORE, OUT_FILE_WAIT };

/* Gives all pending data to the writer. Returns OUT_FILE_DONE (no data is pending), OUT_FILE_WAIT,
 * or -errno (-ENOSPC, -EDQUOT, -EFBIG, -EIO, -EPIPE, -ENOMEM ...), from then on always. */
int out_file_write(struct out_file *o);
/* Gives the writer the job of fdatasync(2), if the file supports it. Returns 0 or -errno. */
int out_file_sync(const struct out_file *o);

struct compressor;

/* One file of a session, compressed if the config requests it. */
struct file_part {
	struct out_file out;
	struct compressor *compressor; /* owned; NULL: packets go out as they are */
	uint32_t number; /* in a rotation */
	uint32_t n_sequences; /* sequences whose state is in it (service/output/file_rotation.h) */
	bool has_data; /* producers have written data into it */
};

/* Takes ownership of fd, even on failure; it must be open for writing. writer is borrowed; id marks
 * the writer's results for this file. Returns 0, -ENOMEM or -EAGAIN. Call deinit even after a
 * failure. */
int file_part_init(struct file_part *p, const Pb__TraceConfig *config, uint32_t number, int fd,
		   struct write_thread *writer, uint64_t id);
/* Drops pending data and closes. May be called twice. */
void file_part_deinit(struct file_part *p);

/* Returns the sink of the part, valid until the next call on the part. */
struct packet_sink *file_part_sink(struct file_part *p);
/* Returns true if the file is certainly no larger than max after another packet of packet_size.
 * Compresses the collected group if it may be too large as it is. */
bool file_part_make_room(struct file_part *p, size_t packet_size, uint64_t max);
/* Compresses and writes the collected group. */
void file_part_end_group(struct file_part *p);
