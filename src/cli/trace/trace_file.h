/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/err.h"

/*
 * Writes a trace file: a sequence of Trace.packet records (0x0A, varint length, packet).
 *
 *	trace_file_open --> trace_file_add_packet ... --> trace_file_save --> trace_file_free
 *
 * A regular file gets its name when it is saved. Until then it has no name, or a hidden one, and
 * only its owner can read it. Standard output ("-"), devices and pipes are written directly. If the
 * disk is full, the file ends with a whole packet.
 */
struct trace_file;

/* Returns 0, or -EEXIST and sets e if path is a regular file already, for a verb with --force. */
int trace_file_check_new(const char *path, struct err_text *e);

/* path is borrowed during the call. Returns 0, or -errno and sets e. */
int trace_file_open(const char *path, struct err_text *e, struct trace_file **ret);

/* Writes a packet. Returns 0, or -errno (-ENOSPC, -EDQUOT, -EFBIG, -EIO, -EPIPE, -ECANCELED). After
 * a failure every later call returns the same error. */
int trace_file_add_packet(struct trace_file *f, const uint8_t *data, size_t len);

/* on_stall reports when a pipe or device stops accepting data, and when it accepts data again. In
 * between, a signal (signals is a borrowed signalfd) cancels writing with -ECANCELED. */
void trace_file_watch_stalls(struct trace_file *f, int signals,
			     void (*on_stall)(void *ctx, bool stalled), void *ctx);

/* Returns -errno of the write that failed, 0 if none has. */
int trace_file_error(const struct trace_file *f);

/* Returns the descriptor, for another process that writes packets instead of
 * trace_file_add_packet(). */
int trace_file_fd(const struct trace_file *f);
/* Gives a regular file its name now, so that it survives this process. Returns 0, or -errno and
 * sets e. */
int trace_file_assign_name(struct trace_file *f, struct err_text *e);
bool trace_file_is_named(const struct trace_file *f);
/* Counts the bytes that another process has written, as whole packets; 0 for a pipe or device.
 * Returns 0 or -errno. */
int trace_file_update_size(struct trace_file *f);

/* Returns true for a regular file, false for a pipe, a device or standard output. */
bool trace_file_is_regular(const struct trace_file *f);
/* Returns how many bytes can be written until the file system is nearly full (5 % free, at most 1
 * GiB). UINT64_MAX: unknown. */
uint64_t trace_file_room(const struct trace_file *f);
struct statvfs;
uint64_t trace_file_room_of(const struct statvfs *st); /* the same for a file system */
/* Writes pending data. Returns 0 or -errno, as trace_file_add_packet(). */
int trace_file_flush(struct trace_file *f);
/* Truncates, to this many bytes, a file that another process writes. Returns 0 or -errno. */
int trace_file_truncate(struct trace_file *f, uint64_t bytes);
/* Removes the file if it already has its name, and no other process has replaced it. */
void trace_file_remove(struct trace_file *f);

/* Writes pending data and gives the file its name. Returns 0, or -errno and sets e: for a failed
 * write (now or earlier) the file is saved with the data up to then; if it cannot be named, nothing
 * remains. */
int trace_file_save(struct trace_file *f, struct err_text *e);

/* Like trace_file_save(), under a new name in the same directory; path must not exist. Returns 0; 1
 * and sets e if the file was saved without its last packets; -EEXIST if the name is taken (the
 * caller may try the next); else -errno and sets e, and nothing remains. Regular files only. */
int trace_file_save_new(struct trace_file *f, const char *path, struct err_text *e);

/* Returns the bytes of whole packets so far, including pending ones. */
uint64_t trace_file_bytes(const struct trace_file *f);

/* Frees f. A file that was not saved is deleted. No-op for NULL. */
void trace_file_free(struct trace_file *f);

/* The output file: that of -o, or KIND-MACHINE-TIME-RANDOM.pftrace in the current directory. */

struct output_name {
	char text[320]; /* for the user */
};

/* Makes a default name in the current directory. machine NULL: this one. Returns 0, or -errno and
 * sets e. */
int trace_file_default_name(const char *kind, const char *machine, struct output_name *ret,
			    struct err_text *e);

/* Opens the output; path NULL: default name. Returns 0, or -errno and sets e, -ENOTTY for "-" on a
 * terminal. */
int trace_file_open_output(const char *path, const char *kind, struct output_name *ret_name,
			   struct trace_file **ret, struct err_text *e);
