/* SPDX-License-Identifier: Apache-2.0 */
#include "ebpf/engine/run_cost.h"

#include <unistd.h>

#include "base/core/clock.h"
#include "base/core/mem.h"

#define RUN_COST_EVERY 10 /* periods */

void run_cost_stop(struct run_cost *c, const struct ebpf_object *o)
{
	uint64_t ns, runs, missed;

	if (c->stats_fd < 0)
		return;
	ebpf_object_read_cost(o, &ns, &runs, &missed);
	closep(&c->stats_fd);
	c->stats_fd = -1;
	c->run_ns += ns - c->ns_before;
	c->runs += runs - c->runs_before;
	c->measured_ns +=
		(clock_mono_ns() - c->began) * (uint64_t)MAX(sysconf(_SC_NPROCESSORS_ONLN), 1);
}

void run_cost_end_period(struct run_cost *c, const struct ebpf_object *o)
{
	uint64_t missed;

	run_cost_stop(c, o);
	if (c->period++ % RUN_COST_EVERY)
		return;
	c->stats_fd = ebpf_enable_stats();
	c->began = clock_mono_ns();
	ebpf_object_read_cost(o, &c->ns_before, &c->runs_before, &missed);
}
