/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/holes.h"

#include <stdlib.h>
#include <string.h>

#include "base/core/mem.h"
#include "gen/fields.h"
#include "wire/pb_read.h"

/* One CPU of one sequence. */
struct hole_cpu {
	uint32_t sequence, cpu;
	uint64_t end_ns; /* end of the last bundle with events */
	bool after_gap; /* packets of the sequence are missing since that bundle */
	bool is_over; /* its session has ended, and no bundle of the CPU has come since */
	uint64_t unnumbered; /* holes whose number of events a later range may supply */
};

void holes_deinit(struct holes *h)
{
	free(h->cpus);
	*h = (struct holes){0};
}

static struct hole_cpu *get_hole_cpu(struct holes *h, uint32_t sequence, uint32_t cpu)
{
	for (size_t i = 0; i < h->n_cpus; i++)
		if (h->cpus[i].sequence == sequence && h->cpus[i].cpu == cpu)
			return &h->cpus[i];
	if (h->n_cpus >= HOLES_MAX_CPUS ||
	    array_reserve(&h->cpus, &h->cap_cpus, h->n_cpus + 1, sizeof(*h->cpus)))
		return NULL;
	h->cpus[h->n_cpus] = (struct hole_cpu){.sequence = sequence, .cpu = cpu};
	return &h->cpus[h->n_cpus++];
}

void holes_add_gap(struct holes *h, uint32_t sequence)
{
	for (size_t i = 0; i < h->n_cpus; i++)
		if (h->cpus[i].sequence == sequence)
			h->cpus[i].after_gap = true;
}

void holes_begin_session(struct holes *h)
{
	for (size_t i = 0; i < h->n_cpus; i++)
		h->cpus[i].is_over = h->cpus[i].end_ns != 0;
}

static uint64_t hole_length_ns(const struct hole *h)
{
	return h->to_ns - h->from_ns;
}

static bool hole_is_after(const struct hole *a, const struct hole *b)
{
	return a->cpu != b->cpu ? a->cpu > b->cpu : a->from_ns > b->from_ns;
}

/* Removes the shortest hole of the list if it is shorter than the new one; otherwise returns
 * false. */
static bool make_room_for_hole(struct holes *h, const struct hole *new)
{
	size_t shortest = 0;

	for (size_t i = 1; i < h->n; i++)
		if (hole_length_ns(&h->list[i]) < hole_length_ns(&h->list[shortest]))
			shortest = i;
	if (hole_length_ns(&h->list[shortest]) >= hole_length_ns(new))
		return false;
	h->n--;
	memmove(&h->list[shortest], &h->list[shortest + 1], (h->n - shortest) * sizeof(h->list[0]));
	return true;
}

static void holes_add(struct holes *h, const struct hole *new)
{
	size_t at;

	h->total++;
	if (h->n == HOLES_MAX && !make_room_for_hole(h, new))
		return;
	for (at = h->n; at > 0 && hole_is_after(&h->list[at - 1], new); at--)
		;
	memmove(&h->list[at + 1], &h->list[at], (h->n - at) * sizeof(h->list[0]));
	h->list[at] = *new;
	h->n++;
}

/* Removes the holes without a number of events that the range covers, because the range replaces
 * them. All such holes of the CPU leave the total. */
static void remove_unnumbered(struct holes *h, struct hole_cpu *c, const struct hole *range)
{
	size_t kept = 0;

	h->total -= c->unnumbered;
	c->unnumbered = 0;
	for (size_t i = 0; i < h->n; i++) {
		const struct hole *o = &h->list[i];

		if (o->cpu != range->cpu || o->events || o->on_the_way || o->between_sessions ||
		    o->from_ns < range->from_ns || o->to_ns > range->to_ns)
			h->list[kept++] = *o;
	}
	h->n = kept;
}

bool holes_add_range(struct holes *h, uint32_t sequence, uint32_t cpu, const struct pb_field *range)
{
	struct hole_cpu *c = get_hole_cpu(h, sequence, cpu);
	struct hole new = {.cpu = cpu, .sequence = sequence};

	if (!pb_read(range, PB_TO(PB_FTRACE_EVENT_BUNDLE_LOST_RANGE_BEGIN_TIMESTAMP, &new.from_ns),
		     PB_TO(PB_FTRACE_EVENT_BUNDLE_LOST_RANGE_END_TIMESTAMP, &new.to_ns),
		     PB_TO(PB_FTRACE_EVENT_BUNDLE_LOST_RANGE_EVENT_COUNT, &new.events)) ||
	    new.to_ns < new.from_ns)
		return false;
	if (c && c->unnumbered)
		remove_unnumbered(h, c, &new);
	h->counted += MIN(new.events, INT64_MAX - h->counted);
	holes_add(h, &new);
	return true;
}

/* Adds the hole before the first bundle of a CPU in a session, if the CPU had one in an earlier
 * session. */
static void add_hole_between_sessions(struct holes *h, uint32_t sequence,
				      const struct bundle_span *b)
{
	struct hole gap = {.cpu = b->cpu,
			   .sequence = sequence,
			   .between_sessions = true,
			   .to_ns = b->first_ns};

	if (!b->first_ns)
		return;
	for (size_t i = 0; i < h->n_cpus; i++)
		if (h->cpus[i].cpu == b->cpu && h->cpus[i].is_over) {
			gap.from_ns = MAX(gap.from_ns, h->cpus[i].end_ns);
			h->cpus[i].is_over = false;
		}
	if (gap.from_ns && gap.from_ns < gap.to_ns)
		holes_add(h, &gap);
}

void holes_add_bundle(struct holes *h, uint32_t sequence, const struct bundle_span *b)
{
	struct hole_cpu *c = get_hole_cpu(h, sequence, b->cpu);
	struct hole new = {.cpu = b->cpu, .sequence = sequence};

	if (!c)
		return;
	add_hole_between_sessions(h, sequence, b);
	new.from_ns = MAX(b->previous_end_ns, c->end_ns);
	new.to_ns = MAX(b->first_ns, new.from_ns);
	new.events = b->lost_count;
	if (c->after_gap && c->end_ns && b->previous_end_ns > c->end_ns) {
		new.on_the_way = true;
		new.from_ns = c->end_ns;
		new.events = 0;
		holes_add(h, &new);
	} else if (b->lost && !b->has_ranges) {
		holes_add(h, &new);
		c->unnumbered += !new.events;
	}
	if (b->last_ns)
		c->end_ns = b->last_ns;
	c->after_gap = false;
}
