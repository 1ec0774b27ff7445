// SPDX-License-Identifier: Apache-2.0
/*
 * One timer does it all:
 *
 *	          tick                         a ring is not done yet: at once again
 *	 waiting -------> pass: turn, turn, turn ---+
 *	    ^                                       | all done
 *	    +---------------------------------------+
 *
 * drain_all makes the pass that is on, or a new one, a pass to the end. Every turn goes on with the
 * CPU after the one that the turn before ended with, so that no ring waits for a busier one.
 */
#include <errno.h>
#include <stdlib.h>

#include <event2/event.h>

#include "base/clock.h"
#include "base/mem.h"
#include "ftrace/drain.h"

struct drain {
	struct drain_options options;
	struct event *timer; /* owned */
	unsigned next_cpu;
	bool in_pass;
	bool to_the_end; /* this pass */
	bool ticking;
	bool halted;
};

static void schedule(struct drain *d, uint32_t ms)
{
	struct timeval tv = {.tv_sec = ms / 1000, .tv_usec = ms % 1000 * 1000};

	event_add(d->timer, &tv);
}

/* Reads up to a turn's pages; true when every ring is done with the pass. */
static bool run_turn(struct drain *d)
{
	struct cpu_readers *r = d->options.readers;
	uint32_t budget = DRAIN_TURN_PAGES;
	bool done = true;

	for (unsigned i = 0; i < r->n && budget; i++) {
		struct cpu_reader *cpu = &r->cpus[(d->next_cpu + i) % r->n];

		budget -= cpu_reader_run(r, cpu, d->options.translator,
					 MIN(budget, DRAIN_CPU_PAGES), d->to_the_end);
		if (!budget)
			d->next_cpu = (d->next_cpu + i + 1) % r->n;
	}
	for (unsigned i = 0; i < r->n; i++)
		done = done && r->cpus[i].done;
	return done;
}

static void end_pass(struct drain *d)
{
	bool was_to_the_end = d->to_the_end;

	d->in_pass = false;
	d->to_the_end = false;
	if (was_to_the_end)
		d->options.ops->all_read(d->options.ctx);
	/* all_read may have halted us or asked for more. */
	if (d->ticking && !d->halted && !d->in_pass)
		schedule(d, clock_ms_to_tick(d->options.period_ms));
}

static void on_timer(evutil_socket_t fd, short what, void *arg)
{
	struct drain *d = arg;
	bool done;

	(void)fd;
	(void)what;
	if (!d->in_pass) {
		cpu_readers_begin(d->options.readers);
		d->in_pass = true;
	}
	d->options.ops->before_turn(d->options.ctx);
	done = run_turn(d);
	d->options.ops->after_turn(d->options.ctx);
	if (d->halted)
		return;
	if (done)
		end_pass(d);
	else
		schedule(d, 0);
}

int drain_new(const struct drain_options *options, struct drain **ret)
{
	struct drain *d = calloc(1, sizeof(*d));

	if (!d)
		return -ENOMEM;
	d->options = *options;
	d->timer = event_new(options->loop, -1, 0, on_timer, d);
	if (!d->timer) {
		free(d);
		return -ENOMEM;
	}
	*ret = d;
	return 0;
}

struct drain *drain_free(struct drain *d)
{
	if (d) {
		event_free(d->timer);
		free(d);
	}
	return NULL;
}

void drain_start(struct drain *d)
{
	/* With no ring there is nothing to wake up for. */
	d->ticking = d->options.readers->n > 0;
	if (d->ticking)
		schedule(d, clock_ms_to_tick(d->options.period_ms));
}

void drain_all(struct drain *d)
{
	if (d->halted)
		return;
	/* What came in since this pass went by a ring is wanted as well: all of them again. */
	cpu_readers_begin(d->options.readers);
	d->in_pass = true;
	d->to_the_end = true;
	schedule(d, 0);
}

void drain_halt(struct drain *d)
{
	d->halted = true;
	event_del(d->timer);
}
