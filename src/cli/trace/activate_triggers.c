/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/trace/activate_triggers.h"

#include <errno.h>
#include <event2/event.h>

#include "base/core/mem.h"
#include "base/event_loop/event_free.h"
#include "client/loop/event_base_loop.h"
#include "client/transport/channel.h"
#include "config/limits.h"
#include "gen/fields.h"
#include "wire/pb_enc.h"

struct trigger_run {
	struct event_base *loop;
	struct channel *channel;
	char **names;
	size_t n;
	int error; /* -EINPROGRESS: no answer yet */
};

static void activate_triggers_end(struct trigger_run *t, int error)
{
	t->error = error;
	event_base_loopbreak(t->loop);
}

static void on_activated(void *ctx, const struct channel_reply *reply)
{
	activate_triggers_end(ctx, reply->error);
}

static void activate_triggers_on_initialized(void *ctx, const struct channel_reply *reply)
{
	_cleanup_(pb_mem_deinit) struct pb_mem m = {0};
	struct trigger_run *t = ctx;
	int r = reply->error ? reply->error : pb_mem_init(&m);

	for (size_t i = 0; r == 0 && i < t->n; i++)
		pb_enc_str(&m.enc, PB_ACTIVATE_TRIGGERS_REQUEST_TRIGGER_NAMES, t->names[i]);
	if (r == 0)
		r = m.failed ? -ENOMEM
			     : channel_call(t->channel, "ActivateTriggers", m.buf, pb_mem_len(&m),
					    -1, on_activated, t);
	if (r < 0)
		activate_triggers_end(t, r);
}

static void activate_triggers_on_bound(void *ctx)
{
	_cleanup_(pb_mem_deinit) struct pb_mem m = {0};
	struct trigger_run *t = ctx;
	int r = pb_mem_init(&m);

	if (r == 0) {
		pb_enc_str(&m.enc, PB_INITIALIZE_CONNECTION_REQUEST_PRODUCER_NAME, "sonda");
		r = m.failed
			    ? -ENOMEM
			    : channel_call(t->channel, "InitializeConnection", m.buf,
					   pb_mem_len(&m), -1, activate_triggers_on_initialized, t);
	}
	if (r < 0)
		activate_triggers_end(t, r);
}

static void activate_triggers_on_lost(void *ctx, int error)
{
	activate_triggers_end(ctx, error ? error : -EPIPE);
}

static const struct channel_ops ops = {.on_bound = activate_triggers_on_bound,
				       .on_lost = activate_triggers_on_lost};

int activate_triggers(const char *address, char **names, size_t n)
{
	const struct channel_target target = {.address = address, .of_program = true};
	const struct timeval timeout = {.tv_sec = CONNECT_TIMEOUT_MS / 1000};
	struct trigger_run t = {.names = names, .n = n, .error = -EINPROGRESS};
	struct io_loop *io = NULL;
	int r = -ENOMEM;

	t.loop = event_base_new();
	if (t.loop)
		io = event_base_loop_new(t.loop);
	if (io)
		r = channel_open(io, &target, CHANNEL_PRODUCER, &ops, &t, &t.channel);
	if (r == 0) {
		event_base_loopexit(t.loop, &timeout);
		event_base_dispatch(t.loop);
		r = t.error;
		channel_close(t.channel);
	}
	event_base_loop_free(io);
	event_base_freep(&t.loop);
	return r;
}
