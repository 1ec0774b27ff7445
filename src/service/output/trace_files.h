/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/core/err.h"
#include "service/filter/packet_sink.h"
#include "service/ipc/limits.h"
#include "service/output/file_owner.h"
#include "service/output/file_rotation.h"
#include "service/output/out_file.h"
#include "service/output/passed_file.h"

/* The open files of a session: one, or with TraceConfig.rotate several for a while. When the next
 * file begins, the service asks producers to clear their incremental state and to flush. Until they
 * have done so, packets that need the state of an older file go into that file, all others into the
 * newest. */
struct trace_files {
	struct packet_sink sink; /* packets in, up to max_bytes */
	const struct file_owner *owner; /* borrowed */
	char *path; /* owned; NULL: the descriptor was passed, or files are rotated */
	struct output_file made; /* the file that was created at the path */
	struct file_rotation rotation;
	struct file_part list[MAX_FILE_PARTS]; /* the newest last */
	size_t n; /* 0: closed */
	uint64_t max_bytes; /* of a file; UINT64_MAX: no limit */
	size_t tail_bytes; /* part of max_bytes: reserved for the statistics at the end */
	bool full; /* max_bytes is reached without rotation, so packets are dropped */
	struct write_thread *writer; /* owned; NULL: no file was opened */
	uint64_t last_id; /* id of the newest part, for the writer */
	uint64_t results; /* number of results that the writer has returned */
	bool removed; /* the newest file has no name any more */
	int error; /* -errno of making or ending another file, with the reason in error_text */
	struct err_text error_text;

	/* the packet being written */
	uint32_t sequence, state; /* 0: a packet of the service */
	struct file_part *target; /* NULL: dropped */
	struct file_part *forced; /* overrides the choice of the file */
};

/* Opens the file of the config, as file_writer_new(). Takes ownership of `file`, even on failure.
 * Returns 0, or -errno and sets e. Call deinit even after a failure. */
int trace_files_open(struct trace_files *f, const struct file_owner *owner, struct passed_file file,
		     struct err_text *e);
/* Uses the file as one without a path and without limits. Takes ownership of `file`, even on
 * failure. Packets are compressed if the config requests it. Returns 0, or -errno and sets e. Call
 * deinit even after a failure. */
int trace_files_open_passed(struct trace_files *f, const struct file_owner *owner,
			    struct passed_file file, struct err_text *e);
/* Returns 0 if fd is open for writing, else -EINVAL and sets e. */
int trace_files_check_passed(int fd, struct err_text *e);
/* Closes the files and drops the data that is not written yet. */
void trace_files_close(struct trace_files *f);
void trace_files_deinit(struct trace_files *f);
/* Removes the file that was created. For a session that is refused. */
void trace_files_discard(struct trace_files *f);

struct file_part *trace_files_newest(struct trace_files *f);
/* Returns the name of the file for messages. */
const char *trace_files_name(const struct trace_files *f);

/* Begins the next file, unless the newest has no data or MAX_FILE_PARTS are open. An error is
 * kept in f->error. */
void trace_files_rotate(struct trace_files *f);
/* Writes one piece of each file. Returns the highest enum out_file_state of them, or -errno. */
int trace_files_write(struct trace_files *f);
/* Returns a number that grows whenever data was written. */
uint64_t trace_files_progress(const struct trace_files *f);
/* Returns true while the writer has jobs. */
bool trace_files_are_busy(const struct trace_files *f);
/* Writes all pending data and waits up to timeout_ms for the writer. Returns 0, -ETIMEDOUT or
 * -errno. Data that a full pipe does not accept stays pending. */
int trace_files_write_now(struct trace_files *f, int timeout_ms);
/* Closes the older files that no sequence continues in, or whose number is less than `below`.
 * Returns 0 or -errno. */
int trace_files_end_older(struct trace_files *f, uint32_t below);

/* Returns 0 if the open files of f can be copied into `to`, which must not be one of them. They
 * must be open for reading as well, because the service cannot reopen them. Else returns -errno and
 * sets e. */
int trace_files_check_copy(const struct trace_files *f, int to, struct err_text *e);
/* Appends the contents of the open files of f to the newest file of `to`. The writer threads copy
 * them; the files may grow or be removed during the copy. Returns 0, or -errno and sets e; after a
 * failure a part may have been copied. */
int trace_files_copy(struct trace_files *to, struct trace_files *f, struct err_text *e);
