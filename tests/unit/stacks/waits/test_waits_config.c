/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <string.h>

#include "base/core/mem.h"
#include "stacks/waits/waits_config.h"
#include "unit/test.h"

static int read_config(const Pb__WaitsConfig *m, struct waits_config *c, struct err_text *e)
{
	*c = (struct waits_config){0};
	*e = (struct err_text){""};
	return waits_config_read(m, c, e);
}

TEST(without_a_config_all_waits_of_programs_are_wanted)
{
	struct waits_config c;
	struct err_text e;

	assert_int_equal(read_config(NULL, &c, &e), 0);
	assert_int_equal(c.settings.min_ns, 1000000);
	assert_int_equal(c.settings.n_programs, 0);
	assert_int_equal(c.settings.states, 1u << WAIT_INTERRUPTIBLE | 1u << WAIT_UNINTERRUPTIBLE |
						    1u << WAIT_STOPPED | 1u << WAIT_THROTTLED);
	assert_true(c.has_waits && c.has_totals && c.has_user_stacks && !c.kernel_threads);
	assert_int_equal(c.totals_period_ms, 1000);
	waits_config_deinit(&c);
}

TEST(children_are_those_of_processes)
{
	uint32_t pids[] = {7};
	Pb__WaitsConfig m = PB__WAITS_CONFIG__INIT;
	struct waits_config c;
	struct err_text e;

	m.has_follow_children = m.follow_children = true;
	assert_int_equal(read_config(&m, &c, &e), 0);
	assert_false(c.follows_children);
	waits_config_deinit(&c);
	m.n_pids = 1;
	m.pids = pids;
	assert_int_equal(read_config(&m, &c, &e), 0);
	assert_true(c.follows_children && c.n_pids == 1 && c.pids[0] == 7);
	waits_config_deinit(&c);
}

TEST(states_of_the_config_are_those_of_the_programs)
{
	Pb__WaitsConfig__State states[] = {PB__WAITS_CONFIG__STATE__UNINTERRUPTIBLE,
					   PB__WAITS_CONFIG__STATE__THROTTLED};
	Pb__WaitsConfig m = PB__WAITS_CONFIG__INIT;
	struct waits_config c;
	struct err_text e;

	m.n_states = ARRAY_SIZE(states);
	m.states = states;
	assert_int_equal(read_config(&m, &c, &e), 0);
	assert_int_equal(c.settings.states, 1u << WAIT_UNINTERRUPTIBLE | 1u << WAIT_THROTTLED);
	waits_config_deinit(&c);
	states[1] = (Pb__WaitsConfig__State)(WAIT_STATES + 1);
	assert_int_equal(read_config(&m, &c, &e), -EINVAL);
	assert_string_equal(e.text, "waits_config.states: unknown state 7");
	waits_config_deinit(&c);
}

/* The kernel would never find a longer name: the recording would be empty. */
TEST(names_of_programs_that_the_kernel_cuts_are_refused)
{
	char fits[] = "fifteen-letters", longer[] = "sixteen-letters!", *names[] = {fits, longer};
	Pb__WaitsConfig m = PB__WAITS_CONFIG__INIT;
	struct waits_config c;
	struct err_text e;

	m.n_programs = 1;
	m.programs = names;
	assert_int_equal(read_config(&m, &c, &e), 0);
	assert_memory_equal(c.settings.programs[0], fits, sizeof(fits));
	assert_int_equal(c.settings.n_programs, 1);
	waits_config_deinit(&c);
	m.n_programs = 2;
	assert_int_equal(read_config(&m, &c, &e), -EINVAL);
	assert_non_null(strstr(e.text, "sixteen-letters!"));
	waits_config_deinit(&c);
	m.n_programs = PROGRAM_NAMES_MAX + 1;
	assert_int_equal(read_config(&m, &c, &e), -EINVAL);
	waits_config_deinit(&c);
}

TEST(without_single_waits_their_limit_is_0)
{
	Pb__WaitsConfig m = PB__WAITS_CONFIG__INIT;
	struct waits_config c;
	struct err_text e;

	m.no_single_waits = true;
	m.totals_period_ms = 1;
	assert_int_equal(read_config(&m, &c, &e), 0);
	assert_int_equal(c.budget.waits, 0);
	assert_true(c.budget.kernel_stacks > 0);
	assert_int_equal(c.totals_period_ms, 100);
	waits_config_deinit(&c);
}
