/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "unit/test.h"
#include "base/text/str.h"
#include "cli/record/record_session.h"
#include "unit/cli/fake_session.h"

/* A session against a service that follows a script; what its owner hears is words. */

struct fixture {
	struct event_base *loop;
	struct fake_session service;
	struct record_session *session;
	Pb__TraceConfig config;
	char heard[1024];
	bool ended;
	int packet_error; /* what on_packet answers */
	int refusal; /* what before_recording does */
	const struct record_session_ops *ops;
};

static inline void hear(struct fixture *x, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
static inline void hear(struct fixture *x, const char *fmt, ...)
{
	size_t n = strlen(x->heard);
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(x->heard + n, sizeof(x->heard) - n, fmt, ap);
	va_end(ap);
}

/* ---- the client ---- */

static inline void on_state(void *ctx, bool at_end, const Pb__TracingServiceState *s)
{
	hear(ctx, "state(%d,%d) ", at_end, s->num_sessions);
}

static inline int before_recording(void *ctx, struct err_text *why)
{
	struct fixture *x = ctx;

	return err_set(why, x->refusal, "not so");
}

static inline void on_started(void *ctx)
{
	hear(ctx, "started ");
}

static inline void on_recording(void *ctx)
{
	hear(ctx, "recording ");
}

static inline void on_stats(void *ctx, bool at_end, const Pb__TraceStats *s)
{
	hear(ctx, "stats(%d,%u) ", at_end, s->tracing_sessions);
}

static inline void on_stopped(void *ctx, int flush_error)
{
	hear(ctx, "stopped(%d) ", flush_error);
}

static inline int on_packet(void *ctx, const uint8_t *data, size_t len)
{
	struct fixture *x = ctx;

	hear(x, "%.*s ", (int)len, (const char *)data);
	return x->packet_error;
}

static inline void on_end(void *ctx, int error, const char *why)
{
	struct fixture *x = ctx;

	assert_false(x->ended);
	x->ended = true;
	hear(x, "end(%d,%s) ", error, why);
}

static const struct record_session_ops ops __attribute__((unused)) = {
	.on_state = on_state,
	.before_recording = before_recording,
	.on_recording = on_recording,
	.on_stats = on_stats,
	.on_stopped = on_stopped,
	.on_packet = on_packet,
	.on_end = on_end,
};

static const struct record_session_ops ops_that_await_the_start __attribute__((unused)) = {
	.on_state = on_state,
	.before_recording = before_recording,
	.on_recording = on_recording,
	.on_started = on_started,
	.on_stats = on_stats,
	.on_stopped = on_stopped,
	.on_packet = on_packet,
	.on_end = on_end,
};

static inline void on_clone_trigger(void *ctx, const Pb__ObservableEvents__CloneTriggerHit *hit)
{
	hear(ctx, "trigger(%s) ", hit->trigger_name);
}

static const struct record_session_ops ops_with_snapshots __attribute__((unused)) = {
	.on_state = on_state,
	.before_recording = before_recording,
	.on_recording = on_recording,
	.on_clone_trigger = on_clone_trigger,
	.on_stats = on_stats,
	.on_stopped = on_stopped,
	.on_packet = on_packet,
	.on_end = on_end,
};

/* Both ends are on this loop and nothing waits for a clock: so many turns are enough for all. */
static inline void run(struct fixture *x)
{
	for (int turn = 0; turn < 500; turn++)
		event_base_loop(x->loop, EVLOOP_NONBLOCK);
}

static inline int setup(void **state)
{
	struct fixture *x = calloc(1, sizeof(*x));

	*state = x;
	x->ops = &ops;
	x->loop = event_base_new();
	pb__trace_config__init(&x->config);
	fake_session_open(&x->service, x->loop);
	return 0;
}

static inline int teardown(void **state)
{
	struct fixture *x = *state;

	record_session_free(x->session);
	fake_port_close(&x->service.port);
	event_base_free(x->loop);
	free(x);
	return 0;
}

static inline void start(struct fixture *x)
{
	struct err_text e;

	if (record_session_start(x->loop, x->service.port.address, &x->config, x->ops, x, &e,
				 &x->session))
		fail_msg("%s", e.text);
	run(x);
}

#define BEGIN "state(0,3) recording "
#define END "one two stats(1,5) state(1,3) end(0,) "
