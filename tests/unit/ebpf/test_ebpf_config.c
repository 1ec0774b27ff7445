/* SPDX-License-Identifier: Apache-2.0 */
#include "ebpf/ebpf_config.h"
#include "unit/client/read_tracks.h"
#include "unit/fixture.h"
#include "unit/procfs/captured_log.h"

static const struct ebpf_family runq = {.id = PB__EBPF_COUNTERS_CONFIG__FAMILY__RUNQ,
					.name = "runq",
					.by_default = true,
					.outliers = EBPF_OUTLIERS_RUNQ};
static const struct ebpf_family locks = {.id = PB__EBPF_COUNTERS_CONFIG__FAMILY__LOCKS,
					 .name = "locks"};
static const struct ebpf_family *const table[] = {&runq, &locks};

static Pb__EbpfCountersConfig config;
static struct ebpf_config s;
static struct ebpf_errors errors;

SETUP
{
	pb__ebpf_counters_config__init(&config);
}

TEARDOWN
{
	ebpf_config_deinit(&s);
	ebpf_errors_deinit(&errors);
}

static void init(const Pb__EbpfCountersConfig *c)
{
	capture_log();
	assert_int_equal(ebpf_config_init(&s, c, table, 2, &errors), 0);
	assert_int_equal(captured("linux.ebpf_counters"), errors.n);
}

FIXTURE_TEST(without_a_config)
{
	init(NULL);
	assert_int_equal(s.n, 1);
	assert_ptr_equal(s.families[0], &runq);
	assert_int_equal(s.period_ms, 100);
	assert_int_equal(s.top_n, 16);
	assert_int_equal(errors.n, 0);
}

FIXTURE_TEST(families_by_number_each_once)
{
	Pb__EbpfCountersConfig__Family ids[] = {PB__EBPF_COUNTERS_CONFIG__FAMILY__LOCKS,
						PB__EBPF_COUNTERS_CONFIG__FAMILY__RUNQ,
						PB__EBPF_COUNTERS_CONFIG__FAMILY__LOCKS};

	config.families = ids;
	config.n_families = 3;
	init(&config);
	assert_int_equal(s.n, 2);
	assert_ptr_equal(s.families[0], &locks);
}

FIXTURE_TEST(unknown_families_are_reported)
{
	Pb__EbpfCountersConfig__Family ids[] = {
		PB__EBPF_COUNTERS_CONFIG__FAMILY__FAMILY_UNSPECIFIED,
		(Pb__EbpfCountersConfig__Family)77};

	config.families = ids;
	config.n_families = 2;
	init(&config);
	assert_int_equal(s.n, 0);
	assert_int_equal(errors.n, 2);
	assert_string_equal(errors.all[0].what, "FAMILY_UNSPECIFIED");
	assert_string_equal(errors.all[0].reason, "unknown family 0");
	assert_string_equal(errors.all[1].reason, "unknown family 77");
}

FIXTURE_TEST(programs_each_once)
{
	char names[EBPF_PROGRAMS_MAX + 2][4];
	char *programs[EBPF_PROGRAMS_MAX + 2];

	for (int i = 0; i < EBPF_PROGRAMS_MAX + 2; i++) {
		names[i][0] = (char)('a' + (i ? i - 1 : 0)); /* a a b c ... */
		names[i][1] = '\0';
		programs[i] = names[i];
	}
	config.programs = programs;
	config.n_programs = EBPF_PROGRAMS_MAX + 2;
	init(&config);
	assert_int_equal(s.n, 0); /* who asks for programs gets no other families */
	assert_int_equal(s.n_programs, EBPF_PROGRAMS_MAX);
	assert_string_equal(s.programs[1], "b");
	assert_int_equal(errors.n, 1);
}

FIXTURE_TEST(pids_and_limits)
{
	static uint32_t pids[EBPF_PIDS_MAX + 1] = {7};

	config.pids = pids;
	config.n_pids = EBPF_PIDS_MAX + 1;
	config.top_n = 1000000;
	config.max_overhead_percent = -3;
	init(&config);
	assert_int_equal(s.n_pids, EBPF_PIDS_MAX);
	assert_int_equal(s.pids[0], 7);
	assert_int_equal(s.top_n, EBPF_TOP_N_MAX);
	assert_true(s.max_overhead_percent == 0);
	assert_int_equal(errors.n, 1);
}

FIXTURE_TEST(outliers_of_families_that_run)
{
	Pb__EbpfCountersConfig__Outliers outliers = PB__EBPF_COUNTERS_CONFIG__OUTLIERS__INIT;

	config.outliers = &outliers;
	outliers.runq_us = 5000000;
	init(&config);
	assert_int_equal(errors.n, 0);
	assert_true(s.outlier_ns[EBPF_OUTLIERS_RUNQ] == 5000000000u);
	assert_int_equal(s.outliers_per_second, 100);
	ebpf_config_deinit(&s);
	outliers.block_us = 1;
	outliers.max_per_second = 7;
	init(&config);
	assert_int_equal(errors.n, 1);
	assert_string_equal(errors.all[0].reason,
			    "block_us has no effect without the family BLOCK");
	assert_int_equal(s.outliers_per_second, 7);
}

FIXTURE_TEST(control_groups_that_are_not_there)
{
	char *paths[] = {(char *)"/no/such", (char *)"../x"};

	config.cgroups = paths;
	config.n_cgroups = 2;
	init(&config);
	assert_int_equal(ebpf_config_find_cgroups(&s, NULL, "/sys", &errors), 0);
	assert_false(s.has_cgroups);
	capture_log();
	assert_int_equal(ebpf_config_find_cgroups(&s, &config, "/sys", &errors), 0);
	assert_int_equal(captured("linux.ebpf_counters"), 2);
	assert_true(s.has_cgroups); /* and not: no scope, which were all threads */
	assert_int_equal(s.n_cgroups, 0);
	assert_string_equal(errors.all[0].what, "cgroups");
}

/* The report on one path; NULL: it is a control group. */
static const char *report_on_cgroup(const char *sys_root, const char *path)
{
	ebpf_config_deinit(&s);
	ebpf_errors_deinit(&errors);
	s = (struct ebpf_config){0};
	errors = (struct ebpf_errors){0};
	config.cgroups = (char *[]){(char *)path};
	config.n_cgroups = 1;
	assert_int_equal(ebpf_config_find_cgroups(&s, &config, sys_root, &errors), 0);
	assert_int_equal(s.n_cgroups, !errors.n);
	return errors.n ? errors.all[0].reason : NULL;
}

FIXTURE_TEST(paths_of_control_groups)
{
	assert_non_null(strstr(report_on_cgroup("/no/such", "x"), "is mounted below /no/such"));
	if (report_on_cgroup("/sys", "/"))
		skip(); /* no cgroup2 here */
	assert_int_not_equal(s.cgroups[0], 0);
	assert_null(report_on_cgroup("/sys", ""));
	assert_string_equal(report_on_cgroup("/sys", "/nosuch"),
			    "/nosuch: No such file or directory");
	assert_non_null(report_on_cgroup("/sys", "cgroup.procs"));
	assert_string_equal(report_on_cgroup("/sys", "../.."),
			    "'../..' is outside the cgroup2 mount");
	assert_string_equal(report_on_cgroup("/sys", "a/../../x"),
			    "'a/../../x' is outside the cgroup2 mount");
}
