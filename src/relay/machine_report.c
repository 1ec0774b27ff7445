/* SPDX-License-Identifier: Apache-2.0 */
#include "relay/machine_report.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <event2/event.h>

#include "base/core/mem.h"
#include "base/event_loop/event_free.h"
#include "base/event_loop/event_timer.h"
#include "base/system/log.h"
#include "client/loop/event_base_loop.h"
#include "client/producer/relay_client.h"
#include "relay/back_off.h"

struct machine_report {
	const char *service; /* borrowed */
	struct io_loop *io; /* owned, as the following */
	struct relay_client *client; /* NULL: not connected */
	struct event *again;
	struct back_off back_off;
	bool is_known; /* the service has the clocks, and this was logged */
	int logged_error; /* of the failures since then, the last one that was logged; 0: none */
};

/* Schedules the next attempt. Logs the failure, unless the last one that was logged is the same. */
static void machine_report_on_failure(struct machine_report *m, int error)
{
	bool is_new = m->is_known || error != m->logged_error;

	m->is_known = false;
	m->logged_error = error;
	event_timer_ms(m->again, back_off_next_ms(&m->back_off));
	if (!is_new)
		return;
	if (error == -EPROTO)
		log_warn("%s has no RelayPort (start sondad or traced with "
			 "--enable-relay-endpoint); trace readers cannot convert this machine's "
			 "timestamps",
			 m->service);
	else
		log_warn("no tracing service at %s (%s); producers wait for one", m->service,
			 error ? strerror(-error) : "the service closed the connection");
}

static void machine_report_on_synced(void *ctx, uint64_t fastest_ns, unsigned n_calls)
{
	struct machine_report *m = ctx;

	m->back_off.ms = 0;
	log_write(m->is_known ? LOG_LEVEL_DEBUG : LOG_LEVEL_INFO,
		  "sent clock snapshots to the service: %u messages, fastest reply after %llu us",
		  n_calls, (unsigned long long)fastest_ns / 1000);
	m->is_known = true;
}

static void machine_report_on_lost(void *ctx, int error)
{
	struct machine_report *m = ctx;

	relay_client_free(TAKE_PTR(m->client));
	machine_report_on_failure(m, error);
}

static void machine_report_connect(evutil_socket_t fd, short what, void *ctx)
{
	static const struct relay_client_ops ops = {.on_synced = machine_report_on_synced,
						    .on_lost = machine_report_on_lost};
	struct machine_report *m = ctx;
	int r = relay_client_new(m->io, m->service, &ops, m, &m->client);

	if (r < 0)
		machine_report_on_failure(m, r);
}

int machine_report_new(struct event_base *loop, const char *service, struct machine_report **ret)
{
	struct machine_report *m = calloc(1, sizeof(*m));

	if (!m)
		return -ENOMEM;
	m->service = service;
	m->io = event_base_loop_new(loop);
	m->again = evtimer_new(loop, machine_report_connect, m);
	if (!m->io || !m->again) {
		machine_report_free(m);
		return -ENOMEM;
	}
	machine_report_connect(-1, 0, m);
	*ret = m;
	return 0;
}

void machine_report_free(struct machine_report *m)
{
	if (!m)
		return;
	relay_client_free(m->client);
	event_freep(&m->again);
	event_base_loop_free(m->io);
	free(m);
}
