/* SPDX-License-Identifier: Apache-2.0 */
#include "ftrace/ring/ring_poll.h"

#include <assert.h>
#include <errno.h>
#include <event2/event.h>
#include <poll.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/core/clock.h"
#include "base/core/mem.h"
#include "base/event_loop/event_free.h"
#include "base/event_loop/event_timer.h"
#include "ftrace/ring/cpu_reader.h"

/*
 * One timer drives the reading:
 *
 *	          tick, wake-up                a ring is not done yet: continue at once
 *	 waiting ---------> pass: slice, slice, slice -+
 *	    ^                                          | all done
 *	    +------------------------------------------+
 *
 * The pass of a wake-up covers the rings that woke us; other passes cover all rings. A tick during
 * a wake-up's pass extends it to all rings, because wake-ups may never end. A tick comes early if
 * a ring that fills quickly has not woken us.
 *
 * ring_poll_read_all turns the current pass into one to the end, or starts one. If such a pass is
 * already running, another one follows, so that later requests do not delay earlier ones. Each
 * slice starts with the CPU after the last one of the previous slice, so that a busy ring does not
 * starve the others.
 */

/* Interval of the checks for plugged CPUs. */
#define LOOK_NS NS_PER_S

#define EARLY_LEAST_NS (2 * NS_PER_MS)

enum pass { NO_PASS, WAKE_PASS, TICK_PASS, END_PASS };

/*
 * The watermark of one ring: poll(2) of its trace_pipe_raw. An event fires once, and is armed again
 * after its ring has been read, so that a file that stays readable does not keep the loop busy.
 *
 *	         armed -----> watermark reached: wake, off -----> read -----> armed
 *	           ^                                               |
 *	           |                                               | hardly any data
 *	           +---------------- next pass over all <----------+
 */
struct ring_watch {
	struct ring_poll *poll;
	struct cpu_reader *cpu; /* borrowed */
	struct event *event; /* owned; created when first armed */
	bool woke; /* since it was armed */
};

struct ring_poll {
	struct ring_poll_options options;
	struct event *timer; /* owned */
	struct ring_watch *watches; /* owned: one for each CPU of the readers; NULL: never used */
	bool watching;
	uint32_t period_ms; /* 0: stopped */
	uint64_t tick_ns; /* CLOCK_MONOTONIC: when the next tick is due */
	uint64_t looked_ns;
	unsigned next_cpu;
	enum pass pass; /* the current pass */
	bool begun; /* the pass has run a slice */
	uint64_t began_ns; /* CLOCK_BOOTTIME: when the latest pass over all rings began */
	bool again; /* another pass to the end follows */
	bool running; /* on_timer is running */
	bool freed; /* ring_poll_free was called meanwhile: on_timer frees this struct at its end */
	uint64_t passes; /* passes to the end that are over */
};

static void run_slice_at_once(struct ring_poll *d)
{
	event_timer_us(d->timer, 0);
}

/* Sets the timer to the next tick. Without ticks the timer is removed: a pending one would wake the
 * loop every 35 minutes, however late it is due. */
static void run_slice_at_tick(struct ring_poll *d)
{
	uint64_t now = clock_mono_ns();

	if (d->period_ms == RING_POLL_NEVER) {
		event_del(d->timer);
		return;
	}
	event_timer_us(d->timer, d->tick_ns > now ? (d->tick_ns - now) / 1000 + 1 : 0);
}

static void ring_poll_set_tick(struct ring_poll *d)
{
	d->tick_ns = clock_mono_ns() + clock_ms_to_tick(d->period_ms) * NS_PER_MS;
}

/* Makes the next tick early for a ring that fills quickly, because the kernel's wake-up may be late
 * or get lost. If a watermark is used and ticks are rare, a ring that fills at its previous rate is
 * read before it is more than half full. Clears the rings' pass_bytes, from which the rate is
 * computed. */
static void set_early_tick(struct ring_poll *d)
{
	uint64_t now = clock_mono_ns(), half = d->options.readers->pass_max / 2;

	for (unsigned i = 0; i < d->options.readers->n; i++) {
		struct cpu_reader *cpu = &d->options.readers->cpus[i];
		double since = (double)(now - cpu->read_ns);

		if (!cpu->pass_bytes)
			continue;
		since = since * (double)half / cpu->pass_bytes;
		if (cpu->read_ns && since < (double)(d->period_ms * NS_PER_MS))
			d->tick_ns = MIN(d->tick_ns, now + MAX((uint64_t)since, EARLY_LEAST_NS));
		cpu->read_ns = now;
		cpu->pass_bytes = 0;
	}
}

/* Opens the rings of CPUs that were just plugged in. A pass to the end needs their records, too, so
 * it always looks for new CPUs. */
static void open_rings_of_new_cpus(struct ring_poll *d, enum pass pass)
{
	uint64_t now = clock_mono_ns();

	if (pass != END_PASS && now - d->looked_ns < LOOK_NS)
		return;
	d->looked_ns = now;
	cpu_readers_open_new(d->options.readers);
}

/* Starts a pass over all rings. */
static void ring_poll_begin_pass(struct ring_poll *d, enum pass pass)
{
	open_rings_of_new_cpus(d, pass);
	d->began_ns = clock_boot_ns();
	cpu_readers_begin_pass(d->options.readers);
	d->pass = pass;
	d->begun = false;
}

/* ---- the watermark ---- */

static void ring_watch_on_event(evutil_socket_t fd, short what, void *ctx)
{
	struct ring_watch *w = ctx;
	struct ring_poll *d = w->poll;

	w->woke = true;
	/* The current pass covers all rings. */
	if (d->pass != NO_PASS && d->pass != WAKE_PASS)
		return;
	cpu_reader_begin_pass(w->cpu);
	d->pass = WAKE_PASS;
	run_slice_at_once(d);
}

/* Arms the watches of rings. after_all: after a pass over all rings, all of them. Otherwise, after
 * a pass over the rings that woke us, those that had data: with a watermark of at least two
 * sub-buffers (see ring_config.h) a ring that woke us has that many to read. A ring with fewer woke
 * us for another reason: an option of the instance may make poll() always return, or the ring may
 * be gone. It waits for the next pass over all rings. If there is no memory, or a file cannot be
 * polled, the ticks remain. */
static void ring_watch_arm_all(struct ring_poll *d, bool after_all)
{
	const struct cpu_readers *r = d->options.readers;

	for (unsigned i = 0; i < r->n; i++) {
		struct ring_watch *w = &d->watches[i];

		if (!after_all && (!w->woke || w->cpu->pass_bytes < 2 * r->page_size))
			continue;
		if (w->cpu->fd < 0 || w->cpu->absent)
			continue;
		w->woke = false;
		if (!w->event)
			w->event = event_new(d->options.loop, w->cpu->fd, EV_READ,
					     ring_watch_on_event, w);
		if (w->event)
			event_add(w->event, NULL);
	}
}

/* Returns true if poll() of these empty rings waits, which some kernels do not. */
static bool test_ring_watch(const struct cpu_readers *readers)
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

int ring_poll_prepare_watch(struct ring_poll *d)
{
	const struct cpu_readers *r = d->options.readers;

	if (!test_ring_watch(r))
		return -EOPNOTSUPP;
	if (d->watches)
		return 0;
	d->watches = calloc(r->n, sizeof(*d->watches));
	if (!d->watches)
		return -ENOMEM;
	for (unsigned i = 0; i < r->n; i++)
		d->watches[i] = (struct ring_watch){.poll = d, .cpu = &r->cpus[i]};
	return 0;
}

void ring_poll_set_watching(struct ring_poll *d, bool yes)
{
	if (d->watching == yes)
		return;
	d->watching = yes;
	if (yes)
		ring_watch_arm_all(d, true);
	for (unsigned i = 0; !yes && i < d->options.readers->n; i++)
		if (d->watches[i].event)
			event_del(d->watches[i].event);
}

/* ---- passes and slices ---- */

/* Reads up to RING_POLL_SLICE_BYTES from the rings. */
static void ring_poll_run_slice(struct ring_poll *d)
{
	struct cpu_readers *r = d->options.readers;
	uint32_t read, left = RING_POLL_SLICE_BYTES;

	d->begun = true;
	for (unsigned i = 0; i < r->n && left; i++) {
		unsigned cpu = (d->next_cpu + i) % r->n;
		struct page_encode_target *to;
		unsigned n;

		if (r->cpus[cpu].done)
			continue;
		n = d->options.ops->targets(d->options.ctx, cpu, &to);
		read = cpu_reader_read_pages(r, &r->cpus[cpu], to, n,
					     MIN(left, RING_POLL_CPU_BYTES), d->pass == END_PASS);
		left -= MIN(left, read);
		if (!left)
			d->next_cpu = (cpu + 1) % r->n;
	}
}

static bool all_cpus_are_done(const struct cpu_readers *r)
{
	for (unsigned i = 0; i < r->n; i++)
		if (!r->cpus[i].done)
			return false;
	return true;
}

static void ring_poll_end_pass(struct ring_poll *d)
{
	enum pass pass = d->pass;

	d->pass = NO_PASS;
	if (pass != WAKE_PASS)
		ring_poll_set_tick(d);
	if (d->watching) {
		ring_watch_arm_all(d, pass != WAKE_PASS);
		set_early_tick(d);
	}
	if (d->again) {
		d->again = false;
		ring_poll_begin_pass(d, END_PASS);
	}
	if (pass == END_PASS) {
		d->passes++;
		d->options.ops->pass_over(d->options.ctx);
	}
}

static void ring_poll_run(struct ring_poll *d)
{
	const struct ring_poll_ops *ops = d->options.ops;

	if (d->pass == NO_PASS || (d->pass == WAKE_PASS && clock_mono_ns() >= d->tick_ns))
		ring_poll_begin_pass(d, TICK_PASS);
	ops->before_slice(d->options.ctx);
	if (d->pass == NO_PASS)
		return;
	ring_poll_run_slice(d);
	ops->after_slice(d->options.ctx);
	/* A callback may have stopped the poll, closed the rings, or requested a new pass. */
	if (d->pass != NO_PASS && all_cpus_are_done(d->options.readers))
		ring_poll_end_pass(d);
}

static void ring_poll_on_timer(evutil_socket_t fd, short what, void *arg)
{
	struct ring_poll *d = arg;

	d->running = true;
	ring_poll_run(d);
	d->running = false;
	if (d->freed)
		free(d);
	else if (d->pass != NO_PASS)
		run_slice_at_once(d);
	else if (d->period_ms)
		run_slice_at_tick(d);
}

int ring_poll_new(const struct ring_poll_options *options, struct ring_poll **ret)
{
	struct ring_poll *d = calloc(1, sizeof(*d));

	if (!d)
		return -ENOMEM;
	d->options = *options;
	d->timer = event_new(options->loop, -1, 0, ring_poll_on_timer, d);
	if (!d->timer) {
		free(d);
		return -ENOMEM;
	}
	if (options->runs_last)
		event_priority_set(d->timer, event_base_get_npriorities(options->loop) - 1);
	*ret = d;
	return 0;
}

struct ring_poll *ring_poll_free(struct ring_poll *d)
{
	if (!d)
		return NULL;
	ring_poll_set_period(d, 0);
	event_freep(&d->timer);
	for (unsigned i = 0; d->watches && i < d->options.readers->n; i++)
		event_freep(&d->watches[i].event);
	free(d->watches);
	d->watches = NULL;
	if (d->running)
		d->freed = true;
	else
		free(d);
	return NULL;
}

void ring_poll_set_period(struct ring_poll *d, uint32_t ms)
{
	if (d->period_ms == ms)
		return;
	d->period_ms = ms;
	if (!ms) {
		d->pass = NO_PASS;
		d->again = false;
		event_del(d->timer);
		ring_poll_set_watching(d, false);
		return;
	}
	ring_poll_set_tick(d);
	if (d->pass == NO_PASS && !d->running)
		run_slice_at_tick(d);
}

uint64_t ring_poll_read_all(struct ring_poll *d)
{
	assert(d->period_ms);
	if (d->pass == END_PASS && !d->begun)
		return d->passes + 1;
	if (d->pass == END_PASS) {
		d->again = true;
		return d->passes + 2;
	}
	/* Records that arrived after a tick's pass had read a ring are needed as well: read all
	 * again. */
	ring_poll_begin_pass(d, END_PASS);
	if (!d->running)
		run_slice_at_once(d);
	return d->passes + 1;
}

uint64_t ring_poll_count_finished_passes(const struct ring_poll *d)
{
	return d->passes;
}

uint64_t ring_poll_pass_start(const struct ring_poll *d)
{
	return d->pass == NO_PASS || d->pass == WAKE_PASS ? UINT64_MAX : d->began_ns;
}

bool ring_poll_pass_is_done(const struct ring_poll *d, uint64_t *ret_boot_ns)
{
	if (ring_poll_pass_start(d) == UINT64_MAX || !all_cpus_are_done(d->options.readers))
		return false;
	*ret_boot_ns = d->began_ns;
	return true;
}
