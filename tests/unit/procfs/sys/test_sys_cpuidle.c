/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/procfs/sys_rig.h"

/* cpuidle/stateN of each CPU: the name once, the time at each poll. */

#define CPU "devices/system/cpu/cpu"

static void put_state(unsigned cpu, unsigned i, const char *name, const char *time)
{
	proc_put(name, strlen(name), CPU "%u/cpuidle/state%u/name", cpu, i);
	proc_put(time, strlen(time), CPU "%u/cpuidle/state%u/time", cpu, i);
}

FIXTURE_TEST(each_state_of_each_cpu)
{
	put_state(0, 0, "POLL\n", "7\n");
	put_state(0, 1, "C1 HLT\n", "18446744073709551615\n");
	put_state(1, 0, "POLL\n", "0\n");
	/* In the order of their numbers. */
	for (unsigned i = 0; i < 11; i++)
		put_state(2, i, "S\n", "1\n");
	rig_file(CPU "2/cpuidle/state10/time", "10\n");
	rig_poll(&sys_cpuidle);
	assert_true(rig_has("idle 0 POLL 7") && rig_has("idle 0 C1 HLT 18446744073709551615"));
	assert_true(rig_has("idle 1 POLL 0"));
	assert_int_equal(rig_lines(), 14);
	assert_string_equal(said + strlen(said) - strlen("idle 2 S 1\nidle 2 S 10\n"),
			    "idle 2 S 1\nidle 2 S 10\n");
}

FIXTURE_TEST(cpus_that_are_added)
{
	void *s = rig_open(&sys_cpuidle);

	rig_passes(&sys_cpuidle, s, 1);
	assert_int_equal(rig_lines(), 1); /* that there is no CPU at all */
	assert_non_null(strstr(said, "failed cpuidle "));
	put_state(0, 0, "C1\n", "1\n");
	put_state(9, 0, "C1\n", "5\n");
	rig_pass_later(&sys_cpuidle, s);
	rig_passes(&sys_cpuidle, s, 1);
	assert_true(rig_has("idle 0 C1 1") && rig_has("idle 9 C1 5"));
	rig_close(&sys_cpuidle, s);
}

FIXTURE_TEST(one_without_states_is_no_end)
{
	rig_file(CPU "0/online", "1\n");
	put_state(1, 0, "C1\n", "5\n");
	put_state(2, 0, "C1\n", "x\n");
	rig_poll(&sys_cpuidle);
	assert_true(rig_has("idle 1 C1 5"));
	assert_non_null(strstr(said, "failed cpuidle "));
	assert_int_equal(rig_lines(), 2);
}

/* It is missing whole: half of its states would read as time that was not spent. */
FIXTURE_TEST(a_cpu_goes_offline_meanwhile)
{
	void *s;

	put_state(0, 0, "C1\n", "1\n");
	put_state(1, 0, "C1\n", "2\n");
	put_state(1, 1, "C2\n", "3\n");
	s = rig_open(&sys_cpuidle);
	rig_passes(&sys_cpuidle, s, 1);
	assert_int_equal(rig_lines(), 3);
	rig_file(CPU "1/cpuidle/state1/time", "");
	rig_passes(&sys_cpuidle, s, 2);
	assert_true(rig_has("idle 0 C1 1"));
	assert_null(strstr(said, "idle 1"));
	assert_int_equal(poll_state.fds, 1);
	rig_close(&sys_cpuidle, s);
}

FIXTURE_TEST(a_state_without_a_name_is_no_state)
{
	put_state(0, 0, "\n", "5\n");
	rig_poll(&sys_cpuidle);
	assert_int_equal(rig_lines(), 1);
	assert_non_null(strstr(said, "failed cpuidle "));
}

/* The kernel has no more than 10. */
FIXTURE_TEST(more_states_than_any_kernel_has_are_left_out)
{
	for (unsigned i = 0; i < 40; i++)
		put_state(0, i, "S\n", "1\n");
	rig_poll(&sys_cpuidle);
	assert_int_equal(rig_lines(), 32);
}
