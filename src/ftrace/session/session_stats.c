// SPDX-License-Identifier: Apache-2.0
#include <stdlib.h>
#include <unistd.h>

#include <tracefs.h>

#include "base/core/mem.h"
#include "ftrace/session/probe_profile.h"
#include "ftrace/ring/ring_config.h"
#include "ftrace/session/session_stats.h"

static void read_ring_stats(const struct instance *i, const struct ring_listener *ring,
			    struct ring_stats_all *ret)
{
	_cleanup_(freep) uint32_t *cpus = calloc(ring->n_streams + 1, sizeof(*cpus));

	*ret = (struct ring_stats_all){0};
	if (cpus && ring->ring)
		ring_stats_read(i, cpus, ring_cpus(ring, cpus), ret);
}

/* What is lost at top level is lost to the session as well. */
static void read_stats(const struct ftrace_session *s, struct ring_stats_all *ret)
{
	struct ring_stats_all top;

	read_ring_stats(&s->instance, &s->ring, ret);
	read_ring_stats(&s->top.place, &s->top.ring, &top);
	ring_stats_add(ret, &top);
	ring_stats_deinit(&top);
}

/* Pages of the machine, whatever a sub-buffer is. */
static uint32_t pages_of(uint32_t kb)
{
	uint32_t size = (uint32_t)sysconf(_SC_PAGESIZE);

	return (uint32_t)(((uint64_t)kb * 1024 + size - 1) / size);
}

static void write_packet(struct writer *w, const struct ring_stats_packet *p)
{
	ring_stats_write(p, writer_begin(w));
	writer_end(w);
}

static void tell_preserved(const struct ftrace_session *s, struct writer *w)
{
	const struct ring_stats_more more = {.preserved = true};
	const struct ring_stats_packet p = {.phase = RING_STATS_START, .more = &more};

	if (s->settings.preserve)
		write_packet(w, &p);
}

static uint64_t translated(const struct ftrace_session *s)
{
	uint64_t n = 0;

	for (unsigned i = 0; i < s->n_listeners; i++)
		n += ring_events(s->listeners[i]);
	return n;
}

static void sum_status(const struct ftrace_session *s, uint64_t *counts)
{
	for (unsigned i = 0; i < s->n_listeners; i++)
		for (unsigned c = 0; c < PAGE_STATUS_COUNT; c++)
			counts[c] += s->listeners[i]->translator->status_counts[c];
}

/* How often the session's probes were passed so far. */
static void read_probes(struct ftrace_session *s)
{
	s->more.kprobe_hits = s->more.kprobe_misses = 0;
	probe_profile_read(&s->made);
	for (size_t i = 0; i < s->made.n; i++)
		if (s->made.events[i]->in == MADE_KPROBE) {
			s->more.kprobe_hits += (int64_t)s->made.events[i]->hits;
			s->more.kprobe_misses += (int64_t)s->made.events[i]->misses;
		}
}

/* Grows with whatever FtraceStats would say. */
static uint64_t sum_up(const struct ftrace_session *s, const struct ring_stats_all *now)
{
	const struct reports *r = &s->reports;
	uint64_t status_counts[PAGE_STATUS_COUNT] = {0};
	uint64_t sum = translated(s) + (uint64_t)s->more.kprobe_misses;

	sum_status(s, status_counts);
	for (unsigned i = 0; i < PAGE_STATUS_COUNT; i++)
		sum += status_counts[i];
	for (size_t i = 0; i < now->n; i++)
		sum += now->rings[i].overrun + now->rings[i].commit_overrun +
		       now->rings[i].dropped_events;
	return sum + (uint64_t)tracefs_list_size(r->failed) + r->failed_more;
}

void session_stats_begin(struct session_stats *st, struct ftrace_session *s, struct writer *w)
{
	tell_preserved(s, w);
	read_stats(s, &st->start);
	read_probes(s);
	st->start_more = s->more;
}

void session_stats_write(struct session_stats *st, struct ftrace_session *s, struct writer *w,
			 bool always)
{
	struct ring_stats_packet p = {
		.phase = RING_STATS_START,
		.all = &st->start,
		.reports = &s->reports,
		.more = &st->start_more,
		.asked_pages = pages_of(s->buffer_kb),
	};
	uint64_t status_counts[PAGE_STATUS_COUNT] = {0};
	struct ring_stats_all now;
	uint64_t sum;

	read_stats(s, &now);
	read_probes(s);
	sum = sum_up(s, &now);
	if (!always && st->told && sum == st->told_sum) {
		ring_stats_deinit(&now);
		return;
	}
	/* They may have come since. */
	st->start_more.ksyms_parsed = s->more.ksyms_parsed;
	st->start_more.ksyms_kb = s->more.ksyms_kb;
	if (instance_is_made(&s->instance))
		p.buffer_pages = pages_of(ring_size_kb(&s->instance));
	write_packet(w, &p);

	s->more.probes = &s->made;
	p.phase = RING_STATS_END;
	p.all = &now;
	p.reports = NULL;
	p.more = &s->more;
	sum_status(s, status_counts);
	p.status_counts = status_counts;
	write_packet(w, &p);
	ring_stats_deinit(&now);
	st->told_sum = sum;
	st->told = true;
}

void session_stats_deinit(struct session_stats *st)
{
	ring_stats_deinit(&st->start);
}
