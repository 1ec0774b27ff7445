/* SPDX-License-Identifier: Apache-2.0 */
/*
 *	rings ---> ring "/sys/kernel/tracing/instances/sonda-1-1/per_cpu"
 *	             |  cpu_readers, ring_poll       the kernel's files; when they are read
 *	             +- listener of session 1        page encoder, streams by CPU
 *	             +- listener of session 2
 *
 * Callbacks may attach, detach, open and close listeners of the ring that calls them. So
 * call_each_listener keeps its position in the ring, where ring_detach advances it. If the last
 * listener is closed meanwhile, call_each_listener frees the struct.
 */
#include "ftrace/ring/ring.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/core/clock.h"
#include "base/core/mem.h"
#include "ftrace/ring/cpu_reader.h"
#include "ftrace/ring/ring_poll.h"

_Static_assert(RING_PERIOD_NEVER == RING_POLL_NEVER, "a listener without ticks makes none");

struct ring {
	LIST_ENTRY(ring) link;
	char *path; /* owned: the directory per_cpu */
	struct ring_page_layout layout;
	struct cpu_readers readers;
	struct ring_poll *poll; /* owned */
	enum ftrace_clock clock;
	int clock_fd; /* owned: stats of a CPU, if the clock is not boot; else -1 */
	TAILQ_HEAD(, ring_listener) attached;
	struct ring_listener *next; /* next listener of call_each_listener() */
	bool in_callback;
	unsigned n_open; /* listeners, attached or not */
	struct page_encode_target *to; /* owned: room for all targets */
	size_t to_cap;
};

/* All rings of this process. */
static LIST_HEAD(, ring) rings = LIST_HEAD_INITIALIZER(rings);

/* ---- clock ---- */

/* Returns "now ts: 1424.957748" in ns; 0 if the clock does not count time. */
static uint64_t parse_clock_now(const char *stats)
{
	const char *at = strstr(stats, "now ts:");
	unsigned long long s, us;

	if (!at || sscanf(at, "now ts: %llu.%llu", &s, &us) != 2)
		return 0;
	return s * NS_PER_S + us * 1000;
}

/* Returns the present time on both clocks; zeros if the trace clock is the boot clock. */
static struct clock_sync read_clock_sync(const struct ring *r)
{
	struct clock_sync sync = {.clock = r->clock};
	char text[512];
	ssize_t n;

	if (r->clock == FTRACE_CLOCK_BOOT)
		return sync;
	sync.boot_ns = clock_boot_ns();
	n = r->clock_fd < 0 ? -1 : pread(r->clock_fd, text, sizeof(text) - 1, 0);
	if (n > 0) {
		text[n] = '\0';
		sync.ftrace_ns = parse_clock_now(text);
	}
	return sync;
}

/* ---- callbacks of the poll ---- */

/* Calls fn for each attached listener, and possibly for one that is attached meanwhile. Frees r if
 * no listener is open afterwards. */
static void call_each_listener(struct ring *r, void (*fn)(struct ring_listener *l))
{
	struct ring_listener *l;

	assert(!r->in_callback);
	r->in_callback = true;
	for (l = TAILQ_FIRST(&r->attached); l; l = r->next) {
		r->next = TAILQ_NEXT(l, link);
		fn(l);
	}
	r->in_callback = false;
	if (!r->n_open)
		free(r);
}

static void call_before_slice(struct ring_listener *l)
{
	l->ops->before_slice(l);
}

static void call_after_slice(struct ring_listener *l)
{
	l->ops->after_slice(l);
}

static void ring_before_slice(void *ctx)
{
	struct ring *r = ctx;
	struct clock_sync sync = read_clock_sync(r);
	struct ring_listener *l;

	TAILQ_FOREACH (l, &r->attached, link) {
		l->encoder->sync = sync;
		l->pass_began = ring_poll_pass_start(r->poll);
	}
	call_each_listener(r, call_before_slice);
}

static void ring_after_slice(void *ctx)
{
	struct ring *r = ctx;
	struct ring_listener *l;
	uint64_t until;

	if (ring_poll_pass_is_done(r->poll, &until))
		TAILQ_FOREACH (l, &r->attached, link)
			l->read_until = until;
	call_each_listener(r, call_after_slice);
}

static unsigned list_encode_targets(void *ctx, unsigned cpu, struct page_encode_target **ret)
{
	struct ring *r = ctx;
	struct ring_listener *l;
	unsigned n = 0;

	TAILQ_FOREACH (l, &r->attached, link)
		r->to[n++] = (struct page_encode_target){.t = l->encoder, .cpu = &l->streams[cpu]};
	*ret = r->to;
	return n;
}

static void notify_all_read(struct ring_listener *l)
{
	if (!l->reading_all || l->read_all_pass > ring_poll_count_finished_passes(l->ring->poll))
		return;
	l->reading_all = false;
	l->ops->all_read(l);
}

static void on_pass_end(void *ctx)
{
	call_each_listener(ctx, notify_all_read);
}

static const struct ring_poll_ops ring_poll_ops = {
	.before_slice = ring_before_slice,
	.targets = list_encode_targets,
	.after_slice = ring_after_slice,
	.pass_over = on_pass_end,
};

/* ---- opening ---- */

/* Closes all of the kernel's files, because the instance may be removed next. Frees r, unless
 * call_each_listener() is running, which then frees it. */
static void ring_release(struct ring *r)
{
	LIST_REMOVE(r, link);
	r->poll = ring_poll_free(r->poll);
	cpu_readers_close(&r->readers);
	if (r->clock_fd >= 0)
		close(r->clock_fd);
	free(r->to);
	free(r->path);
	if (!r->in_callback)
		free(r);
}

/* Opens the rings of an instance. Takes ownership of path, even on failure. Returns 0 or -errno
 * with e. */
static int ring_new(char *path, struct event_base *loop, const char *sys_root,
		    const struct instance *i, bool runs_last, struct ring **ret, struct err_text *e)
{
	_cleanup_(freep) char *layout = NULL;
	struct ring *r = calloc(1, sizeof(*r));
	int error = 0;

	if (!r) {
		free(path);
		return err_set(e, -ENOMEM, "out of memory");
	}
	r->path = path;
	r->clock_fd = -1;
	TAILQ_INIT(&r->attached);
	LIST_INSERT_HEAD(&rings, r, link);
	layout = instance_read(i, "events/header_page");
	if (!layout || ring_page_layout_parse(layout, &r->layout))
		error = err_set(e, -EPROTO, "cannot read events/header_page in tracefs");
	if (!error)
		error = cpu_readers_open(&r->readers, i, sys_root, &r->layout, instance_ring_kb(i),
					 e);
	if (!error && ring_poll_new(
			      &(struct ring_poll_options){
				      .loop = loop,
				      .readers = &r->readers,
				      .ops = &ring_poll_ops,
				      .ctx = r,
				      .runs_last = runs_last,
			      },
			      &r->poll))
		error = err_set(e, -ENOMEM, "out of memory");
	if (error) {
		ring_release(r);
		return error;
	}
	r->clock = instance_clock(i);
	if (r->clock != FTRACE_CLOCK_BOOT)
		r->clock_fd = instance_open(i, "per_cpu/cpu0/stats", O_RDONLY);
	*ret = r;
	return 0;
}

static struct ring *ring_find(const char *path)
{
	struct ring *r;

	LIST_FOREACH (r, &rings, link)
		if (!strcmp(r->path, path))
			return r;
	return NULL;
}

static int ring_join(struct ring *r, struct ring_listener *l)
{
	struct cpu_stream *streams = calloc(r->readers.n, sizeof(*streams));

	if (!streams || array_reserve(&r->to, &r->to_cap, r->n_open + 1, sizeof(*r->to))) {
		free(streams);
		return -ENOMEM;
	}
	for (unsigned i = 0; i < r->readers.n; i++)
		streams[i].cpu = r->readers.cpus[i].cpu;
	l->ring = r;
	l->streams = streams;
	l->n_streams = r->readers.n;
	l->attached = l->reading_all = false;
	r->n_open++;
	return 0;
}

int ring_open(struct ring_listener *l, struct event_base *loop, const char *sys_root,
	      const struct instance *i, struct err_text *e)
{
	char *path = instance_make_path(i, "per_cpu");
	struct ring *r;
	int error;

	if (!path)
		return err_set(e, -ENOMEM, "out of memory");
	r = ring_find(path);
	if (r) {
		free(path);
	} else {
		error = ring_new(path, loop, sys_root, i, l->runs_last, &r, e);
		if (error)
			return error;
	}
	error = ring_join(r, l);
	if (error) {
		if (!r->n_open)
			ring_release(r);
		return err_set(e, error, "out of memory");
	}
	return 0;
}

void ring_close(struct ring_listener *l)
{
	struct ring *r = l->ring;

	if (!r)
		return;
	ring_detach(l);
	l->ring = NULL;
	free(l->streams);
	l->streams = NULL;
	l->n_streams = 0;
	if (!--r->n_open)
		ring_release(r);
}

/* ---- listening ---- */

/* Sets the poll's period and watermark for the attached listeners. */
static void update_poll_period(struct ring *r)
{
	struct ring_listener *l;
	bool watch = false;
	uint32_t ms = 0;

	TAILQ_FOREACH (l, &r->attached, link) {
		if (l->held)
			continue;
		ms = ms ? MIN(ms, l->period_ms) : l->period_ms;
		watch = watch || l->watch;
	}
	ring_poll_set_period(r->poll, ms);
	ring_poll_set_watching(r->poll, watch);
}

void ring_attach(struct ring_listener *l)
{
	struct ring *r = l->ring;

	if (l->attached)
		return;
	assert(l->encoder && l->encoder->layout.size == r->layout.size);
	l->attached = true;
	l->encoder->sync = read_clock_sync(r);
	TAILQ_INSERT_TAIL(&r->attached, l, link);
	update_poll_period(r);
}

void ring_set_hold(struct ring_listener *l, bool hold)
{
	l->held = hold;
	if (l->attached)
		update_poll_period(l->ring);
}

void ring_detach(struct ring_listener *l)
{
	struct ring *r = l->ring;

	if (!l->attached)
		return;
	if (r->next == l)
		r->next = TAILQ_NEXT(l, link);
	TAILQ_REMOVE(&r->attached, l, link);
	l->attached = l->reading_all = false;
	update_poll_period(r);
}

void ring_read_all(struct ring_listener *l)
{
	assert(l->attached && !l->held && !l->reading_all);
	l->reading_all = true;
	l->read_all_pass = ring_poll_read_all(l->ring->poll);
}

int ring_prepare_watch(struct ring_listener *l)
{
	return ring_poll_prepare_watch(l->ring->poll);
}

const struct ring_page_layout *ring_layout(const struct ring *r)
{
	return &r->layout;
}

int ring_read_stats(const struct ring_listener *l, struct ring_stats_all *ret)
{
	struct cpu_readers *r = &l->ring->readers;
	struct ring_stats_all all = {.rings = calloc(r->n + 1, sizeof(*all.rings))};

	if (!all.rings)
		return -ENOMEM;
	for (unsigned i = 0; i < r->n; i++)
		if (r->cpus[i].fd >= 0 && !cpu_reader_read_stats(r, &r->cpus[i], &all.rings[all.n]))
			all.n++;
	*ret = all;
	return 0;
}

uint64_t ring_event_count(const struct ring_listener *l)
{
	uint64_t n = 0;

	for (unsigned i = 0; i < l->n_streams; i++)
		n += l->streams[i].events;
	return n;
}
