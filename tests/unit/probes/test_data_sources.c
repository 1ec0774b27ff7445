/* SPDX-License-Identifier: Apache-2.0 */
#include "probes/data_sources.h"
#include "unit/test.h"

TEST(every_row_is_whole)
{
	assert_non_null(probes_data_sources[0]);
	for (const struct data_source *const *s = probes_data_sources; *s; s++) {
		assert_non_null((*s)->name);
		assert_non_null((*s)->create);
		assert_non_null((*s)->start);
		assert_non_null((*s)->flush);
		assert_non_null((*s)->stop);
		assert_non_null((*s)->destroy);
		assert_int_equal((*s)->handles_incremental_state_clear, (*s)->clear != NULL);
	}
}

/* The list that users know, in its order: docs/ has each one, Perfetto has those that are not
 * marked. Those of Android, and one that traces the tracer, are noise on this system. Those that
 * tell of changes only tell all again after a clear of the incremental state. */
static const struct {
	const char *name;
	bool clears;
	bool describes; /* what else its descriptor has */
} known[] = {
	{"linux.ftrace", false, true},
	{"linux.frozen_ftrace", false, false},
	{"linux.process_stats", true, false},
	{"linux.sys_stats", true, false},
	{"linux.system_info", false, false},
	{"linux.sysfs_power", false, false},
	{"linux.systemd_journald", false, false},
	{"linux.cgroup_stats", true, false}, /* ours */
	{"linux.network_stats", true, false}, /* ours */
	{"linux.ebpf_counters", true, false}, /* ours */
	{"linux.perf", true, false},
	{"linux.waits", true, false}, /* ours */
	{"linux.cgroup_members", true, false}, /* ours */
	{"linux.syscalls", true, false}, /* ours */
};

TEST(these_and_no_other)
{
	size_t n = 0;

	for (; probes_data_sources[n]; n++) {
		const struct data_source *s = probes_data_sources[n];

		assert_true(n < ARRAY_SIZE(known));
		assert_string_equal(s->name, known[n].name);
		assert_int_equal(s->handles_incremental_state_clear, known[n].clears);
		assert_int_equal(s->describe != NULL, known[n].describes);
	}
	assert_int_equal(n, ARRAY_SIZE(known));
}
