/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/trace/activate_triggers.h"

#include <errno.h>
#include <event2/event.h>
#include <stdlib.h>

#include "base/core/mem.h"
#include "base/event_loop/event_free.h"
#include "base/event_loop/event_timer.h"
#include "client/loop/event_base_loop.h"
#include "client/transport/channel.h"
#include "config/limits.h"
#include "gen/fields.h"
#include "wire/pb_enc.h"

struct trigger_call {
	struct io_loop *io; /* owned, as all that follows */
	struct channel *channel;
	struct event *timeout;
	struct pb_mem connect, activate; /* arguments of the two calls */
	void (*on_end)(void *ctx, int error);
	void *ctx;
};

/* Ends a call. This must be the last statement of a callback: the call may be freed then. */
static void trigger_call_end(struct trigger_call *c, int error)
{
	channel_close(TAKE_PTR(c->channel));
	event_del(c->timeout);
	c->on_end(c->ctx, error);
}

static void on_activated(void *ctx, const struct channel_reply *reply)
{
	trigger_call_end(ctx, reply->error);
}

static void trigger_call_on_connected(void *ctx, const struct channel_reply *reply)
{
	struct trigger_call *c = ctx;
	int r = reply->error;

	if (r == 0)
		r = channel_call(c->channel, "ActivateTriggers", c->activate.buf,
				 pb_mem_len(&c->activate), -1, on_activated, c);
	if (r < 0)
		trigger_call_end(c, r);
}

static void trigger_call_on_bound(void *ctx)
{
	struct trigger_call *c = ctx;
	int r = channel_call(c->channel, "InitializeConnection", c->connect.buf,
			     pb_mem_len(&c->connect), -1, trigger_call_on_connected, c);

	if (r < 0)
		trigger_call_end(c, r);
}

static void trigger_call_on_lost(void *ctx, int error)
{
	trigger_call_end(ctx, error ? error : -EPIPE);
}

static void trigger_call_on_timeout(evutil_socket_t fd, short what, void *ctx)
{
	(void)fd;
	(void)what;
	trigger_call_end(ctx, -ETIMEDOUT);
}

static int encode_arguments(struct trigger_call *c, const struct trigger_call_setup *setup)
{
	int r = pb_mem_init(&c->connect);

	if (r == 0)
		r = pb_mem_init(&c->activate);
	if (r < 0)
		return r;
	pb_enc_str(&c->connect.enc, PB_INITIALIZE_CONNECTION_REQUEST_PRODUCER_NAME,
		   setup->producer);
	for (size_t i = 0; i < setup->n; i++)
		pb_enc_str(&c->activate.enc, PB_ACTIVATE_TRIGGERS_REQUEST_TRIGGER_NAMES,
			   setup->names[i]);
	return c->connect.failed || c->activate.failed ? -ENOMEM : 0;
}

int trigger_call_start(const struct trigger_call_setup *setup, struct trigger_call **ret)
{
	static const struct channel_ops ops = {.on_bound = trigger_call_on_bound,
					       .on_lost = trigger_call_on_lost};
	const struct channel_target target = {.address = setup->address, .of_program = true};
	struct trigger_call *c = calloc(1, sizeof(*c));
	int r;

	if (!c)
		return -ENOMEM;
	c->on_end = setup->on_end;
	c->ctx = setup->ctx;
	c->io = event_base_loop_new(setup->loop);
	c->timeout = evtimer_new(setup->loop, trigger_call_on_timeout, c);
	r = c->io && c->timeout ? encode_arguments(c, setup) : -ENOMEM;
	if (r == 0 && event_timer_ms(c->timeout, CONNECT_TIMEOUT_MS))
		r = -ENOMEM;
	if (r == 0)
		r = channel_open(c->io, &target, CHANNEL_PRODUCER, &ops, c, &c->channel);
	if (r < 0)
		trigger_call_free(c);
	else
		*ret = c;
	return r;
}

void trigger_call_free(struct trigger_call *c)
{
	if (!c)
		return;
	channel_close(c->channel);
	event_freep(&c->timeout);
	event_base_loop_free(c->io);
	pb_mem_deinit(&c->connect);
	pb_mem_deinit(&c->activate);
	free(c);
}

struct trigger_wait {
	struct event_base *loop;
	int error;
};

static void trigger_wait_on_end(void *ctx, int error)
{
	struct trigger_wait *w = ctx;

	w->error = error;
	event_base_loopbreak(w->loop);
}

int activate_triggers(const char *address, char *const *names, size_t n)
{
	struct trigger_wait w = {.loop = event_base_new()};
	const struct trigger_call_setup setup = {
		.loop = w.loop,
		.address = address,
		.producer = "sonda",
		.names = names,
		.n = n,
		.on_end = trigger_wait_on_end,
		.ctx = &w,
	};
	struct trigger_call *c;
	int r = w.loop ? trigger_call_start(&setup, &c) : -ENOMEM;

	if (r == 0) {
		event_base_dispatch(w.loop);
		trigger_call_free(c);
		r = w.error;
	}
	event_base_freep(&w.loop);
	return r;
}
