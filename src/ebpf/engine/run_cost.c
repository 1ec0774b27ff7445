/* SPDX-License-Identifier: Apache-2.0 */
#include "ebpf/engine/run_cost.h"

#include <unistd.h>

#include "base/core/clock.h"
#include "base/core/mem.h"

#define RUN_COST_EVERY 10 /* periods */

double run_cost_end_measurement(struct run_cost *c, const struct ebpf_object *o)
{
	uint64_t ns, runs, missed, took;

	if (c->stats_fd < 0)
		return 0;
	took = (clock_mono_ns() - c->began) * (uint64_t)MAX(sysconf(_SC_NPROCESSORS_ONLN), 1);
	ebpf_object_read_cost(o, &ns, &runs, &missed);
	closep(&c->stats_fd);
	c->run_ns += ns - c->ns_before;
	c->runs += runs - c->runs_before;
	c->measured_ns += took;
	return 100.0 * (double)(ns - c->ns_before) / (double)MAX(took, 1u);
}

void run_cost_next_period(struct run_cost *c, const struct ebpf_object *o)
{
	(void)run_cost_end_measurement(c, o);
	run_cost_begin_if_due(c, o);
}

void run_cost_begin_if_due(struct run_cost *c, const struct ebpf_object *o)
{
	uint64_t missed;

	if (c->period++ % RUN_COST_EVERY)
		return;
	c->stats_fd = ebpf_enable_stats();
	c->began = clock_mono_ns();
	ebpf_object_read_cost(o, &c->ns_before, &c->runs_before, &missed);
}
