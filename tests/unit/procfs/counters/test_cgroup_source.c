/* SPDX-License-Identifier: Apache-2.0 */
#include <malloc.h>

#include "unit/fixture.h"
#include "procfs/data_sources.h"
#include "procfs/counters/counter_files.h"
#include "unit/procfs/counter_rig.h"
#include "unit/procfs/captured_log.h"

/*
 * A machine with systemd and version 2 alone, one where it stands beside version 1, a container, an
 * old kernel: the texts of each.
 */

static Pb__CgroupStatsConfig stats;

SETUP
{
	rig_setup(&cgroup_stats_data_source);
	pb__cgroup_stats_config__init(&stats);
	stats.period_ms = 1; /* the least there is */
	config.cgroup_stats_config = &stats;
}

TEARDOWN
{
	rig_teardown();
}

#define ROOT "fs/cgroup/"
#define UNIT ROOT "system.slice/nginx.service/"

static void put_systemd(void)
{
	put(ROOT "cgroup.controllers", "cpuset cpu io memory pids\n");
	put(ROOT "cpu.stat", "usage_usec 9000\nuser_usec 5000\nsystem_usec 4000\n"
			     "core_sched.force_idle_usec 0\nnr_periods 0\nnr_throttled 0\n");
	put(ROOT "system.slice/cpu.stat", "usage_usec 70\nuser_usec 50\nsystem_usec 20\n");
	put(ROOT "system.slice/memory.current", "8192\n");
	put(UNIT "cpu.stat", "usage_usec 7\nuser_usec 5\nsystem_usec 2\nnr_throttled 1\n"
			     "throttled_usec 300\nnr_bursts 0\n");
	put(UNIT "memory.current", "4096\n");
	put(UNIT "memory.stat", "anon 1024\nfile 2048\nkernel 512\nslab 99\npgmajfault 3\n"
				"workingset_refault_anon 0\nworkingset_refault_file 8\n");
	put(UNIT "memory.events", "low 0\nhigh 0\nmax 2\noom 1\noom_kill 1\noom_group_kill 0\n");
	put(UNIT "io.stat", "254:0 rbytes=512 wbytes=1024 rios=1 wios=2 dbytes=0 dios=0\n"
			    "8:0 \n");
	put(UNIT "pids.current", "5\n");
	put(UNIT "cpu.pressure", "some avg10=1.50 avg60=0.00 avg300=0.00 total=77\n"
				 "full avg10=0.00 avg60=0.00 avg300=0.00 total=7\n");
	put(UNIT "irq.pressure", "full avg10=0.00 avg60=0.00 avg300=0.00 total=9\n");
	put(UNIT "cgroup.procs", "1\n2\n");
}

#define NGINX "cgroups/system.slice/nginx.service/"

FIXTURE_TEST(each_number_has_its_track)
{
	put_systemd();
	create_and_start();
	assert_int_equal(read_last("cgroups/cpu.stat usage_usec"), 9000);
	assert_int_equal(read_last("cgroups/system.slice/memory.current"), 8192);
	assert_int_equal(read_last(NGINX "cpu.stat throttled_usec"), 300);
	assert_int_equal(read_last(NGINX "memory.current"), 4096);
	assert_int_equal(read_last(NGINX "memory.stat anon"), 1024);
	assert_int_equal(read_last(NGINX "memory.stat workingset_refault_file"), 8);
	assert_int_equal(read_last(NGINX "memory.events oom_kill"), 1);
	assert_int_equal(read_last(NGINX "io.stat 254:0 rbytes"), 512);
	assert_int_equal(read_last(NGINX "io.stat 254:0 wios"), 2);
	assert_int_equal(read_last(NGINX "pids.current"), 5);
	assert_int_equal(read_last(NGINX "cpu.pressure some total"), 77);
	assert_int_equal(read_last(NGINX "irq.pressure full total"), 9);
	/* By default these are not among them. */
	assert_null(read_find(NGINX "memory.stat slab"));
	assert_null(read_find(NGINX "cpu.stat nr_bursts"));
	assert_null(read_find(NGINX "cpu.pressure some avg10"));
	assert_null(read_find("cgroups/failed reads"));
}

FIXTURE_TEST(all_on_request)
{
	char *all[] = {(char[]){"*"}},
	     *files[] = {(char[]){"memory.stat"}, (char[]){"cpu.pressure"}};

	put_systemd();
	stats.counters = all;
	stats.n_counters = 1;
	stats.files = files;
	stats.n_files = 2;
	create_and_start();
	assert_int_equal(read_last(NGINX "memory.stat slab"), 99);
	assert_true(read_last_double(NGINX "cpu.pressure some avg10") == 1.5);
	assert_null(read_find(NGINX "memory.current"));
}

FIXTURE_TEST(only_changed_values_are_written_again)
{
	size_t n;

	put_systemd();
	create_and_start();
	n = rd.n_values;
	run_pass();
	assert_int_equal(rd.n_values, n);
	put(UNIT "memory.current", "12288\n");
	run_pass();
	assert_int_equal(rd.n_values, n + 1);
	assert_int_equal(read_last(NGINX "memory.current"), 12288);
	make_pass_new();
	flush_source(3);
	assert_int_equal(rd.n_values, n + 1 + n - 1); /* all but the one that is new */
	make_pass_new();
	stop_source();
	assert_int_equal(rd.n_values, 2 * n);
}

FIXTURE_TEST(a_clear_describes_all_again)
{
	put_systemd();
	create_and_start();
	source->clear(instance);
	run_pass();
	assert_int_equal(rd.states, 2);
	assert_int_equal(read_count(NGINX "memory.current"), 2);
	assert_int_equal(read_find(NGINX "memory.current")->described, 2);
}

FIXTURE_TEST(groups_appear_and_disappear)
{
	put_systemd();
	create_and_start();
	put(ROOT "user.slice/x/pids.current", "1\n");
	run_pass();
	assert_int_equal(read_last("cgroups/user.slice/x/pids.current"), 1);
	proc_remove("fs/cgroup/system.slice/nginx.service");
	run_pass();
	assert_int_equal(read_last(NGINX "memory.current"), 0); /* a level */
	assert_int_equal(read_last(NGINX "cpu.stat usage_usec"), 7); /* a total */
	assert_int_equal(rig_poll()->errors.failures, 0);
	put(UNIT "memory.current", "1\n");
	run_pass();
	assert_int_equal(read_last(NGINX "memory.current"), 1);
}

FIXTURE_TEST(files_that_appear_later)
{
	put_systemd();
	create_and_start();
	put(ROOT "system.slice/pids.current", "6\n"); /* the controller was enabled */
	for (unsigned i = 0; i < COUNTER_FILE_RETRY; i++)
		run_pass();
	assert_int_equal(read_last("cgroups/system.slice/pids.current"), 6);
}

FIXTURE_TEST(an_invalid_number_loses_that_counter_only)
{
	put_systemd();
	put(UNIT "memory.current", "");
	put(UNIT "pids.current", "12");
	put(UNIT "memory.stat", "anon 1024\nfile 2,048\nfile_dirty 6\nkernel 51");
	put(UNIT "cpu.pressure", "\xff\xfe some=1");
	create_and_start();
	assert_null(read_find(NGINX "memory.current"));
	assert_null(read_find(NGINX "pids.current"));
	assert_int_equal(read_last(NGINX "memory.stat anon"), 1024);
	assert_int_equal(read_last(NGINX "memory.stat file_dirty"), 6);
	assert_null(read_find(NGINX "memory.stat kernel"));
	assert_int_equal(read_last(NGINX "irq.pressure full total"), 9);
	assert_int_equal(read_last("cgroups/failed reads"), 3);
	run_pass();
	assert_int_equal(read_last("cgroups/failed reads"), 6);
}

FIXTURE_TEST(version_2_beside_version_1)
{
	put("fs/cgroup/cpu/cpu.stat", "nr_periods 0\n");
	put("fs/cgroup/unified/cgroup.controllers", "\n");
	put("fs/cgroup/unified/cpu.stat", "usage_usec 4\nuser_usec 1\nsystem_usec 3\n");
	put("fs/cgroup/unified/init.scope/cpu.stat", "usage_usec 3\n");
	create_and_start();
	assert_int_equal(read_last("cgroups/cpu.stat usage_usec"), 4);
	assert_int_equal(read_last("cgroups/init.scope/cpu.stat usage_usec"), 3);
}

FIXTURE_TEST(a_machine_without_version_2)
{
	put("fs/cgroup/cpu/cpu.stat", "nr_periods 0\n");
	create_and_start();
	run_pass();
	flush_source(1);
	stop_source();
	assert_int_equal(fake.n, 0); /* never an empty packet */
}

FIXTURE_TEST(an_old_kernel_without_pressure)
{
	/* 4.19: cpu.stat without usage at the root, no kernel in memory.stat, io.stat of 4 keys. */
	put(ROOT "cgroup.controllers", "io memory pids\n");
	put(ROOT "job/cpu.stat", "usage_usec 7\nuser_usec 5\nsystem_usec 2\n");
	put(ROOT "job/memory.stat", "anon 1\nfile 2\nkernel_stack 3\nworkingset_refault 4\n");
	put(ROOT "job/io.stat", "8:16 rbytes=1 wbytes=2 rios=3 wios=4\n");
	create_and_start();
	assert_int_equal(read_last("cgroups/job/io.stat 8:16 wbytes"), 2);
	assert_int_equal(read_last("cgroups/job/memory.stat file"), 2);
	assert_int_equal(rig_poll()->errors.failures, 0);
}

FIXTURE_TEST(any_period_is_harmless)
{
	static const uint32_t periods[] = {0, 1, UINT32_MAX};
	static const uint32_t become[] = {1000, COUNTER_PERIOD_MIN_MS, UINT32_MAX};

	put_systemd();
	for (size_t i = 0; i < 3; i++) {
		stats.period_ms = periods[i];
		create_and_start();
		assert_int_equal(rig_poll()->period_ms, become[i]);
		assert_int_equal(read_last(NGINX "memory.current"), 4096);
		stop_source();
		source->destroy(instance);
		instance = NULL;
		fake_reset();
	}
}

FIXTURE_TEST(many_passes_take_no_memory)
{
	char text[32];
	size_t cap;

	put_systemd();
	create_and_start();
	run_pass();
	cap = rig_poll()->text.cap;
	for (unsigned i = 0; i < 50; i++) {
		snprintf(text, sizeof(text), "%u\n", i);
		put(UNIT "memory.current", text);
		run_pass();
	}
	assert_int_equal(rig_poll()->text.cap, cap);
	assert_int_equal(tracks_counts(rig_poll()->tracks).refused, 0);
	assert_true(rig_poll()->fds < 30);
}

FIXTURE_TEST(without_a_config_too)
{
	put_systemd();
	config.cgroup_stats_config = NULL;
	create_and_start();
	assert_int_equal(read_last(NGINX "memory.current"), 4096);
}

FIXTURE_TEST(names_without_a_match_are_logged)
{
	char *counters[] = {(char[]){"cpu.stat nope"}, (char[]){"cpu.stat *_usec"}};

	put_systemd();
	stats.counters = counters;
	stats.n_counters = 2;
	capture_log();
	create_and_start();
	run_pass();
	assert_int_equal(captured("counters: nothing matches 'cpu.stat nope' so far\n"), 1);
	/* Nobody asked for their files. */
	assert_null(strstr(log_text, "no group has"));
	assert_int_equal(read_last(NGINX "cpu.stat throttled_usec"), 300);
}

/* An hour at ten a second, with a group that comes and one that goes every ten seconds. */
FIXTURE_TEST(memory_does_not_grow_with_the_passes)
{
	size_t used = 0;
	unsigned fds;

	put_systemd();
	create_and_start();
	for (unsigned i = 0; i < 36000; i++) {
		char path[64];

		if (i % 100 == 0) {
			proc_remove(ROOT "run-%u.scope", i / 100 - 1);
			snprintf(path, sizeof(path), ROOT "run-%u.scope/memory.current", i / 100);
			put(path, "4096\n");
		}
		pass_at_once();
		if (i == 1900) {
			used = mallinfo2().uordblks;
			fds = rig_poll()->fds;
		}
	}
	assert_true(rig_poll()->pass > 36000);
	assert_int_equal(rig_poll()->errors.failures, 0);
	assert_int_equal(rig_poll()->fds, fds);
	assert_true(mallinfo2().uordblks <= used + 4096);
	/* The last one is recorded as the first one was. */
	source->clear(instance);
	run_pass();
	assert_int_equal(read_last("cgroups/run-359.scope/memory.current"), 4096);
	assert_int_equal(tracks_counts(rig_poll()->tracks).refused, 0);
}
