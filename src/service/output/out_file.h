/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "service/output/write_thread.h"
#include "service/filter/packet_sink.h"
#include "config/trace_config.pb-c.h"

/*
 * A file that a trace is written into: packets gather in memory as Trace.packet records (0x0A,
 * varint length, packet) and leave with write(2), a bounded piece a call.
 *
 *	buf	| sent | 0A len packet | 0A len      | ...
 *		0      sent                        used
 *
 * A regular file and a pipe have a writer, which takes the whole buffer while the next one fills; so two of them
 * are all that waits outside of the session's buffers. What one write(2) gets ends with a whole
 * packet, and where it fails the file is cut back to the last packet that is whole.
 *
 * A reader that is slow never blocks: OUT_FILE_WAIT says so.
 */
struct out_file {
	struct packet_sink sink; /* packets in; a packet that finds no memory sets error */
	int fd; /* owned; -1: closed */
	bool is_socket;
	bool is_pipe;
	bool is_pollable; /* an event loop can wait for it */
	int error; /* -errno of what failed: later packets are dropped */
	off_t begin; /* of a regular file: where the trace starts. What is in front is another's */
	uint64_t written; /* bytes that write(2) took, or the writer has */
	struct write_thread *writer; /* borrowed; NULL: written here */
	uint64_t id; /* of our jobs */
	bool writing; /* a job whose result has not come */
	uint8_t *spare; /* owned: a buffer that came back */
	size_t spare_cap;
	size_t sent, used, cap;
	uint8_t *buf; /* owned; only while something is in it */
};

enum out_file_state { OUT_FILE_DONE, OUT_FILE_MORE, OUT_FILE_WAIT };

/* Takes the descriptor, which must be open for writing. */
void out_file_init(struct out_file *o, int fd);
/* It is written by this one (borrowed until the file is closed), which knows it as id. */
void out_file_set_writer(struct out_file *o, struct write_thread *writer, uint64_t id);
/* The result of one of its jobs. */
void out_file_take_result(struct out_file *o, struct file_result *r);
/* Writes all that is left and syncs, as out_file_write; where there is a writer, nothing is waited for,
 * and the result is nobody's. Then only out_file_deinit remains. */
int out_file_write_rest(struct out_file *o);
/* Drops what was not written. Fine on a zeroed one with fd -1, and twice. */
void out_file_deinit(struct out_file *o);

/* Where in a regular file the trace ends by now. The offset of the descriptor does not say it: that
 * is also of whoever passed it. */
off_t out_file_end(const struct out_file *o);
/* Takes back the last bytes that were written, as far as the file can. 0 or -errno. */
int out_file_cut(struct out_file *o, uint64_t bytes);
/* Bytes of the file, those that wait in memory included. */
uint64_t out_file_size(const struct out_file *o);

/*
 * Writes one piece, of at most OUT_FILE_PIECE bytes, or hands all over to the writer. enum
 * out_file_state: nothing waits, more does, or the reader, or the writer, must do something first; or -errno (-ENOSPC, -EDQUOT, -EFBIG, -EIO, -EPIPE, -ENOMEM ...),
 * then and for good.
 */
#define OUT_FILE_PIECE (1u << 20)
int out_file_write(struct out_file *o);
/* Puts in len bytes of another file, as they are: whole packets, in the end. How many, fewer where
 * that file ends, or -errno. */
ssize_t out_file_take(struct out_file *o, int fd, off_t pos, size_t len);
/* fdatasync(2), where the file can. 0 or -errno; a writer has it to do. */
int out_file_sync(const struct out_file *o);

struct compressor;

/* One file of a session: compressed if the config says so, on its way to the disk. */
struct file_part {
	struct out_file out;
	struct compressor *compressor; /* owned; NULL: packets go out as they are */
	uint32_t number; /* in a rotation */
	uint32_t
		n_homes; /* sequences whose packets need what is in it (service/output/file_rotation.h) */
	bool has_data; /* of producers */
};

/* Takes the descriptor, also on failure. 0 or -ENOMEM. */
int file_part_init(struct file_part *p, const Pb__TraceConfig *config, int fd, uint32_t number);
/* Drops what was not written, and closes. Fine twice. */
void file_part_deinit(struct file_part *p);

/* Where packets go in, until the next call on the part. */
struct packet_sink *file_part_sink(struct file_part *p);
/* Is the file, with a packet of so many bytes more, surely no larger than max? */
bool file_part_has_room(struct file_part *p, size_t packet_size, uint64_t max);
/* What was gathered for compression goes on its way. */
void file_part_end_group(struct file_part *p);
