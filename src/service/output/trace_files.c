/* SPDX-License-Identifier: Apache-2.0 */
#include "service/output/trace_files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/core/mem.h"
#include "base/system/background_close.h"
#include "service/filter/packet_validate.h"
#include "service/output/file_helper.h"
#include "service/output/passed_file.h"
#include "service/trace/service_packets.h"
#include "service/trace/trace.h"

/*
 * The choice of the file. Packets of sequence A depend on its earlier packets; those of sequence B
 * do not. File 2 begins after A2; A4 clears the state of A:
 *
 *	packet   A1  B1  A2 | A3  B2  A4  A5  B3
 *	file      1   1   1 |  1   2   2   2   2
 *
 * File 1 ends when it is no longer the file of any sequence, or when all data that producers
 * committed before they answered the flush has been read.
 */

struct file_part *trace_files_newest(struct trace_files *f)
{
	return &f->list[f->n - 1];
}

const char *trace_files_name(const struct trace_files *f)
{
	if (f->rotation.path)
		return f->rotation.path;
	return f->path ? f->path : "the passed file";
}

/* ---- rotation ---- */

static struct file_part *trace_files_part_of(struct trace_files *f, uint32_t number)
{
	for (size_t i = 0; i < f->n; i++)
		if (f->list[i].number == number)
			return &f->list[i];
	return NULL;
}

/* Adds a file, and starts the writer for the first one. Takes ownership of fd, even on failure.
 * Returns 0, or -errno and sets e. */
static int trace_files_add_part(struct trace_files *f, const Pb__TraceConfig *c, int fd,
				struct err_text *e)
{
	struct file_part *p = &f->list[f->n];
	const struct quota_account *a = f->owner->account;
	int r = 0;

	if (!f->writer)
		r = write_thread_new(a->user, quota_is_root(a->quota, a->user), f->owner->boost,
				     &f->writer);
	if (r < 0) {
		background_close(fd, a->user);
		return err_set(e, r, "%s",
			       r == -EUSERS ? "the service is already writing too many files"
					    : strerror(-r));
	}
	r = file_part_init(p, c, f->rotation.last, fd, f->writer, ++f->last_id);
	if (r < 0) {
		file_part_deinit(p);
		return err_set(e, r, "%s", strerror(-r));
	}
	f->n++;
	return 0;
}

void trace_files_rotate(struct trace_files *f)
{
	uint32_t sequence = f->sequence;
	int fd, r;

	if (f->error || !trace_files_newest(f)->has_data)
		return;
	if (f->n == MAX_FILE_PARTS) {
		f->owner->account->quota->refused[REFUSED_FILE_PARTS]++;
		return;
	}
	r = file_rotation_create_next(&f->rotation, &f->error_text, &fd);
	if (r == 0)
		r = trace_files_add_part(f, f->owner->config, fd, &f->error_text);
	if (r < 0) {
		f->error = r;
		return;
	}
	f->forced = trace_files_newest(f);
	/* This may be called before a packet of a producer: f->sequence is restored. */
	f->sequence = 0;
	trace_restart_head(f->owner->trace);
	service_packets_put_head(f->owner->trace, &f->sink);
	f->sequence = sequence;
	f->forced = NULL;
	/* Data that producers commit before they answer may depend on older files. Later data
	 * does not. */
	(void)f->owner->ops->flush(f->owner->ctx, trace_files_newest(f)->number);
}

/* Writes the current statistics into an older file, and ends it. Returns 0 or -errno. */
static int end_older_part(struct trace_files *f, struct file_part *p)
{
	int r;

	f->forced = p;
	trace_mark_due(f->owner->trace, TRACE_DUE_STATS);
	service_packets_put_tail(f->owner->trace, &f->sink);
	f->forced = NULL;
	file_part_end_group(p);
	r = out_file_write_and_sync(&p->out);
	file_part_deinit(p);
	return r;
}

int trace_files_end_older(struct trace_files *f, uint32_t below)
{
	int r = 0;

	for (size_t i = 0; i + 1 < f->n && r == 0;) {
		if (f->list[i].n_sequences > 0 && f->list[i].number >= below) {
			i++;
			continue;
		}
		r = end_older_part(f, &f->list[i]);
		f->n--;
		memmove(&f->list[i], &f->list[i + 1], (f->n - i) * sizeof(f->list[0]));
	}
	return r;
}

static void move_sequence(struct trace_files *f, struct file_part *from, struct file_part *to)
{
	if (from == to)
		return;
	if (from)
		from->n_sequences--;
	to->n_sequences++;
	file_rotation_set_sequence_file(&f->rotation, f->sequence, to->number);
}

/* Chooses the file for a producer's packet: that of its sequence, or the newest one, which becomes
 * the file of the sequence if the packet clears or needs its state. */
static struct file_part *choose_part_and_move_sequence(struct trace_files *f)
{
	uint32_t number = file_rotation_get_sequence_file(&f->rotation, f->sequence);
	struct file_part *file = number ? trace_files_part_of(f, number) : NULL;

	if (file && !(f->state & PACKET_STATE_CLEARED))
		return file;
	if (f->state)
		move_sequence(f, file, trace_files_newest(f));
	return trace_files_newest(f);
}

/* ---- packets in ---- */

/* Returns the file for the next packet, of this size, or NULL to drop it. If the packet has no
 * room, begins the next file, or sets f->full without a rotation. */
static struct file_part *choose_or_begin_file(struct trace_files *f, size_t size)
{
	bool has_room;

	if (f->forced)
		return f->forced;
	has_room = !f->full &&
		   file_part_make_room(trace_files_newest(f), size + f->tail_bytes, f->max_bytes);
	if (!f->rotation.path) {
		f->full = !has_room;
		return has_room ? trace_files_newest(f) : NULL;
	}
	if (!has_room)
		trace_files_rotate(f);
	return f->sequence ? choose_part_and_move_sequence(f) : trace_files_newest(f);
}

static void set_sequence_of_packet(struct packet_sink *sink, uint32_t id, uint32_t state)
{
	struct trace_files *f = container_of(sink, struct trace_files, sink);

	f->sequence = id;
	f->state = state;
}

static void trace_files_sink_begin(struct packet_sink *sink, size_t size)
{
	struct trace_files *f = container_of(sink, struct trace_files, sink);

	f->target = choose_or_begin_file(f, size);
	if (!f->target)
		return;
	f->target->has_data |= f->sequence != 0;
	f->sequence = 0;
	file_part_sink(f->target)->begin(file_part_sink(f->target), size);
}

static void trace_files_sink_bytes(struct packet_sink *sink, const void *data, size_t len)
{
	struct trace_files *f = container_of(sink, struct trace_files, sink);

	if (f->target)
		file_part_sink(f->target)->bytes(file_part_sink(f->target), data, len);
}

/* ---- bytes out ---- */

static void handle_write_result(struct trace_files *f, struct file_result *r)
{
	f->results++;
	for (size_t i = 0; i < f->n; i++)
		if (f->list[i].out.id == r->id) {
			if (r->kind == FILE_WRITTEN && i + 1 == f->n)
				f->removed = r->removed;
			out_file_handle_result(&f->list[i].out, r);
			return;
		}
	free(TAKE_PTR(r->buf));
	if (r->error && !f->error)
		f->error = err_set(&f->error_text, r->error, "%s", strerror(-r->error));
}

static void handle_write_results(struct trace_files *f)
{
	struct file_result r;

	while (f->writer && write_thread_next_result(f->writer, &r))
		handle_write_result(f, &r);
}

int trace_files_write(struct trace_files *f)
{
	int r = OUT_FILE_DONE, one;

	handle_write_results(f);
	for (size_t i = 0; i < f->n; i++) {
		file_part_end_group(&f->list[i]);
		one = out_file_write(&f->list[i].out);
		if (one < 0)
			return one;
		r = MAX(r, one);
	}
	return r == OUT_FILE_DONE && f->error ? f->error : r;
}

bool trace_files_are_busy(const struct trace_files *f)
{
	return f->writer && write_thread_pending(f->writer) > 0;
}

int trace_files_write_now(struct trace_files *f, int timeout_ms)
{
	int r;

	for (;;) {
		r = trace_files_write(f);
		if (r < 0)
			return r;
		if (r == OUT_FILE_DONE && !trace_files_are_busy(f))
			return 0;
		if (write_thread_wait(f->writer, timeout_ms) < 0)
			return -ETIMEDOUT;
	}
}

uint64_t trace_files_progress(const struct trace_files *f)
{
	uint64_t sum = f->results;

	for (size_t i = 0; i < f->n; i++)
		sum += f->list[i].out.written;
	return sum;
}

/* ---- life ---- */

int trace_files_check_passed(int fd, struct err_text *e)
{
	int flags = fcntl(fd, F_GETFL);

	if (flags < 0 || (flags & O_ACCMODE) == O_RDONLY)
		return err_set(e, -EINVAL,
			       "write_into_file: the descriptor is not open for writing");
	return 0;
}

/* Opens the file of the config, or uses the passed one, and adds it as the first part. Takes
 * ownership of `passed`, even on failure. Returns 0, or -errno and sets e. */
static int trace_files_open_file(struct trace_files *f, struct passed_file passed,
				 struct err_text *e)
{
	const Pb__TraceConfig *c = f->owner->config;
	bool has_path = c->output_path && c->output_path[0];
	_cleanup_(passed_file_closep) struct passed_file file = passed;
	int r;

	if (has_path && file.fd >= 0)
		return err_set(e, -EINVAL,
			       "write_into_file: either set output_path or pass a file, not both");
	if (!has_path && file.fd < 0)
		return err_set(e, -EINVAL, "write_into_file requires output_path or a passed file");
	if (has_path && !c->rotate && !(f->path = strdup(c->output_path)))
		return err_set(e, -ENOMEM, "out of memory");
	if (c->rotate)
		r = file_rotation_create_next(&f->rotation, e, &file.fd);
	else
		r = has_path ? file_helper_create(c->output_path, f->owner->uid, e, &file.fd)
			     : trace_files_check_passed(file.fd, e);
	if (r < 0)
		return r;
	if (has_path && !c->rotate)
		f->made = output_file_of(file.fd);
	return trace_files_add_part(f, c, TAKE_FD(file.fd), e);
}

static void trace_files_init(struct trace_files *f, const struct file_owner *owner)
{
	*f = (struct trace_files){.owner = owner, .max_bytes = UINT64_MAX};
	f->sink.begin = trace_files_sink_begin;
	f->sink.bytes = trace_files_sink_bytes;
}

int trace_files_open_passed(struct trace_files *f, const struct file_owner *owner,
			    struct passed_file file, struct err_text *e)
{
	int r = trace_files_check_passed(file.fd, e);

	trace_files_init(f, owner);
	if (r < 0) {
		passed_file_closep(&file);
		return r;
	}
	return trace_files_add_part(f, owner->config, file.fd, e);
}

int trace_files_open(struct trace_files *f, const struct file_owner *owner,
		     struct passed_file passed, struct err_text *e)
{
	const Pb__TraceConfig *config = owner->config;
	_cleanup_(passed_file_closep) struct passed_file file = passed;

	trace_files_init(f, owner);
	if (config->rotate)
		f->sink.of_sequence = set_sequence_of_packet;
	if (file_rotation_init(&f->rotation, config, owner->uid) < 0)
		return err_set(e, -ENOMEM, "out of memory");
	f->tail_bytes = config->rotate ? FILE_TAIL_BYTES : 0;
	f->max_bytes =
		config->max_file_size_bytes ? config->max_file_size_bytes : f->rotation.max_bytes;
	return trace_files_open_file(f, passed_file_release(&file), e);
}

void trace_files_close(struct trace_files *f)
{
	while (f->n > 0)
		file_part_deinit(&f->list[--f->n]);
	write_thread_free(TAKE_PTR(f->writer));
}

void trace_files_deinit(struct trace_files *f)
{
	trace_files_close(f);
	file_rotation_deinit(&f->rotation);
	free(TAKE_PTR(f->path));
}

void trace_files_discard(struct trace_files *f)
{
	if (f->path)
		file_helper_remove(f->path, f->owner->uid, &f->made);
	if (f->rotation.path && f->n > 0)
		file_rotation_remove_newest(&f->rotation);
}

/* Returns true if the file can also be read: a file that was passed for writing only cannot, and
 * the service cannot reopen it. */
static bool is_readable(int fd)
{
	int flags = fcntl(fd, F_GETFL);

	return flags >= 0 && (flags & O_ACCMODE) == O_RDWR;
}

/* Returns 0; -ESPIPE (no regular file), -EDEADLK (it is the file to copy into), -EACCES (it is not
 * open for reading), or another -errno. */
static int check_part_can_be_copied(const struct file_part *p, const struct statx *to)
{
	struct statx st;
	int r = passed_file_stat(p->out.fd, &st);

	if (r < 0)
		return r;
	if (!S_ISREG(st.stx_mode))
		return -ESPIPE;
	if (st.stx_dev_major == to->stx_dev_major && st.stx_dev_minor == to->stx_dev_minor &&
	    st.stx_ino == to->stx_ino)
		return -EDEADLK;
	return is_readable(p->out.fd) ? 0 : -EACCES;
}

static int set_copy_error(const struct trace_files *f, int r, struct err_text *e)
{
	if (r == -ESPIPE)
		return err_set(e, r, "%.300s cannot be read back: it is not a regular file",
			       trace_files_name(f));
	if (r == -EDEADLK)
		return err_set(e, r, "%.300s cannot be cloned into itself", trace_files_name(f));
	if (r == -EACCES)
		return err_set(e, r,
			       "%.300s cannot be copied: its descriptor was opened write-only; it "
			       "must be open for reading and writing",
			       trace_files_name(f));
	if (r == -EBUSY)
		return err_set(e, r,
			       "%.300s cannot be copied: %d clones are already waiting for it",
			       trace_files_name(f), MAX_FILE_COPIES);
	return err_set(e, r, "%.300s cannot be copied: %s", trace_files_name(f), strerror(-r));
}

int trace_files_check_copy(const struct trace_files *f, int to, struct err_text *e)
{
	struct statx st;
	int r = passed_file_stat(to, &st);

	for (size_t i = 0; i < f->n && r == 0; i++)
		r = check_part_can_be_copied(&f->list[i], &st);
	return r == 0 ? 0 : set_copy_error(f, r, e);
}

int trace_files_copy(struct trace_files *to, struct trace_files *f, struct err_text *e)
{
	int r = trace_files_check_copy(f, trace_files_newest(to)->out.fd, e);

	if (r < 0)
		return r;
	for (size_t i = 0; i < f->n && r == 0; i++) {
		file_part_end_group(&f->list[i]);
		r = out_file_copy(&trace_files_newest(to)->out, &f->list[i].out);
	}
	return r == 0 ? 0 : set_copy_error(f, r, e);
}
