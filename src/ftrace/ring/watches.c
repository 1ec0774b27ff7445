// SPDX-License-Identifier: Apache-2.0
/*
 *	         armed -----> full enough: wake, off -----> read -----> armed
 *	           ^                                         |
 *	           |                                         | hardly anything was there
 *	           +------------- next pass over all <-------+
 *
 * With a watermark of two sub-buffers or more (ring_size.h sees to that) a ring that woke us has
 * as many to read; one that has fewer woke us for another reason.
 */
#include "ftrace/ring/watches.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>

#include <event2/event.h>

struct watch {
	struct watches *all;
	struct cpu_reader *cpu; /* borrowed */
	struct event *event; /* owned; made when there is something to watch */
	bool woke; /* since it was armed */
};

struct watches {
	struct event_base *loop;
	const struct cpu_readers *readers; /* borrowed */
	void (*wake)(void *ctx, struct cpu_reader *cpu);
	void *ctx;
	struct watch watches[]; /* as many as readers */
};

int watches_new(struct event_base *loop, const struct cpu_readers *readers,
		void (*wake)(void *ctx, struct cpu_reader *cpu), void *ctx, struct watches **ret)
{
	struct watches *w = calloc(1, sizeof(*w) + readers->n * sizeof(*w->watches));

	if (!w)
		return -ENOMEM;
	*w = (struct watches){.loop = loop, .readers = readers, .wake = wake, .ctx = ctx};
	for (unsigned i = 0; i < readers->n; i++)
		w->watches[i] = (struct watch){.all = w, .cpu = &readers->cpus[i]};
	*ret = w;
	return 0;
}

struct watches *watches_free(struct watches *w)
{
	if (!w)
		return NULL;
	for (unsigned i = 0; i < w->readers->n; i++)
		if (w->watches[i].event)
			event_free(w->watches[i].event);
	free(w);
	return NULL;
}

static void on_watch(evutil_socket_t fd, short what, void *ctx)
{
	struct watch *watch = ctx;

	(void)fd;
	(void)what;
	watch->woke = true;
	watch->all->wake(watch->all->ctx, watch->cpu);
}

/* Without memory for an event, or with a file that cannot be polled, there are the ticks. */
static void arm(struct watch *watch)
{
	const struct cpu_reader *cpu = watch->cpu;

	if (cpu->fd < 0 || cpu->absent)
		return;
	watch->woke = false;
	if (!watch->event)
		watch->event = event_new(watch->all->loop, cpu->fd, EV_READ, on_watch, watch);
	if (watch->event)
		event_add(watch->event, NULL);
}

void watches_arm(struct watches *w, bool all)
{
	for (unsigned i = 0; i < w->readers->n; i++) {
		struct watch *watch = &w->watches[i];

		if (all || (watch->woke && watch->cpu->pass_bytes >= 2 * w->readers->page_size))
			arm(watch);
	}
}

void watches_disarm(struct watches *w)
{
	for (unsigned i = 0; i < w->readers->n; i++)
		if (w->watches[i].event)
			event_del(w->watches[i].event);
}

bool watches_can(const struct cpu_readers *readers)
{
	bool waits = false;

	for (unsigned i = 0; i < readers->n; i++) {
		struct pollfd p = {.fd = readers->cpus[i].fd, .events = POLLIN};
		int n = p.fd < 0 ? -1 : poll(&p, 1, 0);

		if (n > 0 && !(p.revents & POLLERR))
			return false;
		waits = waits || n == 0;
	}
	return waits;
}
