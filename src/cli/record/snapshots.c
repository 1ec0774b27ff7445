/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/record/snapshots.h"

#include <errno.h>
#include <event2/event.h>
#include <limits.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <sys/stat.h>

#include "analyze/trace_scan.h"
#include "base/core/err.h"
#include "base/core/mem.h"
#include "base/event_loop/event_free.h"
#include "base/event_loop/event_timer.h"
#include "base/system/fs.h"
#include "cli/terminal/console.h"
#include "cli/trace/answer_message.h"
#include "cli/trace/service_help.h"
#include "cli/trace/session_client.h"
#include "cli/trace/trace_file.h"
#include "cli/trace/trace_readback.h"
#include "client/loop/event_base_loop.h"
#include "client/transport/consumer.h"
#include "common/observable_events.pb-c.h"
#include "config/limits.h"

/* One snapshot: clones the session and reads the clone into a file. It uses its own connection,
 * because the service allows one session per connection. The finished clone is independent of the
 * session. */
struct session_snapshot;

/* Called once, as the last callback; may free the snapshot. error 0: the file can be saved, and
 * saving reports whether it is complete. Else -errno, and why is the message. */
typedef void (*session_snapshot_fn)(void *ctx, struct session_snapshot *s, int error,
				    const char *why);

/*
 *	CONNECTING --> CLONING --> READING --> ENDED
 *	                  |                      ^
 *	                  +--- was written ------+
 *
 * Each state has a deadline. In READING each slice restarts it.
 */

enum state {
	CONNECTING,
	CLONING,
	READING,
	ENDED,
};

struct session_snapshot {
	session_snapshot_fn fn;
	void *ctx;
	const Pb__ObservableEvents__CloneTriggerHit *hit; /* borrowed from the caller until free */
	struct io_loop *io; /* owned; inside the event loop, for the consumer */
	struct consumer *consumer; /* owned */
	struct event *deadline; /* owned */
	struct trace_file *file; /* owned */
	struct trace_scan scan;
	struct packet_read reading;
	enum state state;
	bool is_cut; /* the file accepts no more data */
};

static void snapshots_end(struct session_snapshot *s, int error, const char *why)
{
	if (s->state == ENDED)
		return;
	s->state = ENDED;
	event_del(s->deadline);
	s->fn(s->ctx, s, error, why);
}

static const char *snapshot_state_text(const struct session_snapshot *s)
{
	static const char *const words[] = {"connecting", "making the snapshot",
					    "reading the snapshot", ""};

	return words[s->state];
}

static void end_failed_snapshot(struct session_snapshot *s, int error)
{
	struct err_text why;

	if (error == -EPIPE)
		err_set(&why, error, "the tracing service disconnected while %s",
			snapshot_state_text(s));
	else if (error == -ENOSYS)
		err_set(&why, error, "the tracing service is too old to make snapshots");
	else if (error == -EPROTO)
		err_set(&why, error, "the tracing service reported an error while %s",
			snapshot_state_text(s));
	else
		err_set(&why, error, "%s failed: %s", snapshot_state_text(s), strerror(-error));
	snapshots_end(s, error, why.text);
}

static void snapshots_on_deadline(evutil_socket_t fd, short what, void *ctx)
{
	struct session_snapshot *s = ctx;
	struct err_text why;

	err_set(&why, 0, "the tracing service does not answer; gave up while %s",
		snapshot_state_text(s));
	snapshots_end(s, -ETIMEDOUT, why.text);
}

static void snapshots_enter(struct session_snapshot *s, enum state state, uint32_t ms)
{
	s->state = state;
	event_timer_ms(s->deadline, ms);
}

/* ---- reading ---- */

static void snapshots_on_sign(void *ctx)
{
	struct session_snapshot *s = ctx;

	if (s->state == READING)
		snapshots_enter(s, READING, ANSWER_TIMEOUT_MS);
}

static int snapshots_on_packet(void *ctx, const uint8_t *data, size_t len)
{
	struct session_snapshot *s = ctx;

	int error;

	if (s->state != READING)
		return -ECANCELED;
	error = trace_file_add_packet(s->file, data, len);
	s->is_cut = error != 0;
	if (!error)
		trace_scan_packet(&s->scan, data, len);
	return error;
}

static void snapshots_on_read(void *ctx, int error)
{
	struct session_snapshot *s = ctx;

	if (s->state != READING)
		return;
	if (error && !s->is_cut)
		end_failed_snapshot(s, error);
	else if (!error && trace_file_bytes(s->file) == 0)
		snapshots_end(s, -ENODATA, "it is empty");
	else
		snapshots_end(s, 0, "");
}

static const struct packet_read_ops read_ops = {snapshots_on_sign, snapshots_on_packet,
						snapshots_on_read};

/* ---- cloning ---- */

/* Scans the snapshot of a session with write_into_file, which the service has written, and ends
 * it. */
static void finish_written_snapshot(struct session_snapshot *s)
{
	int r = trace_file_update_size(s->file);
	uint64_t bytes;

	if (r) {
		end_failed_snapshot(s, r);
		return;
	}
	trace_readback_scan(trace_file_fd(s->file), &s->scan, &bytes); /* ends at an error */
	snapshots_end(s, 0, "");
}

static void snapshots_on_cloned(void *ctx, int error, const struct consumer_clone_answer *answer)
{
	struct session_snapshot *s = ctx;
	struct err_text why;
	int r;

	if (s->state != CLONING)
		return;
	if (error) {
		end_failed_snapshot(s, error);
	} else if (!answer->success) {
		err_set(&why, 0, "the tracing service refused the snapshot: %s",
			*answer->error ? answer->error : "no reason given");
		snapshots_end(s, -EPROTO, why.text);
	} else if (answer->was_written) {
		finish_written_snapshot(s);
	} else {
		snapshots_enter(s, READING, ANSWER_TIMEOUT_MS);
		r = packet_read_start(&s->reading, s->consumer, &read_ops, s);
		if (r)
			end_failed_snapshot(s, r);
	}
}

static void snapshots_on_connected(void *ctx, int error)
{
	struct session_snapshot *s = ctx;
	const struct consumer_clone_trigger trigger = answer_clone_trigger(s->hit);
	const struct consumer_clone_request request = {
		.session_id = (uint64_t)s->hit->tracing_session_id,
		.trigger = &trigger,
	};
	int r = error;

	if (s->state != CONNECTING)
		return;
	if (r == 0) {
		snapshots_enter(s, CLONING, CLONE_TIMEOUT_MS);
		r = consumer_clone(s->consumer, &request, trace_file_fd(s->file),
				   snapshots_on_cloned, s);
	}
	if (r)
		end_failed_snapshot(s, r);
}

static void snapshots_on_disconnected(void *ctx)
{
	end_failed_snapshot(ctx, -EPIPE);
}

static const struct consumer_ops consumer_ops = {snapshots_on_connected, snapshots_on_disconnected};

/* ---- lifetime ---- */

/* Does not call fn. No-op for NULL. */
static void session_snapshot_free(struct session_snapshot *s)
{
	if (!s)
		return;
	consumer_free(s->consumer);
	event_base_loop_free(s->io);
	event_freep(&s->deadline);
	trace_file_free(s->file);
	trace_scan_deinit(&s->scan);
	packet_read_deinit(&s->reading);
	free(s);
}

static void free_snapshot(struct session_snapshot **s)
{
	session_snapshot_free(*s);
}

/* Starts a snapshot of the session that hit names. hit is borrowed until the snapshot is freed;
 * address and path during the call. The file is in the directory of path. Returns 0, or -errno and
 * sets e. */
static int session_snapshot_start(struct event_base *loop, const char *address,
				  const Pb__ObservableEvents__CloneTriggerHit *hit,
				  const char *path, session_snapshot_fn fn, void *ctx,
				  struct err_text *e, struct session_snapshot **ret)
{
	const struct channel_target target = {.address = address, .of_program = true};
	_cleanup_(free_snapshot) struct session_snapshot *s = calloc(1, sizeof(*s));
	int r;

	if (!s)
		return err_set(e, -ENOMEM, "out of memory");
	s->fn = fn;
	s->ctx = ctx;
	s->hit = hit;
	s->deadline = evtimer_new(loop, snapshots_on_deadline, s);
	if (!s->deadline)
		return err_set(e, -ENOMEM, "out of memory");
	r = trace_file_open(path, e, &s->file);
	if (r)
		return r;
	s->io = event_base_loop_new(loop);
	if (!s->io)
		return err_set(e, -ENOMEM, "out of memory");
	r = consumer_connect(s->io, &target, &consumer_ops, s, &s->consumer);
	if (r)
		return service_explain(address, r, e);
	snapshots_enter(s, CONNECTING, CONNECT_TIMEOUT_MS);
	*ret = TAKE_PTR(s);
	return 0;
}

/* Return the file and the scan, for fn; the snapshot owns them. */
static struct trace_file *session_snapshot_file(struct session_snapshot *s)
{
	return s->file;
}

static struct trace_scan *session_snapshot_scan(struct session_snapshot *s)
{
	return &s->scan;
}

#define MAX_NUMBERS_TRIED 10000 /* numbers of existing files that are skipped */

struct job {
	TAILQ_ENTRY(job) link;
	struct snapshots *owner;
	Pb__ObservableEvents__CloneTriggerHit *hit; /* owned */
	struct session_snapshot *snapshot; /* owned; NULL: queued */
};
TAILQ_HEAD(job_list, job);

struct snapshots {
	struct snapshots_setup setup;
	char *address; /* owned */
	struct job_list running, waiting; /* owned; the oldest first */
	size_t n_running, n_waiting;
	unsigned next; /* number of the next file */
};

int snapshots_check_path(const char *path, struct err_text *e)
{
	struct trace_file *file;
	struct stat st;
	int r;

	if (!strcmp(path, "-"))
		return err_set(
			e, -EINVAL,
			"snapshots cannot be written to standard output; give a name with -o");
	if (stat(path, &st) == 0 && !S_ISREG(st.st_mode))
		return err_set(e, -EINVAL,
			       "snapshots are written next to %s, which is not a regular file; "
			       "give another name with -o",
			       path);
	/* Report an error now, not when a trigger was hit. */
	r = trace_file_open(path, e, &file);
	if (r == 0)
		trace_file_free(file);
	return r;
}

/* ---- the end of a snapshot ---- */

static void report_saved(struct job *j, const char *name, const char *cut)
{
	struct snapshots *s = j->owner;
	const struct snapshot_facts facts = {
		.config = s->setup.config,
		.hit = j->hit,
		.name = name,
		.bytes = trace_file_bytes(session_snapshot_file(j->snapshot)),
		.cut = cut,
	};
	const char *line =
		snapshot_log_add_saved(s->setup.log, &facts, session_snapshot_scan(j->snapshot));

	console_print(s->setup.console, "snapshot %s", line);
}

static void report_failed(struct snapshots *s, const Pb__ObservableEvents__CloneTriggerHit *hit,
			  const char *why)
{
	console_error(s->setup.console, "snapshot %s",
		      snapshot_log_add_failed(s->setup.log, hit, why));
}

static int choose_file_path(const struct snapshots *s, char path[static PATH_MAX],
			    struct err_text *e)
{
	if (fs_make_numbered_path(path, PATH_MAX, s->setup.path, s->next, 1) == 0)
		return 0;
	return err_set(e, -ENAMETOOLONG, "the snapshot's file name is too long");
}

/* Gives the snapshot's file its name, with the first number from s->next on that no file has, and
 * reports the result. */
static void snapshots_save(struct job *j)
{
	struct snapshots *s = j->owner;
	struct trace_file *file = session_snapshot_file(j->snapshot);
	struct err_text why = {0};
	char path[PATH_MAX];
	int r = -EEXIST;

	trace_readback_rescan(file, session_snapshot_scan(j->snapshot));
	for (unsigned tries = 0; r == -EEXIST && tries < MAX_NUMBERS_TRIED; tries++) {
		r = choose_file_path(s, path, &why);
		if (r == 0)
			r = trace_file_save_new(file, path, &why);
		s->next += r >= 0 || r == -EEXIST;
	}
	if (r < 0)
		report_failed(s, j->hit, why.text);
	else
		report_saved(j, path, r > 0 ? why.text : NULL);
}

static void job_free(struct job *j)
{
	session_snapshot_free(j->snapshot);
	if (j->hit)
		protobuf_c_message_free_unpacked(&j->hit->base, NULL);
	free(j);
}

static void start_queued_jobs(struct snapshots *s);

static void snapshots_on_end(void *ctx, struct session_snapshot *snapshot, int error,
			     const char *why)
{
	struct job *j = ctx;
	struct snapshots *s = j->owner;

	if (error)
		report_failed(s, j->hit, why);
	else
		snapshots_save(j);
	TAILQ_REMOVE(&s->running, j, link);
	s->n_running--;
	job_free(j);
	start_queued_jobs(s);
	if (s->n_running == 0)
		s->setup.on_idle(s->setup.ctx);
}

/* ---- the start of a snapshot ---- */

static bool snapshots_start(struct job *j)
{
	struct snapshots *s = j->owner;
	struct err_text why;
	char path[PATH_MAX];

	if (choose_file_path(s, path, &why) ||
	    session_snapshot_start(s->setup.loop, s->address, j->hit, path, snapshots_on_end, j,
				   &why, &j->snapshot)) {
		report_failed(s, j->hit, why.text);
		job_free(j);
		return false;
	}
	TAILQ_INSERT_TAIL(&s->running, j, link);
	s->n_running++;
	return true;
}

static void start_queued_jobs(struct snapshots *s)
{
	struct job *j;

	while (s->n_running < SNAPSHOTS_AT_ONCE && (j = TAILQ_FIRST(&s->waiting))) {
		TAILQ_REMOVE(&s->waiting, j, link);
		s->n_waiting--;
		snapshots_start(j);
	}
}

static Pb__ObservableEvents__CloneTriggerHit *copy_trigger_hit(
	const Pb__ObservableEvents__CloneTriggerHit *hit)
{
	size_t len = protobuf_c_message_get_packed_size(&hit->base);
	_cleanup_(freep) uint8_t *bytes = malloc(len + 1);

	if (!bytes)
		return NULL;
	protobuf_c_message_pack(&hit->base, bytes);
	return (void *)protobuf_c_message_unpack(hit->base.descriptor, NULL, len, bytes);
}

bool snapshots_take(struct snapshots *s, const Pb__ObservableEvents__CloneTriggerHit *hit)
{
	struct job *j;

	if (s->n_waiting == SNAPSHOTS_WAITING) {
		report_failed(s, hit, "too many triggers: the queue of pending snapshots is full");
		return false;
	}
	j = calloc(1, sizeof(*j));
	if (j)
		j->hit = copy_trigger_hit(hit);
	if (!j || !j->hit) {
		free(j);
		report_failed(s, hit, "out of memory");
		return false;
	}
	j->owner = s;
	if (s->n_running < SNAPSHOTS_AT_ONCE)
		return snapshots_start(j);
	TAILQ_INSERT_TAIL(&s->waiting, j, link);
	s->n_waiting++;
	return true;
}

/* ---- all snapshots ---- */

struct snapshots *snapshots_new(const struct snapshots_setup *setup)
{
	struct snapshots *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->setup = *setup;
	TAILQ_INIT(&s->running);
	TAILQ_INIT(&s->waiting);
	s->address = strdup(setup->address);
	if (!s->address) {
		snapshots_free(s);
		return NULL;
	}
	return s;
}

static void fail_all_jobs(struct snapshots *s, struct job_list *list)
{
	struct job *j;

	while ((j = TAILQ_FIRST(list))) {
		TAILQ_REMOVE(list, j, link);
		report_failed(s, j->hit, "the recording ended first");
		job_free(j);
	}
}

void snapshots_free(struct snapshots *s)
{
	if (!s)
		return;
	fail_all_jobs(s, &s->running);
	fail_all_jobs(s, &s->waiting);
	free(s->address);
	free(s);
}
