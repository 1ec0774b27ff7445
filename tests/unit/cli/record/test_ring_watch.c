// SPDX-License-Identifier: Apache-2.0
#include "unit/test.h"
#include "cli/record/progress.c"

static char instance[64];

static int setup(void **state)
{
	strcpy(instance, "/tmp/test-instance-XXXXXX");
	return mkdtemp(instance) ? 0 : -1;
}

static int teardown(void **state)
{
	char command[128];

	snprintf(command, sizeof(command), "rm -rf %s", instance);
	return system(command);
}

static void put_cpu(int cpu, const char *stats)
{
	char path[160];
	FILE *f;

	snprintf(path, sizeof(path), "%s/per_cpu", instance);
	mkdir(path, 0700);
	snprintf(path, sizeof(path), "%s/per_cpu/cpu%d", instance, cpu);
	mkdir(path, 0700);
	strcat(path, "/stats");
	f = fopen(path, "w");
	fputs(stats, f);
	fclose(f);
}

#define FIXTURE_TEST(name) TEST_WITH(name, setup, teardown)

FIXTURE_TEST(test_the_name_of_a_sessions_instance)
{
	struct strbuf b = {0};

	ring_watch_path(&b, "/sys/kernel/tracing", 4321, 7);
	assert_string_equal(b.s, "/sys/kernel/tracing/instances/sonda-4321-7");
	strbuf_deinit(&b);
}

/* "commit overrun" ends like "overrun", and must not be taken for it. */
FIXTURE_TEST(test_cpus_are_summed_up)
{
	struct ring_totals t;

	put_cpu(0, "entries: 100\noverrun: 20\ncommit overrun: 3\nbytes: 9999\n"
		   "oldest event ts:  5.1\nnow ts:  6.2\ndropped events: 4\nread events: 1000\n");
	put_cpu(11, "entries: 1\noverrun: 4294967296\ncommit overrun: 0\nbytes: 0\n"
		    "oldest event ts:  0.0\nnow ts:  6.2\ndropped events: 0\nread events: 2");
	assert_int_equal(ring_watch_read(instance, &t), 0);
	assert_int_equal(t.cpus, 2);
	assert_true(t.lost == 27 + 4294967296);
	assert_true(t.events == 1127 + 4294967299);
}

FIXTURE_TEST(test_stats_of_another_shape_count_nothing)
{
	struct ring_totals t;

	put_cpu(0, "");
	put_cpu(1, "entries 5\nxoverrun: 7\n\n: 9\nread events:");
	assert_int_equal(ring_watch_read(instance, &t), 0);
	assert_int_equal(t.events, 0);
	assert_int_equal(t.lost, 0);
}

FIXTURE_TEST(test_no_instance)
{
	struct ring_totals t = {.cpus = 5};

	assert_int_equal(ring_watch_read("/nonexistent", &t), -ENOENT);
	assert_int_equal(ring_watch_read(instance, &t), -ENOENT);
	assert_int_equal(t.cpus, 5);
}
