// SPDX-License-Identifier: Apache-2.0
/*
 * A turn writes out what the pass before it left and only then reads on, so that never more than one
 * pass waits in memory:
 *
 *	idle --tick, flushed--> reading --pass, write--> ... --nothing left--> idle
 *	                           |  ^                            (finishing: closed)
 *	                   pipe full  it takes bytes again
 *	                           v  |
 *	                          waiting
 */
#include "service/file_sink.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <event2/event.h>

#include "base/log.h"
#include "base/mem.h"
#include "config/limits.h"
#include "service/compressor.h"
#include "service/file_config.h"
#include "service/flush.h"
#include "service/limits.h"
#include "service/loop_timer.h"
#include "service/out_file.h"
#include "service/read_pass.h"
#include "service/service.h"
#include "service/session.h"

struct file_sink {
	struct packet_sink sink; /* packets in, up to max_bytes */
	struct session *session; /* borrowed: it owns us */
	char *path; /* owned; NULL: the descriptor was passed */
	struct out_file out;
	struct compressor *compressor; /* owned; NULL: packets go out as they are */
	uint64_t max_bytes; /* UINT64_MAX: no limit */
	struct loop_timer tick, turn, stall;
	struct event *writable; /* owned; NULL where the file always takes bytes */
	bool started; /* the session did: there is something to write */
	bool reading; /* the buffers have more */
	bool full; /* max_bytes: the session is over */
	bool finishing; /* so it is anyway */
	bool stalled; /* the stall timer runs */
	bool closed;
};

static const char *name_of(const struct file_sink *f)
{
	return f->path ? f->path : "the file that was passed";
}

/* ---- packets in ---- */

static struct packet_sink *next_sink(struct file_sink *f)
{
	return f->compressor ? compressor_sink(f->compressor, &f->out.sink) : &f->out.sink;
}

static bool has_room(const struct file_sink *f, size_t size)
{
	size_t most = f->compressor ? compressor_bound(f->compressor, size) : size;

	return out_file_size(&f->out) + out_file_record_size(most) <= f->max_bytes;
}

static void end_group(struct file_sink *f)
{
	if (f->compressor)
		compressor_end(f->compressor);
}

static void sink_begin(struct packet_sink *sink, size_t size)
{
	struct file_sink *f = container_of(sink, struct file_sink, sink);

	/* What is gathered may get a lot smaller: how much is known when it is done. */
	if (!f->full && !has_room(f, size))
		end_group(f);
	if (!has_room(f, size))
		f->full = true;
	if (!f->full)
		next_sink(f)->begin(next_sink(f), size);
}

static void sink_bytes(struct packet_sink *sink, const void *data, size_t len)
{
	struct file_sink *f = container_of(sink, struct file_sink, sink);

	if (!f->full)
		next_sink(f)->bytes(next_sink(f), data, len);
}

/* ---- the end ---- */

static void close_file(struct file_sink *f)
{
	loop_timer_stop(&f->tick);
	loop_timer_stop(&f->turn);
	loop_timer_stop(&f->stall);
	if (f->writable)
		event_free(TAKE_PTR(f->writable));
	out_file_deinit(&f->out);
	f->reading = false;
	f->closed = true;
	if (f->finishing)
		session_ended(f->session);
	else
		session_disable(f->session, false);
}

static void give_up(struct file_sink *f, const char *what)
{
	struct err_text e;

	err_set(&e, 0, "cannot write the trace into %.300s: %s", name_of(f), what);
	log_write_limited(&f->session->service->complaints, LOG_LEVEL_ERROR,
			  "session %llu ends: %s", (unsigned long long)f->session->id, e.text);
	session_set_error(f->session, e.text);
	close_file(f);
}

static void on_stall(void *ctx)
{
	give_up(ctx, "its reader did not take a byte for ten seconds");
}

/* All is in the file. */
static void end_file(struct file_sink *f)
{
	int r = out_file_sync(&f->out);

	if (r < 0)
		give_up(f, strerror(-r));
	else
		close_file(f);
}

/* It is gone from its folder, or the folder with it: nobody would find the trace. */
static bool is_removed(const struct file_sink *f)
{
	struct stat st;

	return f->path && fstat(f->out.fd, &st) == 0 && st.st_nlink == 0;
}

/* What was there to write is written. */
static void came_to_rest(struct file_sink *f)
{
	int r = 0;

	if (is_removed(f)) {
		give_up(f, "it was removed");
		return;
	}
	if (f->finishing || f->full) {
		end_file(f);
		return;
	}
	if (file_config_syncs(f->session->config))
		r = out_file_sync(&f->out);
	if (r < 0)
		give_up(f, strerror(-r));
}

/* ---- turns ---- */

static void wait_for_reader(struct file_sink *f)
{
	if (!f->writable || event_add(f->writable, NULL) < 0)
		loop_timer_once(&f->turn, FILE_RETRY_MS, false);
	/* While the session runs there is time; its end cannot wait for ever. */
	if (f->finishing && !f->stalled) {
		loop_timer_once(&f->stall, FILE_STALL_MS, false);
		f->stalled = true;
	}
}

/* One pass and one write. enum out_file_state or -errno. */
static int do_turn(struct file_sink *f)
{
	int r = out_file_write(&f->out);

	if (r != OUT_FILE_DONE || !f->reading)
		return r;
	f->reading = read_pass(f->session, &f->sink,
			       f->compressor ? COMPRESSOR_GROUP_BYTES : FILE_BATCH_BYTES) &&
		     !f->full;
	end_group(f);
	r = out_file_write(&f->out);
	return r == OUT_FILE_DONE && f->reading ? OUT_FILE_MORE : r;
}

static void on_turn(void *ctx)
{
	struct file_sink *f = ctx;
	uint64_t before = f->out.written;
	int r = do_turn(f);

	if (f->out.written != before) {
		loop_timer_stop(&f->stall);
		f->stalled = false;
	}
	if (r < 0)
		give_up(f, strerror(-r));
	else if (r == OUT_FILE_WAIT)
		wait_for_reader(f);
	else if (r == OUT_FILE_MORE)
		loop_timer_once(&f->turn, 0, false);
	else
		came_to_rest(f);
}

static void on_writable(evutil_socket_t fd, short what, void *ctx)
{
	(void)fd, (void)what;
	on_turn(ctx);
}

static void begin_reading(struct file_sink *f)
{
	if (f->closed || f->finishing || f->reading || f->out.used > 0)
		return;
	read_begin(f->session);
	f->reading = true;
	loop_timer_once(&f->turn, 0, false);
}

static void on_flushed(struct session *s, const struct ipc_call *call, bool success)
{
	(void)call, (void)success; /* what came is written in any case */
	begin_reading(s->file);
}

static void on_tick(void *ctx)
{
	struct file_sink *f = ctx;
	uint64_t flags = FLUSH_REASON_PERIODIC | FLUSH_BY_SERVICE;

	if (!file_config_flushes_first(f->session->config) ||
	    flush_begin(f->session, 0, flags, on_flushed, NULL) < 0)
		begin_reading(f);
}

/* ---- the session's life ---- */

void file_sink_start(struct file_sink *f)
{
	f->started = true;
	loop_timer_every(&f->tick, file_config_write_period_ms(f->session->config), false);
}

void file_sink_finish(struct file_sink *f)
{
	loop_timer_stop(&f->tick);
	f->finishing = true;
	if (f->closed) {
		session_ended(f->session);
		return;
	}
	f->session->stats_due = true;
	f->reading = f->started && !f->full;
	if (f->reading)
		read_begin(f->session);
	on_turn(f);
}

void file_sink_finish_now(struct file_sink *f)
{
	int r = OUT_FILE_MORE;

	while (!f->closed && r == OUT_FILE_MORE)
		r = do_turn(f);
	if (f->closed)
		return;
	if (r == OUT_FILE_DONE)
		came_to_rest(f);
	else
		give_up(f, r < 0 ? strerror(-r) : "its reader did not read all in time");
}

bool file_sink_is_closed(const struct file_sink *f)
{
	return f->closed;
}

static int open_path(struct file_sink *f, const char *path, struct err_text *e, int *ret_fd)
{
	_cleanup_(closep) int fd =
		open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);

	if (fd < 0)
		return err_set(e, -errno, "cannot create output_path %.300s: %s", path,
			       strerror(errno));
	f->path = strdup(path);
	/* Readable for whoever asked, whatever the umask of the service is. */
	if (!f->path || fchmod(fd, 0644) < 0) {
		unlink(path);
		return err_set(e, -EIO, "cannot open up output_path %.300s", path);
	}
	*ret_fd = TAKE_FD(fd);
	return 0;
}

static int check_passed(int fd, struct err_text *e)
{
	int flags = fcntl(fd, F_GETFL);

	if (flags < 0 || (flags & O_ACCMODE) == O_RDONLY)
		return err_set(e, -EINVAL, "write_into_file: the descriptor is not for writing");
	return 0;
}

static int open_file(struct file_sink *f, const Pb__TraceConfig *c, int passed, struct err_text *e)
{
	bool has_path = c->output_path && c->output_path[0];
	_cleanup_(closep) int fd = passed;
	int r;

	if (has_path && fd >= 0)
		return err_set(e, -EINVAL,
			       "write_into_file with both output_path and a file that was passed");
	if (!has_path && fd < 0)
		return err_set(e, -EINVAL,
			       "write_into_file needs output_path or a file that is passed");
	r = has_path ? open_path(f, c->output_path, e, &fd) : check_passed(fd, e);
	if (r == 0)
		out_file_init(&f->out, TAKE_FD(fd));
	return r;
}

static int init_events(struct file_sink *f, struct event_base *loop)
{
	int r = loop_timer_init(&f->tick, loop, on_tick, f);

	if (r == 0)
		r = loop_timer_init(&f->turn, loop, on_turn, f);
	if (r == 0)
		r = loop_timer_init(&f->stall, loop, on_stall, f);
	if (r == 0 && f->out.is_pollable) {
		f->writable = event_new(loop, f->out.fd, EV_WRITE, on_writable, f);
		r = f->writable ? 0 : -ENOMEM;
	}
	return r;
}

int file_sink_new(struct session *s, const Pb__TraceConfig *config, int fd, struct err_text *e,
		  struct file_sink **ret)
{
	struct file_sink *f = calloc(1, sizeof(*f));
	int r;

	if (!f) {
		closep(&fd);
		return err_set(e, -ENOMEM, "out of memory");
	}
	f->session = s;
	f->sink.begin = sink_begin;
	f->sink.bytes = sink_bytes;
	f->out.fd = -1;
	f->max_bytes = config->max_file_size_bytes ? config->max_file_size_bytes : UINT64_MAX;
	r = open_file(f, config, fd, e);
	if (r == 0 && compressor_new(config, &f->compressor) < 0)
		r = err_set(e, -ENOMEM, "out of memory");
	if (r == 0 && init_events(f, s->service->loop) < 0)
		r = err_set(e, -ENOMEM, "out of memory");
	if (r < 0) {
		file_sink_discard(f);
		return r;
	}
	*ret = f;
	return 0;
}

void file_sink_discard(struct file_sink *f)
{
	if (f && f->path)
		unlink(f->path);
	file_sink_free(f);
}

void file_sink_free(struct file_sink *f)
{
	if (!f)
		return;
	loop_timer_deinit(&f->tick);
	loop_timer_deinit(&f->turn);
	loop_timer_deinit(&f->stall);
	if (f->writable)
		event_free(f->writable);
	out_file_deinit(&f->out);
	compressor_free(f->compressor);
	free(f->path);
	free(f);
}
