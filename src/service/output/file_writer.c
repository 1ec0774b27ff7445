/* SPDX-License-Identifier: Apache-2.0 */
#include "service/output/file_writer.h"

#include <errno.h>
#include <event2/event.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/mem.h"
#include "base/event_loop/event_free.h"
#include "base/event_loop/loop_timer.h"
#include "config/limits.h"
#include "service/ipc/limits.h"
#include "service/output/compressor.h"
#include "service/output/trace_files.h"
#include "service/trace/trace.h"
#include "service/trace/trace_reader.h"

static bool config_has_output_path(const Pb__TraceConfig *c)
{
	return c->output_path && c->output_path[0];
}

static int check_rotation(const Pb__TraceConfig *c, struct err_text *e)
{
	const Pb__TraceConfig__Rotate *r = c->rotate;

	if (!r)
		return 0;
	if (!c->write_into_file || !config_has_output_path(c))
		return err_set(e, -EINVAL,
			       "rotate requires write_into_file and output_path, which determines "
			       "the file names");
	if (c->max_file_size_bytes)
		return err_set(e, -EINVAL,
			       "max_file_size_bytes cannot be set both inside and outside rotate");
	if (!r->max_file_size_bytes && !r->period_ms)
		return err_set(e, -EINVAL,
			       "rotate requires max_file_size_bytes, period_ms or both");
	if (r->max_file_size_bytes && r->max_file_size_bytes < MIN_ROTATE_BYTES)
		return err_set(e, -EINVAL, "rotate: max_file_size_bytes must be at least %u",
			       MIN_ROTATE_BYTES);
	if (r->period_ms && r->period_ms < MIN_ROTATE_PERIOD_MS)
		return err_set(e, -EINVAL, "rotate: period_ms must be at least %u",
			       MIN_ROTATE_PERIOD_MS);
	if (r->keep > MAX_ROTATE_KEEP)
		return err_set(e, -EINVAL, "rotate: keep must be at most %u", MAX_ROTATE_KEEP);
	return 0;
}

int file_writer_check_config(const Pb__TraceConfig *c, struct err_text *e)
{
	int r = check_rotation(c, e);

	if (r < 0 || !config_has_output_path(c))
		return r;
	if (!c->write_into_file)
		return err_set(e, -EINVAL, "output_path requires write_into_file");
	/* A relative path would depend on the working directory of the service. */
	if (c->output_path[0] != '/')
		return err_set(e, -EINVAL, "output_path \"%.200s\" must begin with a slash",
			       c->output_path);
	if (strlen(c->output_path) >= PATH_MAX)
		return err_set(e, -EINVAL, "output_path is longer than %d bytes", PATH_MAX - 1);
	return 0;
}

static uint32_t file_config_write_period_ms(const Pb__TraceConfig *c)
{
	if (!c->file_write_period_ms)
		return DEFAULT_FILE_WRITE_PERIOD_MS;
	return MAX(c->file_write_period_ms, MIN_FILE_WRITE_PERIOD_MS);
}

/* Returns true if the file is written so rarely that AUTO flushes the producers before each
 * write. */
static bool is_rarely_written(const Pb__TraceConfig *c)
{
	return file_config_write_period_ms(c) > FILE_AUTO_FLUSH_PERIOD_MS;
}

/* Returns true if all producers are flushed before each write. */
static bool file_config_flushes_first(const Pb__TraceConfig *c)
{
	if (!c->write_into_file)
		return false;
	switch (c->write_flush_mode) {
	case PB__TRACE_CONFIG__WRITE_FLUSH_MODE__WRITE_FLUSH_ENABLED:
		return true;
	case PB__TRACE_CONFIG__WRITE_FLUSH_MODE__WRITE_FLUSH_DISABLED:
		return false;
	default:
		return is_rarely_written(c);
	}
}

uint32_t file_writer_flush_period_ms(const Pb__TraceConfig *c)
{
	if (!c->write_into_file ||
	    c->write_flush_mode == PB__TRACE_CONFIG__WRITE_FLUSH_MODE__WRITE_FLUSH_DISABLED)
		return c->flush_period_ms;
	return file_config_flushes_first(c) ? 0 : FILE_AUTO_FLUSH_PERIOD_MS;
}

/* Returns true if each period ends with fdatasync(2). */
static bool file_config_syncs(const Pb__TraceConfig *c)
{
	return c->fflush_post_write == PB__TRACE_CONFIG__FFLUSH_MODE__FFLUSH_ENABLED;
}

/* Returns true if the file ends with fdatasync(2). */
static bool file_config_syncs_at_end(const Pb__TraceConfig *c)
{
	return c->fflush_post_write != PB__TRACE_CONFIG__FFLUSH_MODE__FFLUSH_DISABLED;
}

/*
 * A slice first writes the rest of the previous batch, and only then reads the next batch. So at
 * most one batch waits in memory.
 *
 *	idle --tick, flushed--> reading --batch, write--> ... --all written--> idle
 *	                           |  ^                            (finishing: closed)
 *	                   pipe full  pipe accepts bytes
 *	                           v  |
 *	                          waiting
 */

struct file_writer {
	struct file_owner owner;
	struct trace_files parts;
	bool is_clone;
	struct loop_timer tick, next_slice, stall, period;
	struct event *has_results; /* owned: of the writer thread */
	bool started; /* the session has started, so there is data to write */
	bool reading; /* the buffers have more data for this pass */
	bool again; /* begin another pass: producers flushed during this one */
	bool sync_due; /* end of a period: fdatasync, if the config requests it */
	bool finishing; /* the session is over */
	bool stalled; /* the stall timer runs */
	bool synced; /* the fdatasync at the end was begun */
	unsigned holds; /* calls of file_writer_hold() without file_writer_release() */
	/* For rotate. Data that producers commit from now on does not depend on files with numbers
	 * below `answered`; data that is unread after this pass does not depend on those below
	 * `leaving`. */
	uint32_t answered, leaving;
};

static bool file_is_closed(const struct file_writer *f)
{
	return f->parts.n == 0;
}

static struct out_file *newest_out_file(struct file_writer *f)
{
	return &trace_files_newest(&f->parts)->out;
}

static void begin_reading(struct file_writer *f);

/* ---- the end ---- */

static void file_writer_close_file(struct file_writer *f)
{
	loop_timer_stop(&f->tick);
	loop_timer_stop(&f->next_slice);
	loop_timer_stop(&f->stall);
	loop_timer_stop(&f->period);
	event_freep(&f->has_results);
	trace_files_close(&f->parts);
	f->reading = false;
	if (f->finishing) {
		f->owner.ops->closed(f->owner.ctx);
		return;
	}
	f->owner.ops->stop(f->owner.ctx);
}

/* Truncates the file of an incomplete clone to its original size. */
static void truncate_file(struct file_writer *f)
{
	out_file_truncate(newest_out_file(f));
}

static void file_writer_fail(struct file_writer *f, const char *what)
{
	struct err_text e;

	if (f->is_clone)
		truncate_file(f);
	err_set(&e, 0, "cannot write the trace into %.300s: %s", trace_files_name(&f->parts), what);
	f->owner.ops->failed(f->owner.ctx, e.text);
	file_writer_close_file(f);
}

static void on_stalled_file(void *ctx)
{
	struct file_writer *f = ctx;

	file_writer_fail(f, !newest_out_file(f)->is_pipe
				    ? "its file system accepted no data for 10 s"
				    : "its reader read nothing for 10 s");
}

static void start_stall_timer(struct file_writer *f);

/* Ends the file, and closes it if the writer thread has finished all its jobs. Otherwise waits for
 * their results, with a time limit. */
static void end_and_close_file(struct file_writer *f)
{
	int r = trace_files_end_older(&f->parts, UINT32_MAX);

	if (r == 0 && !f->synced && !f->is_clone && file_config_syncs_at_end(f->owner.config)) {
		r = out_file_sync(newest_out_file(f));
		f->synced = true;
	}
	if (r < 0)
		file_writer_fail(f, strerror(-r));
	else if (trace_files_are_busy(&f->parts))
		start_stall_timer(f);
	else
		file_writer_close_file(f);
}

/* Returns true if the file was removed from its directory: the trace has no name to open it by. */
static bool is_removed(const struct file_writer *f)
{
	return (f->parts.path || f->parts.rotation.path) && f->parts.removed;
}

/* Called when all data of the pass was written, or handed to the writer thread. */
static void on_all_written(struct file_writer *f)
{
	int r = 0;

	if (is_removed(f)) {
		file_writer_fail(f, "it was removed");
		return;
	}
	if (f->finishing || f->parts.full) {
		end_and_close_file(f);
		return;
	}
	r = trace_files_end_older(&f->parts, f->leaving);
	if (r == 0 && f->again) {
		begin_reading(f);
		return;
	}
	if (r == 0 && f->sync_due && file_config_syncs(f->owner.config))
		r = out_file_sync(newest_out_file(f));
	f->sync_due = false;
	if (r < 0)
		file_writer_fail(f, strerror(-r));
}

/* ---- slices ---- */

static void start_stall_timer(struct file_writer *f)
{
	/* A running session waits without a limit. The end of a session must not. */
	if ((f->finishing || f->parts.full) && !f->stalled) {
		loop_timer_once(&f->stall, f->synced ? FILE_SYNC_MS : FILE_STALL_MS, false);
		f->stalled = true;
	}
}

/* Reads and writes one batch. Returns enum out_file_state or -errno. */
static int file_writer_run_slice(struct file_writer *f)
{
	int r = trace_files_write(&f->parts);

	if (r != OUT_FILE_DONE)
		return r;
	if (!f->reading)
		return OUT_FILE_DONE;
	f->reading =
		trace_read_batch(f->owner.trace, &f->parts.sink,
				 trace_files_newest(&f->parts)->compressor ? COMPRESSOR_GROUP_BYTES
									   : FILE_BATCH_BYTES) &&
		!f->parts.full;
	r = trace_files_write(&f->parts);
	if (r == OUT_FILE_DONE)
		r = trace_files_end_older(&f->parts, 0);
	return r == OUT_FILE_DONE && f->reading ? OUT_FILE_MORE : r;
}

static void file_writer_on_next_slice(void *ctx)
{
	struct file_writer *f = ctx;
	uint64_t before = trace_files_progress(&f->parts);
	int r = file_writer_run_slice(f);

	if (trace_files_progress(&f->parts) != before) {
		loop_timer_stop(&f->stall);
		f->stalled = false;
	}
	if (r < 0)
		file_writer_fail(f, f->parts.error ? f->parts.error_text.text : strerror(-r));
	else if (r == OUT_FILE_WAIT)
		start_stall_timer(f);
	else if (r == OUT_FILE_MORE)
		loop_timer_once(&f->next_slice, 0, false);
	else
		on_all_written(f);
}

static void on_write_results(evutil_socket_t fd, short what, void *ctx)
{
	file_writer_on_next_slice(ctx);
}

static void begin_reading(struct file_writer *f)
{
	if (file_is_closed(f) || f->finishing || f->reading || newest_out_file(f)->used > 0)
		return;
	trace_read_begin(f->owner.trace);
	f->reading = true;
	f->again = false;
	f->leaving = f->answered;
	loop_timer_once(&f->next_slice, 0, false);
}

void file_writer_on_flushed(struct file_writer *f, uint32_t number)
{
	f->answered = MAX(f->answered, number);
	/* The data may have arrived in a buffer that this pass has already read. */
	f->again |= number > 0 || f->reading;
	f->sync_due |= number == 0;
	begin_reading(f);
}

static void on_rotation_period(void *ctx)
{
	struct file_writer *f = ctx;

	trace_files_rotate(&f->parts);
	loop_timer_once(&f->next_slice, 0, false);
}

void file_writer_on_committed(struct file_writer *f)
{
	/* The data is still in the CPU caches, and was not overwritten yet: see file_writer.h. */
	if (f->started && !f->reading &&
	    trace_has_received(f->owner.trace, f->holds ? UINT64_MAX : FILE_FILL_BYTES))
		begin_reading(f);
}

static void file_writer_on_tick(void *ctx)
{
	struct file_writer *f = ctx;

	if (f->holds)
		return;
	if (!file_config_flushes_first(f->owner.config) ||
	    f->owner.ops->flush(f->owner.ctx, 0) < 0) {
		f->sync_due = true;
		begin_reading(f);
	}
}

/* ---- the session's life ---- */

void file_writer_start(struct file_writer *f)
{
	f->started = true;
	loop_timer_every(&f->tick, file_config_write_period_ms(f->owner.config), false);
	if (f->parts.rotation.period_ms)
		loop_timer_every(&f->period, f->parts.rotation.period_ms, false);
}

void file_writer_finish(struct file_writer *f)
{
	loop_timer_stop(&f->tick);
	loop_timer_stop(&f->period);
	f->finishing = true;
	if (file_is_closed(f)) {
		f->owner.ops->closed(f->owner.ctx);
		return;
	}
	trace_mark_due(f->owner.trace, TRACE_DUE_STATS);
	f->reading = f->started && !f->parts.full;
	if (f->reading)
		trace_read_begin(f->owner.trace);
	file_writer_on_next_slice(f);
}

void file_writer_finish_now(struct file_writer *f)
{
	int r;

	if (file_is_closed(f))
		return;
	do {
		r = file_writer_run_slice(f);
		if (r == OUT_FILE_WAIT && file_writer_await_writer(f))
			r = OUT_FILE_MORE;
	} while (r == OUT_FILE_MORE);
	if (r == OUT_FILE_DONE && newest_out_file(f)->is_pipe)
		r = trace_files_are_busy(&f->parts) ? OUT_FILE_WAIT : OUT_FILE_DONE;
	else if (r == OUT_FILE_DONE)
		r = trace_files_write_now(&f->parts, FILE_STALL_MS);
	if (r == OUT_FILE_DONE && is_removed(f))
		file_writer_fail(f, "it was removed");
	else if (r == OUT_FILE_DONE)
		file_writer_close_file(f);
	else
		file_writer_fail(f,
				 r < 0 ? strerror(-r) : "its reader did not read all data in time");
}

bool file_writer_await_writer(struct file_writer *f)
{
	return trace_files_are_busy(&f->parts) && !newest_out_file(f)->is_pipe &&
	       write_thread_wait(f->parts.writer, FILE_STALL_MS) == 0;
}

void file_writer_hold(struct file_writer *f)
{
	f->holds++;
}

void file_writer_release(struct file_writer *f)
{
	f->holds--;
}

bool file_writer_is_closed(const struct file_writer *f)
{
	return file_is_closed(f);
}

uint64_t file_writer_stalled_ms(const struct file_writer *f)
{
	return f->parts.writer ? write_thread_stalled_ms(f->parts.writer) : 0;
}

static int init_timers(struct file_writer *f)
{
	struct event_base *loop = f->owner.loop;
	int r = loop_timer_init(&f->tick, loop, file_writer_on_tick, f);

	if (r == 0)
		r = loop_timer_init(&f->next_slice, loop, file_writer_on_next_slice, f);
	if (r == 0)
		r = loop_timer_init(&f->stall, loop, on_stalled_file, f);
	if (r == 0)
		r = loop_timer_init(&f->period, loop, on_rotation_period, f);
	if (r < 0)
		return r;
	f->has_results = event_new(loop, write_thread_fd(f->parts.writer), EV_READ | EV_PERSIST,
				   on_write_results, f);
	return f->has_results && event_add(f->has_results, NULL) == 0 ? 0 : -ENOMEM;
}

/* Makes a writer. source: the writer to clone, or NULL. Takes ownership of file, even on failure.
 * Returns 0, or -errno and sets e. */
static int file_writer_make(const struct file_owner *owner, struct file_writer *source,
			    struct passed_file file, struct err_text *e, struct file_writer **ret)
{
	struct file_writer *f = calloc(1, sizeof(*f));
	int r;

	if (!f) {
		passed_file_closep(&file);
		return err_set(e, -ENOMEM, "out of memory");
	}
	f->owner = *owner;
	f->is_clone = f->started = source;
	r = source ? trace_files_open_passed(&f->parts, &f->owner, file, e)
		   : trace_files_open(&f->parts, &f->owner, file, e);
	if (r == 0 && init_timers(f) < 0)
		r = err_set(e, -ENOMEM, "out of memory");
	if (r == 0 && source)
		r = trace_files_copy(&f->parts, &source->parts, e);
	if (r == 0)
		*ret = f;
	else if (source)
		file_writer_free(f);
	else
		file_writer_discard(f);
	return r;
}

int file_writer_new(const struct file_owner *owner, struct passed_file file, struct err_text *e,
		    struct file_writer **ret)
{
	return file_writer_make(owner, NULL, file, e, ret);
}

int file_writer_new_clone(struct file_writer *source, struct passed_file file, struct err_text *e,
			  struct file_writer **ret)
{
	return file_writer_make(&source->owner, source, file, e, ret);
}

int file_writer_check_clone(const struct file_writer *source, int fd, struct err_text *e)
{
	int r = trace_files_check_passed(fd, e);

	return r == 0 ? trace_files_check_copy(&source->parts, fd, e) : r;
}

void file_writer_set_owner(struct file_writer *f, const struct file_owner *owner)
{
	f->owner = *owner;
}

void file_writer_discard(struct file_writer *f)
{
	if (f)
		trace_files_discard(&f->parts);
	file_writer_free(f);
}

void file_writer_free(struct file_writer *f)
{
	if (!f)
		return;
	if (f->is_clone && !file_is_closed(f))
		truncate_file(f);
	loop_timer_deinit(&f->tick);
	loop_timer_deinit(&f->next_slice);
	loop_timer_deinit(&f->stall);
	loop_timer_deinit(&f->period);
	event_freep(&f->has_results);
	trace_files_deinit(&f->parts);
	free(f);
}
