/* SPDX-License-Identifier: Apache-2.0 */
/* sonda trigger NAME...: activates triggers, as a producer without data sources. */

#include <errno.h>
#include <event2/event.h>
#include <stdint.h>
#include <string.h>

#include "base/event_loop/event_free.h"
#include "base/event_loop/sock.h"
#include "base/system/log.h"
#include "cli/terminal/verb.h"
#include "cli/trace/service_help.h"
#include "cli/trace/session_client.h"
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

static void end(struct trigger_run *t, int error)
{
	t->error = error;
	event_base_loopbreak(t->loop);
}

static void on_activated(void *ctx, const struct connection_reply *reply)
{
	end(ctx, reply->error);
}

static void on_initialized(void *ctx, const struct connection_reply *reply)
{
	struct trigger_run *t = ctx;
	Pb__ActivateTriggersRequest m = PB__ACTIVATE_TRIGGERS_REQUEST__INIT;
	int r = reply->error;

	m.n_trigger_names = t->n;
	m.trigger_names = t->names;
	if (r == 0)
		r = connection_call_msg(t->conn, "ActivateTriggers", &m.base, on_activated, t);
	if (r < 0)
		end(t, r);
}

static void on_bound(void *ctx)
{
	struct trigger_run *t = ctx;
	Pb__InitializeConnectionRequest m = PB__INITIALIZE_CONNECTION_REQUEST__INIT;
	int r;

	m.producer_name = (char *)"sonda";
	r = connection_call_msg(t->conn, "InitializeConnection", &m.base, on_initialized, t);
	if (r < 0)
		end(t, r);
}

static void on_lost(void *ctx, int error)
{
	end(ctx, error ? error : -EPIPE);
}

static const struct connection_ops ops = {.on_bound = on_bound, .on_lost = on_lost};

/* Activates the triggers. Returns 0 or -errno; -EINPROGRESS: no answer in time. */
static int activate(const char *address, char **names, size_t n)
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

static const char usage[] =
	"usage: sonda trigger [--socket ADDRESS] NAME...\n\n"
	"Activates triggers. Each tracing session whose trigger_config contains one of the names\n"
	"starts, stops or is cloned. The service does not report whether a session matched.\n\n"
	"      --socket ADDRESS   address of the service's producer socket\n"
	"  -h, --help         print this help\n";

static void explain(const char *address, int error, struct err_text *e)
{
	if (error == -EINPROGRESS)
		service_explain(address, -ETIMEDOUT, e);
	else if (error == -EPROTO)
		err_set(e, error, "the tracing service on %s refused the triggers", address);
	else
		service_explain(address, error, e);
}

int cmd_trigger(int argc, char **argv)
{
	const char *address;
	struct verb_options o;
	struct err_text e;
	int code = verb_options_parse(argc, argv, "s", 1, SIZE_MAX, usage, &o), r;

	if (code >= 0)
		return code;
	address = o.socket ? o.socket : sock_default_producer();
	r = activate(address, o.words, o.n_words);
	if (r == 0)
		return EXIT_GOOD;
	explain(address, r, &e);
	log_error("%s", e.text);
	return EXIT_FAILED;
}
