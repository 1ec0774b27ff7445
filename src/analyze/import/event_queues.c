/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/import/event_queues.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/mem.h"

#define CHUNK_EVENTS 510u

struct event_chunk {
	struct event_chunk *next;
	size_t n, cap;
	struct queued_event events[];
};

void event_queues_init(struct event_queues *qs, struct budget *budget)
{
	*qs = (struct event_queues){.budget = budget, .latest = INT64_MIN};
}

static void free_chunk(struct event_queues *qs, struct event_chunk *c)
{
	qs->budget->used -= sizeof(*c) + c->cap * sizeof(c->events[0]);
	free(c);
}

static struct event_chunk *new_chunk(struct event_queues *qs, size_t events)
{
	size_t size = sizeof(struct event_chunk) + events * sizeof(struct queued_event);
	struct event_chunk *c;

	if (!budget_charge(qs->budget, size))
		return NULL;
	c = malloc(size);
	if (!c) {
		qs->budget->error = -ENOMEM;
		return NULL;
	}
	c->next = NULL;
	c->n = 0;
	c->cap = events;
	return c;
}

void event_queues_deinit(struct event_queues *qs)
{
	for (size_t i = 0; i < qs->n; i++)
		for (struct event_chunk *c = qs->queues[i].first, *next; c; c = next) {
			next = c->next;
			free(c);
		}
	free(qs->queues);
	free(qs->heap);
	*qs = (struct event_queues){0};
}

uint32_t event_queues_add_queue(struct event_queues *qs, enum queue_kind kind, uint32_t machine,
				uint32_t cpu)
{
	if (!budget_charge(qs->budget, sizeof(*qs->queues)) ||
	    array_reserve(&qs->queues, &qs->cap, qs->n + 1, sizeof(*qs->queues))) {
		qs->budget->error = qs->budget->error ? qs->budget->error : -ENOMEM;
		return 0;
	}
	qs->queues[qs->n] = (struct event_queue){
		.kind = kind, .machine = machine, .cpu = cpu, .last_ts = INT64_MIN};
	return (uint32_t)qs->n++;
}

void event_queues_add_event(struct event_queues *qs, uint32_t queue, const struct queued_event *e)
{
	struct event_queue *q = &qs->queues[queue];

	if (!q->last || q->last->n == CHUNK_EVENTS) {
		struct event_chunk *c = new_chunk(qs, CHUNK_EVENTS);

		if (!c)
			return;
		if (q->last)
			q->last->next = c;
		else
			q->first = c;
		q->last = c;
	}
	q->last->events[q->last->n++] = *e;
	q->unsorted |= e->ts < q->last_ts;
	q->last_ts = e->ts;
	qs->latest = MAX(qs->latest, e->ts);
}

/* ---- one queue ---- */

/* Returns the end of the ascending run that begins at i. */
static size_t end_of_run(const struct queued_event *e, size_t i, size_t n)
{
	for (i++; i < n && e[i].ts >= e[i - 1].ts; i++)
		;
	return i;
}

static void merge_runs(const struct queued_event *from, size_t a, size_t b, size_t end,
		       struct queued_event *to)
{
	size_t i = a, j = b;

	while (i < b && j < end)
		*to++ = from[j].ts < from[i].ts ? from[j++] : from[i++];
	memcpy(to, from + i, (b - i) * sizeof(*to));
	memcpy(to + (b - i), from + j, (end - j) * sizeof(*to));
}

/* Merges neighbouring runs until one is left. Stable. Returns the array that holds the result.
 * qsort() by time and position makes `sonda report` execute 5 % more instructions on a trace of
 * 256,000 track events of 16 threads, and needs more memory. */
static struct queued_event *event_queues_sort_runs(struct queued_event *e,
						   struct queued_event *spare, size_t n)
{
	for (;;) {
		struct queued_event *swap;
		size_t i = 0;

		while (i < n) {
			size_t b = end_of_run(e, i, n), end;

			if (i == 0 && b == n)
				return e;
			end = b < n ? end_of_run(e, b, n) : n;
			merge_runs(e, i, b, end, spare + i);
			i = end;
		}
		swap = e;
		e = spare;
		spare = swap;
	}
}

static void sort_queue(struct event_queues *qs, struct event_queue *q)
{
	struct event_chunk *all, *spare, *next, *sorted;
	size_t n = 0;

	for (struct event_chunk *c = q->first; c; c = c->next)
		n += c->n;
	all = new_chunk(qs, n);
	spare = all ? new_chunk(qs, n) : NULL;
	if (!spare) {
		if (all)
			free_chunk(qs, all);
		return;
	}
	for (struct event_chunk *c = q->first; c; c = next) {
		memcpy(all->events + all->n, c->events, c->n * sizeof(c->events[0]));
		all->n += c->n;
		next = c->next;
		free_chunk(qs, c);
	}
	sorted = event_queues_sort_runs(all->events, spare->events, n) == all->events ? all : spare;
	free_chunk(qs, sorted == all ? spare : all);
	sorted->n = n;
	q->first = q->last = sorted;
	q->unsorted = false;
}

/* ---- all queues ---- */

static const struct queued_event *first_queued_event(const struct event_queue *q)
{
	return &q->first->events[q->at];
}

static bool is_queue_before(const struct event_queues *qs, uint32_t a, uint32_t b)
{
	int64_t x = first_queued_event(&qs->queues[a])->ts,
		y = first_queued_event(&qs->queues[b])->ts;

	return x != y ? x < y : a < b;
}

static void sift_down(struct event_queues *qs, size_t i)
{
	uint32_t q = qs->heap[i];

	for (size_t child; (child = 2 * i + 1) < qs->n_heap; i = child) {
		if (child + 1 < qs->n_heap &&
		    is_queue_before(qs, qs->heap[child + 1], qs->heap[child]))
			child++;
		if (!is_queue_before(qs, qs->heap[child], q))
			break;
		qs->heap[i] = qs->heap[child];
	}
	qs->heap[i] = q;
}

/* Returns the earliest time in all queues of the heap but the first; INT64_MAX: there are none. */
static int64_t second_earliest_ts(const struct event_queues *qs)
{
	int64_t ts = INT64_MAX;

	for (size_t i = 1; i < 3 && i < qs->n_heap; i++)
		ts = MIN(ts, first_queued_event(&qs->queues[qs->heap[i]])->ts);
	return ts;
}

/* Removes the first event of the queue. Returns false if the queue is then empty. */
static bool event_queues_pop(struct event_queues *qs, struct event_queue *q)
{
	struct event_chunk *c = q->first;

	if (++q->at < c->n)
		return true;
	q->first = c->next;
	q->at = 0;
	if (!q->first)
		q->last = NULL;
	free_chunk(qs, c);
	return q->first;
}

static bool make_heap_of_queues(struct event_queues *qs)
{
	qs->heap = malloc((qs->n + 1) * sizeof(*qs->heap));
	if (!qs->heap) {
		qs->budget->error = -ENOMEM;
		return false;
	}
	for (uint32_t i = 0; i < qs->n; i++) {
		if (qs->queues[i].unsorted)
			sort_queue(qs, &qs->queues[i]);
		if (qs->queues[i].first)
			qs->heap[qs->n_heap++] = i;
	}
	for (size_t i = qs->n_heap / 2; i-- > 0;)
		sift_down(qs, i);
	return true;
}

void event_queues_drain(struct event_queues *qs, queue_release_fn fn, void *ctx)
{
	if (!make_heap_of_queues(qs))
		return;
	while (qs->n_heap && !qs->budget->error) {
		struct event_queue *q = &qs->queues[qs->heap[0]];
		int64_t until = second_earliest_ts(qs);
		bool more;

		do {
			fn(ctx, q, first_queued_event(q));
			qs->n_released++;
			more = event_queues_pop(qs, q);
		} while (more && first_queued_event(q)->ts <= until);
		if (!more)
			qs->heap[0] = qs->heap[--qs->n_heap];
		if (qs->n_heap)
			sift_down(qs, 0);
	}
}
