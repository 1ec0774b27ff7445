/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/procfs/sys_rig.h"
#include "unit/procfs/captured_log.h"

/* /proc/stat: what is chosen, what is not understood, and lines of any length. */

FIXTURE_TEST(each_counter_by_its_number)
{
	static Pb__SysStatsConfig__StatCounters chosen[1];
	static const char *const lines[] = {NULL, "cpu 3 10000000 20000000", "irqs 9", "softirqs 4",
					    "forks 7"};

	rig_file("stat", "cpu  1 2\ncpu3 1 2\nintr 9\nctxt 5\nprocesses 7\nsoftirq 4\n");
	for (int i = 1; i <= 4; i++) {
		chosen[0] = (Pb__SysStatsConfig__StatCounters)i;
		stats.stat_counters = chosen;
		stats.n_stat_counters = 1;
		rig_poll(&sys_stat);
		if (sysconf(_SC_CLK_TCK) == 100)
			assert_true(rig_has(lines[i]));
		assert_int_equal(rig_lines(), 1);
	}
	chosen[0] = (Pb__SysStatsConfig__StatCounters)99;
	rig_poll(&sys_stat);
	assert_int_equal(rig_lines(), 0);
	assert_int_equal(fake.n, 0);
}

FIXTURE_TEST(the_time_of_guests)
{
	static Pb__SysStatsConfig__StatCounters times[] = {
		PB__SYS_STATS_CONFIG__STAT_COUNTERS__STAT_CPU_TIMES};
	const int64_t tick = 1000000000 / sysconf(_SC_CLK_TCK);
	char line[64];

	rig_file("stat", "cpu  1 1 1 1 1 1 1 1 1 1\ncpu0 1 2 3 4 5 6 7 8 9 10\n"
			 "cpu17 1 2 3 4 5 6 7 8 0 0 11\ncpu18 1 2 3 4 5 6 7 8\ncpu4294967295 1 1 1 "
			 "1 1 1 1 1 1 1\n");
	rig_poll(&sys_stat);
	snprintf(line, sizeof(line), "extra stat CPU 0 guest %" PRId64, 9 * tick);
	assert_true(rig_has(line));
	snprintf(line, sizeof(line), "extra stat CPU 0 guest_nice %" PRId64, 10 * tick);
	assert_true(rig_has(line));
	assert_true(rig_has("extra stat CPU 17 guest 0"));
	assert_true(rig_has("extra stat CPU 17 guest_nice 0"));
	/* No column, no counter. A number that is none of a CPU is said. */
	assert_null(strstr(said, "CPU 18"));
	assert_non_null(strstr(said, "failed stat"));
	assert_int_equal(rig_lines(), 4 + 4 + 1);
	/* A list is taken at its word. */
	stats.stat_counters = times;
	stats.n_stat_counters = 1;
	rig_poll(&sys_stat);
	assert_int_equal(rig_lines(), 4);
}

/* Of a kernel to come, say: it is told, and there is no packet at each tick. */
FIXTURE_TEST(without_a_line_that_is_known)
{
	void *s;

	rig_file("stat", "processor0 1 2 3\nirqs 7\n");
	s = rig_open(&sys_stat);
	rig_passes(&sys_stat, s, 5);
	assert_int_equal(rig_lines(), 1);
	assert_non_null(strstr(said, "failed stat"));
	assert_int_equal(fake.n, 1);
	rig_close(&sys_stat, s);
}

FIXTURE_TEST(an_id_listed_twice_is_logged_once)
{
	static Pb__SysStatsConfig__StatCounters chosen[] = {99, 4, 99, 99};

	rig_file("stat", "processes 7\n");
	stats.stat_counters = chosen;
	stats.n_stat_counters = 4;
	capture_log();
	rig_poll(&sys_stat);
	assert_int_equal(captured("stat has no counter with the id 99"), 1);
	assert_true(rig_has("forks 7"));
}

/* Longer than any buffer that it starts with, and the numbers behind its zeros are theirs. */
FIXTURE_TEST(a_line_of_megabytes)
{
	const unsigned n = 900000;
	char *text = malloc(2 * n + 64), *p = text;

	p += sprintf(p, "intr 3");
	for (unsigned i = 0; i < n; i++) {
		memcpy(p, i == 0 || i == 70000 || i == n - 1 ? " 1" : " 0", 2);
		p += 2;
	}
	p += sprintf(p, "\nprocesses 8\n");
	proc_put(text, (size_t)(p - text), "stat");
	free(text);
	rig_poll(&sys_stat);
	assert_true(rig_has("irqs 3") && rig_has("irq 0 1") && rig_has("irq 70000 1"));
	assert_true(rig_has("irq 899999 1") && rig_has("forks 8"));
	assert_int_equal(rig_lines(), 5);
}

FIXTURE_TEST(lines_of_another_format)
{
	rig_file("stat", "cpux 1\ncpu\nintr\nintr many\nintr 5 1 x 2\nsoftirq \nprocesses -1\n"
			 "tomorrow 5 6\nprocesses 8\n");
	rig_poll(&sys_stat);
	assert_true(rig_has("irqs 5") && rig_has("irq 0 1") && rig_has("forks 8"));
	assert_non_null(strstr(said, "failed stat "));
	assert_int_equal(rig_lines(), 4);
	rig_file("stat", "processes 8");
	rig_poll(&sys_stat);
	assert_int_equal(rig_lines(), 1);
	assert_non_null(strstr(said, "failed stat "));
}
