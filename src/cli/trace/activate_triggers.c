/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/trace/activate_triggers.h"

#include <errno.h>
#include <event2/event.h>
#include <stdint.h>

#include "base/event_loop/event_free.h"
#include "client/transport/connection.h"
#include "config/limits.h"
#include "ipc/producer_port.pb-c.h"

struct trigger_run {
	struct event_base *loop;
	struct connection *conn;
	char **names;
	size_t n;
	int error; /* -EINPROGRESS: no answer yet */
};

static void activate_triggers_end(struct trigger_run *t, int error)
{
	t->error = error;
	event_base_loopbreak(t->loop);
}

static void on_activated(void *ctx, const struct connection_reply *reply)
{
	activate_triggers_end(ctx, reply->error);
}

static void activate_triggers_on_initialized(void *ctx, const struct connection_reply *reply)
{
	struct trigger_run *t = ctx;
	Pb__ActivateTriggersRequest m = PB__ACTIVATE_TRIGGERS_REQUEST__INIT;
	int r = reply->error;

	m.n_trigger_names = t->n;
	m.trigger_names = t->names;
	if (r == 0)
		r = connection_call_msg(t->conn, "ActivateTriggers", &m.base, on_activated, t);
	if (r < 0)
		activate_triggers_end(t, r);
}

static void activate_triggers_on_bound(void *ctx)
{
	struct trigger_run *t = ctx;
	Pb__InitializeConnectionRequest m = PB__INITIALIZE_CONNECTION_REQUEST__INIT;
	int r;

	m.producer_name = (char *)"sonda";
	r = connection_call_msg(t->conn, "InitializeConnection", &m.base,
				activate_triggers_on_initialized, t);
	if (r < 0)
		activate_triggers_end(t, r);
}

static void activate_triggers_on_lost(void *ctx, int error)
{
	activate_triggers_end(ctx, error ? error : -EPIPE);
}

static const struct connection_ops ops = {.on_bound = activate_triggers_on_bound,
					  .on_lost = activate_triggers_on_lost};

int activate_triggers(const char *address, char **names, size_t n)
{
	const struct timeval timeout = {.tv_sec = CONNECT_TIMEOUT_MS / 1000};
	struct trigger_run t = {.names = names, .n = n, .error = -EINPROGRESS};
	int r = -ENOMEM;

	t.loop = event_base_new();
	if (t.loop)
		r = connection_new(t.loop, address, "ProducerPort", &ops, &t, &t.conn);
	if (r == 0) {
		event_base_loopexit(t.loop, &timeout);
		event_base_dispatch(t.loop);
		r = t.error;
		connection_free(t.conn);
	}
	event_base_freep(&t.loop);
	return r;
}
