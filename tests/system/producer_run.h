/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <signal.h>
#include <stdlib.h>

#include <event2/event.h>

#include "base/system/fs.h"
#include "client/producer/metadata_bus.h"
#include "client/producer/producer.h"

/* A program that is nothing but a producer. */

static inline void producer_on_signal(evutil_socket_t number, short what, void *ctx)
{
	(void)number, (void)what;
	event_base_loopbreak(ctx);
}

/* As on_connected: "1" on TRACED_PROBES_NOTIFY_FD. */
static inline void producer_notify(void *ctx)
{
	const char *fd = getenv("TRACED_PROBES_NOTIFY_FD");

	(void)ctx;
	if (fd) /* also after the connection was lost, when the pipe has no reader any more */
		fs_write_all(atoi(fd), "1", 1);
}

/* Until SIGTERM; what main() returns. Its env is made here. */
static inline int producer_run(struct producer_options o)
{
	struct event_base *loop = event_base_new();
	struct event *term = evsignal_new(loop, SIGTERM, producer_on_signal, loop);
	struct producer *p;

	signal(SIGPIPE, SIG_IGN);
	o.env.loop = loop;
	o.env.bus = metadata_bus_new();
	event_add(term, NULL);
	if (producer_new(&o, &p) < 0)
		return 1;
	event_base_dispatch(loop);
	producer_free(p);
	metadata_bus_free(o.env.bus);
	event_free(term);
	event_base_free(loop);
	return 0;
}
