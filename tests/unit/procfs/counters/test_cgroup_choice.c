/* SPDX-License-Identifier: Apache-2.0 */

#include "procfs/counters/cgroup_choice.h"
#include "unit/fixture.h"
#include "unit/procfs/captured_log.h"

static struct cgroup_choice choice;
static Pb__CgroupStatsConfig c;

SETUP
{
	pb__cgroup_stats_config__init(&c);
}

TEARDOWN
{
	cgroup_choice_deinit(&choice);
}

static struct track_spec spec_of(const char *shown)
{
	struct track_spec spec;

	assert_true(cgroup_choice_select_counter(&choice, shown, &spec));
	return spec;
}

FIXTURE_TEST(roots_are_paths_or_patterns_of_levels)
{
	char *roots[] = {(char[]){"/system.slice/"}, (char[]){"user.slice/*/x-[0-9].scope"},
			 (char[]){"a\\x2db"}};

	c.cgroups = roots;
	c.n_cgroups = 3;
	assert_int_equal(cgroup_choice_init(&choice, &c), 0);
	assert_int_equal(choice.levels, 3);
	assert_true(cgroup_choice_is_root(&choice, "system.slice"));
	assert_false(cgroup_choice_is_root(&choice, ""));
	assert_false(cgroup_choice_is_root(&choice, "system.slice/x"));
	assert_true(cgroup_choice_is_root(&choice, "user.slice/u/x-3.scope"));
	assert_false(cgroup_choice_is_root(&choice, "user.slice/u/v/x-3.scope"));
	assert_true(cgroup_choice_is_root(&choice, "a\\x2db"));
}

FIXTURE_TEST(kinds_of_counters)
{
	char *all[] = {(char[]){"*"}};

	c.counters = all;
	c.n_counters = 1;
	assert_int_equal(cgroup_choice_init(&choice, &c), 0);
	assert_int_equal(spec_of("cpu.stat usage_usec").unit, TRACK_UNIT_NS);
	assert_int_equal(spec_of("cpu.stat usage_usec").unit_multiplier, 1000);
	assert_true(spec_of("cpu.stat usage_usec").total);
	assert_int_equal(spec_of("cpu.stat nr_throttled").unit, TRACK_UNIT_COUNT);
	assert_int_equal(spec_of("memory.current").unit, TRACK_UNIT_BYTES);
	assert_false(spec_of("memory.current").total);
	assert_int_equal(spec_of("memory.stat anon").unit, TRACK_UNIT_BYTES);
	assert_int_equal(spec_of("memory.stat pgfault").unit, TRACK_UNIT_COUNT);
	assert_int_equal(spec_of("memory.stat pagetables").unit, TRACK_UNIT_BYTES);
	assert_int_equal(spec_of("memory.numa_stat anon N0").unit, TRACK_UNIT_BYTES);
	assert_int_equal(spec_of("memory.numa_stat workingset_refault_anon N0").unit,
			 TRACK_UNIT_COUNT);
	assert_true(spec_of("memory.events oom").total);
	assert_false(spec_of("cgroup.events populated").total);
	assert_int_equal(spec_of("io.stat 8:0 wbytes").unit, TRACK_UNIT_BYTES);
	assert_int_equal(spec_of("io.stat 8:0 wios").unit, TRACK_UNIT_COUNT);
	assert_int_equal(spec_of("pids.current").unit, TRACK_UNIT_COUNT);
	assert_false(spec_of("pids.current").total);
	assert_string_equal(spec_of("io.pressure some avg10").unit_name, "%");
	assert_int_equal(spec_of("io.pressure some total").unit_multiplier, 1000);
}

FIXTURE_TEST(files_do_not_lead_out_of_the_group)
{
	char *files[] = {(char[]){"../../etc/shadow"}, (char[]){"/etc/shadow"}, (char[]){".."},
			 (char[]){"memory.peak"}};

	c.files = files;
	c.n_files = 4;
	capture_log();
	assert_int_equal(cgroup_choice_init(&choice, &c), 0);
	assert_int_equal(
		captured("files: '../../etc/shadow' is not the name of a control group file"), 1);
	assert_int_equal(choice.files.n, 1);
	assert_string_equal(choice.files.all[0], "memory.peak");
}

/* If no entry of a list can be used, nothing is selected, and not the default. */
FIXTURE_TEST(lists_without_a_usable_entry_select_nothing)
{
	char *longer = malloc(COUNTER_PATTERN_SIZE + 1), *up = (char[]){".."};
	struct track_spec spec;

	memset(longer, 'x', COUNTER_PATTERN_SIZE);
	longer[COUNTER_PATTERN_SIZE] = '\0';
	c.cgroups = c.counters = &longer;
	c.files = &up;
	c.n_cgroups = c.n_counters = c.n_files = 1;
	capture_log();
	assert_int_equal(cgroup_choice_init(&choice, &c), 0);
	assert_int_equal(captured("1 of 1 patterns are ignored"), 2);
	assert_non_null(strstr(log_text, "linux.cgroup_stats: cgroups"));
	assert_non_null(strstr(log_text, "linux.cgroup_stats: counters"));
	assert_false(cgroup_choice_is_root(&choice, ""));
	assert_int_equal(choice.files.n, 0);
	assert_false(cgroup_choice_select_counter(&choice, "memory.current", &spec));
	free(longer);
}
