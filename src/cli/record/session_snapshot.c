// SPDX-License-Identifier: Apache-2.0
/*
 *	CONNECTING --> CLONING --> READING --> ENDED
 *	                  |                      ^
 *	                  +--- was written ------+
 *
 * Each state has a deadline, as has each slice.
 */
#include "cli/record/session_snapshot.h"

#include <errno.h>
#include <event2/event.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/mem.h"
#include "cli/trace/packet_read.h"
#include "cli/trace/session_client.h"
#include "cli/trace/trace_file.h"
#include "client/transport/consumer.h"
#include "config/limits.h"

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
	struct consumer *consumer; /* owned */
	struct event *deadline; /* owned */
	struct trace_file *file; /* owned */
	struct trace_scan scan;
	struct packet_read reading;
	enum state state;
	bool is_cut; /* the file takes no more */
};

static void end(struct session_snapshot *s, int error, const char *why)
{
	if (s->state == ENDED)
		return;
	s->state = ENDED;
	event_del(s->deadline);
	s->fn(s->ctx, s, error, why);
}

static const char *activity(const struct session_snapshot *s)
{
	static const char *const words[] = {"connecting", "making the snapshot", "reading it", ""};

	return words[s->state];
}

static void fail(struct session_snapshot *s, int error)
{
	struct err_text why;

	if (error == -EPIPE)
		err_set(&why, error, "the tracing service went away while %s", activity(s));
	else if (error == -ENOSYS)
		err_set(&why, error, "the tracing service cannot make snapshots: it is too old");
	else if (error == -EPROTO)
		err_set(&why, error, "the tracing service refused while %s", activity(s));
	else
		err_set(&why, error, "%s failed: %s", activity(s), strerror(-error));
	end(s, error, why.text);
}

static void on_deadline(evutil_socket_t fd, short what, void *ctx)
{
	struct session_snapshot *s = ctx;
	struct err_text why;

	(void)fd, (void)what;
	err_set(&why, 0, "the tracing service does not answer: given up while %s", activity(s));
	end(s, -ETIMEDOUT, why.text);
}

static void enter(struct session_snapshot *s, enum state state, uint32_t ms)
{
	struct timeval t = {ms / 1000, (suseconds_t)(ms % 1000) * 1000};

	s->state = state;
	event_add(s->deadline, &t);
}

/* ---- reading ---- */

static void on_sign(void *ctx)
{
	struct session_snapshot *s = ctx;

	if (s->state == READING)
		enter(s, READING, ANSWER_TIMEOUT_MS);
}

static int on_packet(void *ctx, const uint8_t *data, size_t len)
{
	struct session_snapshot *s = ctx;

	int error;

	if (s->state != READING)
		return -ECANCELED;
	error = trace_file_packet(s->file, data, len);
	s->is_cut = error != 0;
	if (!error)
		trace_scan_packet(&s->scan, data, len);
	return error;
}

static void on_read(void *ctx, int error)
{
	struct session_snapshot *s = ctx;

	if (s->state != READING)
		return;
	if (error && !s->is_cut)
		fail(s, error);
	else if (!error && trace_file_bytes(s->file) == 0)
		end(s, -ENODATA, "it is empty");
	else
		end(s, 0, "");
}

static const struct packet_read_ops read_ops = {on_sign, on_packet, on_read};

/* ---- cloning ---- */

/* The session writes into a file, and the service has written this one. */
static void take_written(struct session_snapshot *s)
{
	int r = trace_file_note_written(s->file);

	if (r)
		fail(s, r);
	else
		end(s, 0, "");
}

static void on_cloned(void *ctx, int error, const Pb__CloneSessionResponse *answer)
{
	struct session_snapshot *s = ctx;
	struct err_text why;
	int r;

	if (s->state != CLONING)
		return;
	if (error) {
		fail(s, error);
	} else if (!answer->success) {
		err_set(&why, 0, "the tracing service says: %s",
			answer->error ? answer->error : "no reason given");
		end(s, -EPROTO, why.text);
	} else if (answer->was_write_into_file) {
		take_written(s);
	} else {
		enter(s, READING, ANSWER_TIMEOUT_MS);
		r = packet_read_start(&s->reading, s->consumer, &read_ops, s);
		if (r)
			fail(s, r);
	}
}

static void on_connected(void *ctx, int error)
{
	struct session_snapshot *s = ctx;
	struct consumer_clone_request request = {
		.session_id = (uint64_t)s->hit->tracing_session_id,
		.trigger = s->hit,
	};
	int r = error;

	if (s->state != CONNECTING)
		return;
	if (r == 0) {
		enter(s, CLONING, CLONE_TIMEOUT_MS);
		r = consumer_clone(s->consumer, &request, trace_file_fd(s->file), on_cloned, s);
	}
	if (r)
		fail(s, r);
}

static void on_disconnected(void *ctx)
{
	fail(ctx, -EPIPE);
}

static const struct consumer_ops consumer_ops = {on_connected, on_disconnected};

/* ---- all of it ---- */

static void free_snapshot(struct session_snapshot **s)
{
	session_snapshot_free(*s);
}

int session_snapshot_start(struct event_base *loop, const char *address,
			   const Pb__ObservableEvents__CloneTriggerHit *hit, const char *path,
			   session_snapshot_fn fn, void *ctx, struct err_text *e,
			   struct session_snapshot **ret)
{
	_cleanup_(free_snapshot) struct session_snapshot *s = calloc(1, sizeof(*s));
	int r;

	if (!s)
		return err_set(e, -ENOMEM, "no memory");
	s->fn = fn;
	s->ctx = ctx;
	s->hit = hit;
	s->deadline = evtimer_new(loop, on_deadline, s);
	if (!s->deadline)
		return err_set(e, -ENOMEM, "no memory");
	r = trace_file_open(path, e, &s->file);
	if (r)
		return r;
	r = consumer_connect(loop, address, &consumer_ops, s, &s->consumer);
	if (r)
		return session_client_explain(address, r, e);
	enter(s, CONNECTING, CONNECT_TIMEOUT_MS);
	*ret = TAKE_PTR(s);
	return 0;
}

struct trace_file *session_snapshot_file(struct session_snapshot *s)
{
	return s->file;
}

struct trace_scan *session_snapshot_scan(struct session_snapshot *s)
{
	return &s->scan;
}

void session_snapshot_free(struct session_snapshot *s)
{
	if (!s)
		return;
	consumer_free(s->consumer);
	if (s->deadline)
		event_free(s->deadline);
	trace_file_free(s->file);
	trace_scan_deinit(&s->scan);
	packet_read_deinit(&s->reading);
	free(s);
}
