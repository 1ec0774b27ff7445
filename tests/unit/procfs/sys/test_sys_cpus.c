/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/fixture.h"
#include "unit/procfs/fake_proc.h"
#include "procfs/sys/sys_cpu.c"

SETUP
{
	proc_new();
}

TEARDOWN
{
	proc_remove_all();
}

static void put_cpu(const char *name)
{
	proc_put("", 0, SYS_CPUS "/%s/uevent", name);
}

/* Numbers may have gaps, and other folders begin with the same letters. */
FIXTURE_TEST(up_to_the_highest)
{
	assert_int_equal(sys_cpus_count(proc_root), 0);
	put_cpu("cpuidle");
	put_cpu("cpufreq");
	assert_int_equal(sys_cpus_count(proc_root), 0);
	put_cpu("cpu0");
	assert_int_equal(sys_cpus_count(proc_root), 1);
	put_cpu("cpu12");
	put_cpu("cpu3");
	assert_int_equal(sys_cpus_count(proc_root), 13);
}

FIXTURE_TEST(more_are_looked_for_now_and_then)
{
	struct sys_cpus c = {0};
	uint64_t now = 1000;
	uint32_t n = 0;

	put_cpu("cpu1");
	assert_true(sys_cpus_have_grown(&c, proc_root, now, &n));
	assert_int_equal(n, 2);
	c.n = n;
	put_cpu("cpu2");
	assert_false(sys_cpus_have_grown(&c, proc_root, now + SYS_CPUS_LOOK_NS - 1, &n));
	now += SYS_CPUS_LOOK_NS;
	assert_true(sys_cpus_have_grown(&c, proc_root, now, &n));
	assert_int_equal(n, 3);
	/* The owner had no room for it: it is told again. */
	now += SYS_CPUS_LOOK_NS;
	assert_true(sys_cpus_have_grown(&c, proc_root, now, &n));
	c.n = n;
	now += SYS_CPUS_LOOK_NS;
	assert_false(sys_cpus_have_grown(&c, proc_root, now, &n));
}

FIXTURE_TEST(invalid_cpu_ids)
{
	put_cpu("cpu4000000000");
	put_cpu("cpu8192");
	assert_int_equal(sys_cpus_count(proc_root), 0);
	put_cpu("cpu8191");
	assert_int_equal(sys_cpus_count(proc_root), SYS_CPUS_MAX);
	assert_int_equal(sys_cpus_count("/nonexistent"), 0);
}
