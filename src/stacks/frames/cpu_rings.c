/* SPDX-License-Identifier: Apache-2.0 */
#include "stacks/frames/cpu_rings.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include <event2/event.h>

#include "base/core/mem.h"
#include "stacks/frames/mapping_records.h"

int cpu_rings_init(struct cpu_rings *rings)
{
	long n = sysconf(_SC_NPROCESSORS_CONF);

	rings->n_cpus = (unsigned)MIN(MAX(n, 1), CPU_RINGS_MAX);
	rings->items = calloc(rings->n_cpus, sizeof(*rings->items));
	return rings->items ? 0 : -ENOMEM;
}

void cpu_rings_close(struct cpu_rings *rings)
{
	while (rings->n)
		cpu_ring_close(&rings->items[--rings->n]);
}

void cpu_rings_deinit(struct cpu_rings *rings)
{
	cpu_rings_close(rings);
	free(rings->items);
	*rings = (struct cpu_rings){0};
}

int cpu_rings_add(struct cpu_rings *rings, struct perf_event_attr *attr, unsigned cpu,
		  uint32_t *pages)
{
	int error = rings->n < rings->n_cpus
			    ? cpu_ring_open(&rings->items[rings->n], attr, cpu, pages)
			    : -ENODEV;

	if (error == 0)
		rings->n++;
	return error;
}

int cpu_rings_watch(struct cpu_rings *rings, struct event_base *loop,
		    void (*woke)(int fd, short what, void *ctx), void *ctx)
{
	for (unsigned i = 0; i < rings->n; i++) {
		struct cpu_ring *r = &rings->items[i];

		r->wakeup = event_new(loop, r->fd, EV_READ | EV_PERSIST, woke, ctx);
		if (!r->wakeup)
			return -ENOMEM;
	}
	return 0;
}

int cpu_rings_enable(struct cpu_rings *rings, bool yes)
{
	int failed = 0;

	for (unsigned i = 0; i < rings->n; i++) {
		struct cpu_ring *r = &rings->items[i];
		int error = cpu_ring_enable(r, yes);

		if (error < 0)
			failed = error;
		if (r->wakeup && yes)
			event_add(r->wakeup, NULL);
		else if (r->wakeup)
			event_del(r->wakeup);
	}
	return failed;
}

void cpu_rings_refresh(struct cpu_rings *rings)
{
	for (unsigned i = 0; i < rings->n; i++)
		cpu_ring_refresh(&rings->items[i]);
}

void cpu_rings_release(struct cpu_rings *rings)
{
	for (unsigned i = 0; i < rings->n; i++)
		cpu_ring_release(&rings->items[i]);
}

struct cpu_ring *cpu_rings_find_earliest(const struct cpu_rings *rings, uint64_t until)
{
	struct cpu_ring *best = NULL;

	for (unsigned i = 0; i < rings->n; i++) {
		struct cpu_ring *r = &rings->items[i];

		if (r->has_next && r->time <= until && (!best || r->time < best->time))
			best = r;
	}
	return best;
}

bool cpu_rings_has_exec(const struct cpu_rings *rings, int32_t pid)
{
	bool found = false;

	for (unsigned i = 0; i < rings->n && !found; i++) {
		struct cpu_ring r = rings->items[i];
		const struct perf_event_header *h;

		for (cpu_ring_refresh(&r); !found && (h = cpu_ring_peek(&r)); cpu_ring_consume(&r))
			found = h->type == PERF_RECORD_COMM &&
				h->misc & PERF_RECORD_MISC_COMM_EXEC &&
				(int32_t)((const struct comm_record *)h)->pid == pid;
	}
	return found;
}
