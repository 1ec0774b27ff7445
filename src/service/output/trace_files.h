/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/core/err.h"
#include "service/output/file_owner.h"
#include "service/output/out_file.h"
#include "service/output/file_rotation.h"
#include "service/ipc/limits.h"
#include "service/filter/packet_sink.h"

/*
 * The open files of a session: one, or with TraceConfig.rotate several for a while. When the next
 * one begins, producers are asked to begin their incremental state anew and to flush. Until they
 * have, what needs the state of an older file goes on in that one, and everything else in the
 * newest.
 */
struct trace_files {
	struct packet_sink sink; /* packets in, up to max_bytes */
	const struct file_owner *owner; /* borrowed */
	char *path; /* owned; NULL: the descriptor was passed, or files are rotated */
	struct output_file made; /* at the path */
	struct file_rotation rotation;
	struct file_part list[MAX_FILE_PARTS]; /* the newest last */
	size_t n; /* 0: closed */
	uint64_t max_bytes; /* of a file; UINT64_MAX: no limit */
	size_t tail_bytes; /* of them, for what is said at the end */
	bool full; /* without rotate: max_bytes is reached, and packets are dropped */
	struct write_thread *writer; /* owned; NULL: what was passed is no regular file */
	uint64_t last_id; /* of a part, as the writer knows it */
	uint64_t results; /* that the writer has given */
	bool removed; /* the newest file has no name any more */
	int error; /* -errno of making or ending another file, with the reason in error_text */
	struct err_text error_text;

	/* the packet that is coming */
	uint32_t sequence, state; /* 0: one of the service's own */
	struct file_part *target; /* NULL: dropped */
	struct file_part *forced; /* where it goes in any case */
};

/* Makes or takes the file that the config says, as file_writer_new has it; deinit also on failure. */
int trace_files_open(struct trace_files *f, const struct file_owner *owner, int fd,
		     struct err_text *e);
/* A file of the session's that has no path and no limits, for what its config says of packets. fd
 * is taken in any case. 0 or -errno with the reason in e; deinit also on failure. */
int trace_files_open_passed(struct trace_files *f, const struct file_owner *owner, int fd,
			    struct err_text *e);
/* Is it open for writing? 0, or -EINVAL with the reason in e. */
int trace_files_check_passed(int fd, struct err_text *e);
void trace_files_close(struct trace_files *f); /* drops what was not written */
void trace_files_deinit(struct trace_files *f);
/* The session comes to nothing: the file that was made is removed. */
void trace_files_discard(struct trace_files *f);

struct file_part *trace_files_newest(struct trace_files *f);
/* For people. */
const char *trace_files_name(const struct trace_files *f);

/* Goes on in the next file, if the newest holds something. */
void trace_files_rotate(struct trace_files *f);
/* A piece of each. enum out_file_state of them all, or -errno. */
int trace_files_write(struct trace_files *f);
/* Grows whenever something was written. */
uint64_t trace_files_progress(const struct trace_files *f);
/* Has the writer something to do? */
bool trace_files_are_busy(const struct trace_files *f);
/* Writes all that there is by now, and waits for the writer at most so many ms. 0, -ETIMEDOUT or
 * -errno. What a pipe does not take is left. */
int trace_files_write_now(struct trace_files *f, int timeout_ms);
/* Ends the older files that nobody needs: no sequence goes on in them, or they are older than
 * `below`. 0 or -errno. */
int trace_files_end_older(struct trace_files *f, uint32_t below);

struct trace_files;
struct out_file;

/*
 * What a session has written into its files up to a moment, to be copied a piece at a time. The
 * files may grow meanwhile, and be removed: what was there at the moment is copied.
 */
struct file_copy {
	struct file_range {
		int fd; /* owned */
		off_t pos, end; /* what is still to be copied */
	} ranges[MAX_FILE_PARTS];
	size_t n, next;
};

/* Can the open files of f be copied into to, which must be none of them? They must be open for reading,
 * too: the service opens none anew. 0, or -errno with the reason in e. */
int file_copy_check(const struct trace_files *f, int to, struct err_text *e);
/*
 * All that was ever put into the open files of f, which writes out first what it holds in memory,
 * after that check. 0; or -errno with the reason in e, then the copy is empty.
 */
int file_copy_take(struct file_copy *c, struct trace_files *f, int to, struct err_text *e);
/* Fine on a zeroed one, and twice. */
void file_copy_deinit(struct file_copy *c);

/* Puts the next FILE_BATCH_BYTES, or less, into a file that holds nothing in memory. 1; 0: there is
 * nothing left; or -errno. */
int file_copy_next(struct file_copy *c, struct out_file *to);
