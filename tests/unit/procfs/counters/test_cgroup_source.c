/* SPDX-License-Identifier: Apache-2.0 */
#include <malloc.h>

#include "procfs/counters/cgroup_tree.h"
#include "procfs/counters/counter_files.h"
#include "procfs/data_sources.h"
#include "unit/fixture.h"
#include "unit/procfs/captured_log.h"
#include "unit/procfs/counter_rig.h"

/* Control groups of machines with version 2 alone or beside version 1, and of old kernels. */

static Pb__CgroupStatsConfig stats;

SETUP
{
	rig_setup(&cgroup_stats_data_source);
	pb__cgroup_stats_config__init(&stats);
	stats.period_ms = 1; /* raised to the minimum */
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

/* ---- texts ---- */

static const struct {
	const char *text;
	const char *name; /* of a counter, behind that of the file; NULL: there is none */
	double value;
	bool fails;
} texts[] = {
	{"4096\n", "", 4096, false},
	{"max\n", NULL, 0, false},
	{"anon 4096\nlimit max\nfile 1\n", " file", 1, false},
	{"254:0 rbytes=1 wbytes=2\n8:0 \n7:1\n259:3 rios=9\n", " 259:3 rios", 9, false},
	{"anon N0=1 N1=2\n", " anon N1", 2, false},
	{"mlx4_0 hca_handle=2 hca_object=max\n", " mlx4_0 hca_handle", 2, false},
	{"some avg10=0.25 avg60=0.00 avg300=1.10 total=77\n", " some avg300", 1.1, false},
	{"\n\n \n", NULL, 0, false},
	{"anon 4096 kB\nfile 5\n", " file", 5, true},
	{"anon x\nfile 5\n", " file", 5, true},
	{"8:0 rbytes=x\nfile 5\n", " file", 5, true},
	{"8:0 rbytes= wbytes=1\n", NULL, 0, true},
	{"8:0 =1\n", NULL, 0, true},
	{"8:0 rbytes=1 wbytes\n", " 8:0 rbytes", 1, true},
};

/* An invalid line is skipped alone. */
FIXTURE_TEST(texts_of_every_format)
{
	char *all[] = {(char[]){"*"}}, *files[] = {(char[]){"text"}};
	char longer[400];

	stats.counters = all;
	stats.files = files;
	stats.n_counters = stats.n_files = 1;
	for (int keyed = 0; keyed < 2; keyed++) {
		/* A name that is too long. */
		snprintf(longer, sizeof(longer), keyed ? "x %0300d=1\n" : "%0300d a=1\n", 0);
		put(ROOT "cgroup.controllers", "\n");
		put(ROOT "g/text", longer);
		create_and_start();
		assert_int_equal(read_last("cgroups/failed reads"), 1);
		stop_source();
		source->destroy(instance);
		instance = NULL;
		fake_reset();
	}
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		char path[128];

		put(ROOT "cgroup.controllers", "\n");
		put(ROOT "g/text", texts[i].text);
		create_and_start();
		if (texts[i].name) {
			const struct read_value *v;

			snprintf(path, sizeof(path), "cgroups/g/text%s", texts[i].name);
			v = read_nth(path, 0);
			assert_true((v->is_double ? v->d : (double)v->i) == texts[i].value);
		} else {
			assert_null(read_find("cgroups/g/text"));
		}
		assert_int_equal(read_find("cgroups/failed reads") != NULL, texts[i].fails);
		stop_source();
		source->destroy(instance);
		instance = NULL;
		fake_reset();
	}
}

/* ---- which groups ---- */

static void put_group(const char *path)
{
	char file[300];

	snprintf(file, sizeof(file), ROOT "%s/pids.current", path);
	put(file, "1\n");
}

static bool has_group(const char *path)
{
	char track[300];

	snprintf(track, sizeof(track), "cgroups/%s/pids.current", path);
	return read_find(track);
}

FIXTURE_TEST(subtrees_to_a_depth)
{
	char *roots[] = {(char[]){"a/*"}};

	put(ROOT "cgroup.controllers", "pids\n");
	put_group("a");
	put_group("a/b");
	put_group("a/b/c");
	put_group("a/b/c/d");
	put_group("x/y");
	stats.cgroups = roots;
	stats.n_cgroups = 1;
	stats.has_max_depth = true;
	stats.max_depth = 1;
	create_and_start();
	assert_true(has_group("a/b") && has_group("a/b/c"));
	assert_false(has_group("a") || has_group("a/b/c/d") || has_group("x/y"));
}

FIXTURE_TEST(names_of_any_bytes_and_depth)
{
	char path[256] = "d";

	for (unsigned i = 1; i < CGROUP_DEPTH_MAX + 3; i++)
		strcat(path, "/d");
	put(ROOT "cgroup.controllers", "pids\n");
	put_group(path);
	put_group("a\nb\x1b[2J");
	put_group("..a");
	put_group("x\\x2dy@\xff");
	put_group("memory.current ");
	create_and_start();
	assert_true(has_group("a?b?[2J") && has_group("..a") && has_group("x\\x2dy@?") &&
		    has_group("memory.current "));
	assert_false(has_group(path)); /* deeper than the limit */
	assert_int_equal(read_last("cgroups/failed reads"), 1);
}

/* Removed groups are dropped in pieces; a group that takes over a name has tracks of its own. */
FIXTURE_TEST(many_groups_end_at_once)
{
	uint32_t tracks;
	char path[64];

	put(ROOT "cgroup.controllers", "pids\n");
	for (unsigned i = 0; i < 5 * CGROUP_DROP_PIECE; i++) {
		snprintf(path, sizeof(path), "a/%u/b", i);
		put_group(path);
	}
	create_and_start();
	assert_true(has_group("a/79/b"));
	tracks = tracks_counts(rig_poll()->tracks).tracks;
	proc_remove(ROOT "a");
	run_pass();
	assert_true(tracks_counts(rig_poll()->tracks).tracks <= tracks - 3 * 5 * CGROUP_DROP_PIECE);
	assert_int_equal(rig_poll()->errors.failures, 0);
	put_group("a/79/b");
	put_group("spare");
	proc_remove(ROOT "a");
	put_group("a/79/b");
	run_pass();
	assert_int_equal(read_last("cgroups/a/79/b/pids.current"), 1);
	/* The end of the source in the middle of it. */
	proc_remove(ROOT "a");
	source->flush(instance, 1);
}

/* A group with the name of a removed one is another group. */
FIXTURE_TEST(a_group_that_takes_over_a_name)
{
	char from[128], to[128];
	uint32_t tracks;

	put(ROOT "cgroup.controllers", "pids\n");
	put_group("a/b");
	create_and_start();
	tracks = tracks_counts(rig_poll()->tracks).tracks;
	put_group("spare/b");
	proc_remove(ROOT "a");
	snprintf(from, sizeof(from), "%s/" ROOT "spare", proc_root);
	snprintf(to, sizeof(to), "%s/" ROOT "a", proc_root);
	assert_int_equal(rename(from, to), 0); /* another inode */
	run_pass();
	assert_int_equal(tracks_counts(rig_poll()->tracks).tracks, tracks);
	assert_int_equal(read_find("cgroups/a/b/pids.current")->described, 2);
	assert_int_equal(rig_poll()->errors.failures, 0);
}

/* ---- machines ---- */

FIXTURE_TEST(a_machine_without_version_2)
{
	put("fs/cgroup/cpu/cpu.stat", "nr_periods 0\n");
	create_and_start();
	run_pass();
	flush_source(1);
	stop_source();
	assert_int_equal(fake.n, 0); /* never an empty packet */
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
	/* The files were not listed. */
	assert_null(strstr(log_text, "no group has"));
	assert_int_equal(read_last(NGINX "cpu.stat throttled_usec"), 300);
}

/* An hour at ten a second, with a group that appears and one that disappears every ten seconds. */
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
