/* SPDX-License-Identifier: Apache-2.0 */
#include "stacks/waits/waits_config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ebpf/engine/process_selection.h"

#define MIN_US 1000
#define TOTALS_PERIOD_MS 1000
#define TOTALS_PERIOD_MS_LEAST 100
#define WAITS_PER_SECOND 400
#define KERNEL_STACKS_PER_SECOND 400
#define USER_STACKS_PER_SECOND 500

static int read_states(const Pb__WaitsConfig *m, struct waits_config *c, struct err_text *e)
{
	const uint32_t usual = 1u << WAIT_INTERRUPTIBLE | 1u << WAIT_UNINTERRUPTIBLE |
			       1u << WAIT_STOPPED | 1u << WAIT_THROTTLED;

	c->settings.states = m->n_states ? 0 : usual;
	for (size_t i = 0; i < m->n_states; i++) {
		/* The numbers of the config are those of enum wait_state, + 1. */
		if (m->states[i] < 1 || m->states[i] > (int)WAIT_STATES)
			return err_set(e, -EINVAL, "waits_config.states: unknown state %d",
				       m->states[i]);
		c->settings.states |= 1u << (m->states[i] - 1);
	}
	return 0;
}

static uint32_t value_or_default(uint32_t value, uint32_t usual)
{
	return value ? value : usual;
}

int waits_config_read(const Pb__WaitsConfig *m, struct waits_config *c, struct err_text *e)
{
	static const Pb__WaitsConfig none = PB__WAITS_CONFIG__INIT;
	int r;

	m = m ? m : &none;
	c->has_waits = !m->no_single_waits;
	c->has_totals = !m->no_totals;
	c->has_user_stacks = !m->no_user_stacks;
	c->by_thread = m->totals_by_thread;
	c->kernel_threads = m->kernel_threads;
	c->settings.min_ns = value_or_default(m->min_us, MIN_US) * 1000ull;
	c->totals_period_ms = value_or_default(m->totals_period_ms, TOTALS_PERIOD_MS);
	if (c->totals_period_ms < TOTALS_PERIOD_MS_LEAST)
		c->totals_period_ms = TOTALS_PERIOD_MS_LEAST;
	c->max_overhead_percent = m->max_overhead_percent;
	c->budget.waits = c->has_waits ? value_or_default(m->max_per_second, WAITS_PER_SECOND) : 0;
	c->budget.kernel_stacks =
		value_or_default(m->kernel_stacks_per_second, KERNEL_STACKS_PER_SECOND);
	c->budget.user_stacks = value_or_default(m->user_stacks_per_second, USER_STACKS_PER_SECOND);
	r = read_states(m, c, e);
	if (r == 0)
		r = process_selection_copy_programs("waits_config.programs", m->programs,
						    m->n_programs, c->settings.programs,
						    PROGRAM_NAMES_MAX, &c->settings.n_programs, e);
	c->follows_children = m->n_pids && m->follow_children;
	return r ? r
		 : process_selection_copy_pids("waits_config.pids", m->pids, m->n_pids,
					       WAITS_PIDS_MAX, &c->pids, &c->n_pids, e);
}

void waits_config_deinit(struct waits_config *c)
{
	subject_ids_deinit(&c->subject);
	free(c->pids);
	c->pids = NULL;
}
