/* SPDX-License-Identifier: Apache-2.0 */
#include "ebpf/tracks/process_sums.h"

#include <stdlib.h>
#include <string.h>

#include "bpf/process.h"

void process_sums_deinit(struct process_sums *s)
{
	struct process_sum *p, *next;

	HASH_ITER (hh, s->all, p, next) {
		HASH_DEL(s->all, p);
		free(p);
	}
}

void process_sums_begin(struct process_sums *s, uint64_t now)
{
	s->period++;
	s->now = now;
}

static struct process_sum *process_of(struct process_sums *s, uint32_t pid)
{
	struct process_sum *p;

	HASH_FIND(hh, s->all, &pid, sizeof(pid), p);
	if (p || HASH_COUNT(s->all) >= PROCESSES_MAX)
		return p;
	p = calloc(1, sizeof(*p));
	if (!p)
		return NULL;
	p->pid = pid;
	HASH_ADD(hh, s->all, pid, sizeof(p->pid), p);
	return p;
}

/* The time until now, of all that is in one word; in 48 bits. */
static uint64_t time_of_span(uint64_t word, uint64_t now)
{
	int64_t number = (int64_t)word >> SONDA_SPAN_BITS; /* of ends without begins, below 0 */

	return (word + (uint64_t)number * now) & SONDA_SPAN_SUM;
}

struct process_sum *process_sums_add(struct process_sums *s, uint32_t pid, const uint64_t *values)
{
	struct process_sum *p = process_of(s, pid);

	if (!p)
		return NULL;
	if (p->period != s->period) {
		p->period = s->period;
		memset(p->raw, 0, sizeof(p->raw));
	}
	for (uint32_t i = 0; i < s->n_values; i++)
		p->raw[i] += s->is_spans ? time_of_span(values[i], s->now) : values[i];
	return p;
}

/* What is negative is of an element that was read before another one, and made good later. */
static uint64_t grown(const struct process_sums *s, uint64_t raw, uint64_t last)
{
	int unused = s->is_spans ? 64 - SONDA_SPAN_BITS : 0;
	int64_t d = (int64_t)((raw - last) << unused) >> unused;

	return d > 0 ? (uint64_t)d : 0;
}

static void add_up(struct process_sums *s, struct process_sum *p)
{
	p->grew = false;
	for (uint32_t i = 0; i < s->n_values; i++) {
		uint64_t more = grown(s, p->raw[i], p->last[i]);

		p->last[i] += more;
		p->totals[i] += more;
		s->all_totals[i] += more;
		p->grew |= more > 0;
	}
}

void process_sums_end(struct process_sums *s)
{
	struct process_sum *p, *next;

	HASH_ITER (hh, s->all, p, next) {
		if (p->period == s->period) {
			add_up(s, p);
			continue;
		}
		HASH_DEL(s->all, p);
		free(p);
	}
}
