/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/err.h"

/*
 * A trace on its way to a file: a sequence of Trace.packet records (0x0A, varint length, packet).
 *
 *	trace_file_open --> trace_file_packet ... --> trace_file_save --> trace_file_free
 *
 * A regular file appears under its name only when it is saved; until then it is a hidden one beside
 * it, readable by its owner only. Standard output ("-"), devices and pipes are written directly.
 * When the disk is full, what is kept ends with a whole packet.
 */
struct trace_file;

/* path is borrowed during the call. Returns 0, or -errno and sets e. */
int trace_file_open(const char *path, struct err_text *e, struct trace_file **ret);

/* Returns 0, or -errno (-ENOSPC, -EDQUOT, -EFBIG, -EIO, -EPIPE): nothing more can be written, and every
 * later call gives the same. */
int trace_file_packet(struct trace_file *f, const uint8_t *data, size_t len);

/* A pipe or a device may take nothing for a long time: on_stall tells when that begins, and when it is
 * over. Until then a signal (a signalfd, borrowed) gives it up: -ECANCELED. */
void trace_file_watch_stalls(struct trace_file *f, int signals,
			     void (*on_stall)(void *ctx, bool stalled), void *ctx);

/* Of the write that failed, 0 while none has. */
int trace_file_error(const struct trace_file *f);

/* Where another process may write packets, instead of trace_file_packet. */
int trace_file_fd(const struct trace_file *f);
/* Returns it its name before that is done, so that it outlives this process: from here on it stays,
 * whatever comes. Returns 0, or -errno and sets e. */
int trace_file_name_now(struct trace_file *f, struct err_text *e);
bool trace_file_is_named(const struct trace_file *f);
/* Another process has written: those packets count from now on. Returns 0 or -errno. */
int trace_file_note_written(struct trace_file *f);

/* Is it a file of its own, which has a size and can be cut? Else a pipe, a device, standard output. */
bool trace_file_is_regular(const struct trace_file *f);
/* How large a regular file may get until its file system is nearly full: it keeps a twentieth free,
 * but never more than 1 GiB. UINT64_MAX: the file system does not tell. */
uint64_t trace_file_room(const struct trace_file *f);
/* Writes out what is pending. Returns 0 or -errno, as trace_file_packet. */
int trace_file_flush(struct trace_file *f);
/* Another process has written, but what is behind this many bytes is not whole: it goes. Returns 0 or -errno. */
int trace_file_cut(struct trace_file *f, uint64_t bytes);
/* It has its name already, and is to disappear all the same. */
void trace_file_remove(struct trace_file *f);

/*
 * Writes out what is pending and gives the file its name. Returns 0, or -errno and sets e: of
 * this or an earlier write, when what could be written has its name nevertheless; or of giving the
 * name, when nothing remains.
 */
int trace_file_save(struct trace_file *f, struct err_text *e);

/* In its place: under another name in the same folder, which nobody has. 1: it has the name, but
 * ends with the last whole packet that could be written, and e says why not all. -EEXIST: another process
 * has that name, and it can be tried again with the next one; else -errno and sets e,
 * and nothing remains. Not for what is written directly. */
int trace_file_save_new(struct trace_file *f, const char *path, struct err_text *e);

/* Bytes of whole packets in the file so far, those pending included. */
uint64_t trace_file_bytes(const struct trace_file *f);

/* Frees; a file that was not saved disappears. No-op for NULL. */
void trace_file_free(struct trace_file *f);

struct trace_file;

/* The file of -o, or, without one, KIND-HOST-TIME-RANDOM.pftrace in this folder. */

struct output_name {
	char text[320]; /* for the user */
};

/* Our own name, in this folder. Returns 0, or -errno and sets e. */
int output_name(const char *kind, struct output_name *ret, struct err_text *e);

/* path NULL: our own name. Returns 0; or -errno and sets e, -ENOTTY for "-" on a terminal. */
int output_open(const char *path, const char *kind, struct output_name *ret_name,
		struct trace_file **ret, struct err_text *e);
