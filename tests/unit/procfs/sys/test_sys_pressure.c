/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/procfs/sys_rig.h"

/* /proc/pressure: some, full, and interrupts, which only newer kernels have. */

#define AVG "avg10=0.12 avg60=3.00 avg300=0.00 "

static void put_all(void)
{
	rig_file("pressure/cpu", "some " AVG "total=1\nfull " AVG "total=2\n");
	rig_file("pressure/io", "some " AVG "total=3\nfull " AVG "total=4\n");
	rig_file("pressure/memory", "some " AVG "total=5\nfull " AVG "total=6\n");
}

FIXTURE_TEST(each_resource_has_its_numbers)
{
	put_all();
	rig_file("pressure/irq", "full " AVG "total=7\n");
	rig_poll(&sys_psi);
	for (unsigned i = 1; i <= 6; i++) {
		char line[32];

		snprintf(line, sizeof(line), "psi %u %u000", i, i);
		assert_true(rig_has(line));
	}
	assert_true(rig_has("extra psi psi.irq.full 7000"));
	assert_int_equal(rig_lines(), 7);
}

/* Linux before 6.1 has none of interrupts, before 5.13 no "full" of CPUs: that is no failure. */
FIXTURE_TEST(an_older_kernel)
{
	put_all();
	rig_file("pressure/cpu", "some " AVG "total=9\n");
	rig_poll(&sys_psi);
	assert_true(rig_has("psi 1 9000") && rig_has("psi 6 6000"));
	assert_int_equal(rig_lines(), 5);
}

FIXTURE_TEST(lines_that_are_not_understood)
{
	put_all();
	rig_file("pressure/cpu", "some " AVG "total=5\nhalf total=1\n");
	rig_file("pressure/io", "some " AVG "\nfull total=7\n");
	rig_file("pressure/memory", "some total=-1\nfull total=8\n");
	rig_file("pressure/irq", "some total=3\nfull total=18446744073709551615\n");
	rig_poll(&sys_psi);
	assert_true(rig_has("psi 1 5000"));
	assert_true(rig_has("psi 4 7000") && rig_has("psi 6 8000"));
	/* io and memory have a line of another format each. */
	assert_int_equal(rig_lines(), 6);
}

/* Microseconds that are no nanoseconds of 64 bits any more: the largest, not what is left. */
FIXTURE_TEST(a_total_that_does_not_fit)
{
	put_all();
	rig_file("pressure/cpu", "some total=18446744073709551\n");
	rig_file("pressure/io", "some total=18446744073709552\n");
	rig_file("pressure/irq", "full total=18446744073709552\n");
	rig_poll(&sys_psi);
	assert_true(rig_has("psi 1 18446744073709551000"));
	assert_true(rig_has("psi 3 18446744073709551615"));
	assert_true(rig_has("extra psi psi.irq.full 9223372036854775807"));
}

/* With psi=0 on its command line the kernel has the files, and reading them fails. */
FIXTURE_TEST(without_any)
{
	void *s = rig_open(&sys_psi);

	rig_passes(&sys_psi, s, 1);
	assert_int_equal(rig_lines(), 3);
	rig_passes(&sys_psi, s, 20);
	assert_int_equal(fake.n, 0);
	rig_close(&sys_psi, s);
}
