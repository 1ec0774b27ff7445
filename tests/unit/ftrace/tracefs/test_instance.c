/* SPDX-License-Identifier: Apache-2.0 */
/* What plain files can show; the kernel's part is in tests/root/test_ftrace.sh. */

#include "ftrace/tracefs/override.h"
#include "unit/ftrace/fake_tracefs.h"

DIR_TEST(a_dir_that_is_no_tracefs)
{
	struct instance i;
	struct err_text e;
	char want[300];

	assert_int_equal(instance_make(&i, fake_root, 5, &e), -ENOENT);
	assert_false(instance_is_made(&i));
	assert_non_null(strstr(e.text, fake_root));
	assert_int_equal(instance_remove(&i), 0);

	/* mkdir works, but no files appear: nothing is left of it. */
	fake_text("instances/other/x", "");
	assert_int_equal(instance_make(&i, fake_root, 5, &e), -ENOENT);
	assert_non_null(strstr(e.text, "tracing_on"));
	snprintf(want, sizeof(want), "%s/instances/sonda-%d-5", fake_root, (int)getpid());
	assert_int_equal(access(want, F_OK), -1);
}

TEST(paths_too_long)
{
	char root[5000];
	struct instance i;
	struct err_text e;

	memset(root, 'x', sizeof(root) - 1);
	root[0] = '/';
	root[sizeof(root) - 1] = '\0';
	assert_int_equal(instance_make(&i, root, 5, &e), -ENAMETOOLONG);
}

DIR_TEST(clock_that_is_on)
{
	static const struct {
		const char *text;
		enum ftrace_clock clock;
	} clocks[] = {
		{"local global [boot] mono\n", FTRACE_CLOCK_BOOT},
		{"local [global] boot\n", FTRACE_CLOCK_GLOBAL},
		{"[local] global\n", FTRACE_CLOCK_LOCAL},
		{"local [mono_raw]\n", FTRACE_CLOCK_MONO_RAW},
		{"local [x86-tsc]\n", FTRACE_CLOCK_UNKNOWN},
		{"", FTRACE_CLOCK_UNKNOWN},
	};
	struct instance i;

	for (unsigned n = 0; n < ARRAY_SIZE(clocks); n++) {
		fake_text("instances/x/trace_clock", clocks[n].text);
		i = fake_instance();
		assert_int_equal(instance_clock(&i), clocks[n].clock);
		fake_instance_free(&i);
	}
}

DIR_TEST(which_clock_is_wanted)
{
	struct instance i;

	fake_text("instances/x/trace_clock", "");
	i = fake_instance();
	instance_set_clock(&i, false);
	assert_string_equal(fake_read("instances/x/trace_clock"), "boot");
	instance_set_clock(&i, true);
	assert_string_equal(fake_read("instances/x/trace_clock"), "mono_raw");
	fake_instance_free(&i);
}

DIR_TEST(events_are_switched_on)
{
	struct instance i;

	fake_text("instances/x/events/sched/sched_switch/enable", "0");
	fake_text("instances/x/options/other", "0");
	i = fake_instance();
	assert_int_equal(instance_enable_event(&i, "sched", "sched_switch"), 0);
	assert_string_equal(fake_read("instances/x/events/sched/sched_switch/enable"), "1");
	/* The other way, for a kernel that refuses the first; then none. */
	assert_true(instance_enable_event(&i, "sched", "nope") < 0);
	fake_text("instances/x/set_event", "");
	assert_int_equal(instance_enable_event(&i, "sched", "nope"), 0);
	assert_string_equal(fake_read("instances/x/set_event"), "sched:nope");

	assert_int_equal(instance_copy_markers(&i), -EOPNOTSUPP);
	fake_text("instances/x/options/copy_trace_marker", "0");
	fake_text("instances/x/tracing_on", "1");
	assert_int_equal(instance_copy_markers(&i), 0);
	assert_string_equal(fake_read("instances/x/options/copy_trace_marker"), "1");
	assert_int_equal(instance_stop(&i), 0);
	assert_string_equal(fake_read("instances/x/options/copy_trace_marker"), "0");
	fake_instance_free(&i);
}

static struct instance attached(const char *place)
{
	struct instance i;

	assert_int_equal(
		instance_attach(&i, &(struct override_target){.root = fake_root, .subdir = place},
				NULL),
		0);
	return i;
}

DIR_TEST(attached_instances_are_left_as_they_were)
{
	struct instance i, j;
	struct err_text e;
	int fd;

	fake_text("instances/x/tracing_on", "1\n");
	fake_text("instances/x/set_event_pid", "");
	fake_text("instances/x/set_ftrace_filter", "");
	fake_text("instances/x/trace", "records");
	fake_text("instances/x/events/a/b/enable", "0\n");
	assert_int_equal(instance_attach(&i,
					 &(struct override_target){.root = fake_root,
								   .subdir = "instances/y"},
					 &e),
			 -ENOENT);
	i = attached("instances/x");
	assert_false(instance_is_own(&i) || instance_has_other_sessions(&i));
	assert_int_equal(instance_write(&i, "tracing_on", "0"), 0);
	j = attached("instances/x");
	assert_true(instance_has_other_sessions(&j));
	assert_int_equal(instance_enable_event(&j, "a", "b"), 0);
	assert_true(instance_enable_event(&j, "a", "c") < 0);
	assert_int_equal(instance_remove(&j), 0);
	assert_string_equal(fake_read("instances/x/events/a/b/enable"), "0");

	/* It has a trace_marker of its own; the markers of the top level are not copied into it. */
	assert_true(instance_can_copy_markers(&i));
	assert_int_equal(instance_copy_markers(&i), 0);

	fd = instance_open(&i, "set_event_pid", O_WRONLY | O_TRUNC);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, "12", 2), 2);
	close(fd);
	assert_int_equal(instance_write(&i, "set_ftrace_filter", ""), 0);
	assert_int_equal(instance_append(&i, "set_ftrace_filter", "f"), 0);
	assert_int_equal(instance_clear(&i), 0);
	assert_string_equal(fake_read("instances/x/trace"), "");
	assert_int_equal(instance_stop(&i), 0);
	assert_string_equal(fake_read("instances/x/tracing_on"), "1");
	assert_int_equal(instance_remove(&i), 0);
	assert_string_equal(fake_read("instances/x/set_event_pid"), "");
	assert_string_equal(fake_read("instances/x/set_ftrace_filter"), "");
}

/* The common size that was, and single CPUs that had another. The last one may not be there: it has
 * no size of its own that could be written. */
DIR_TEST(rings_of_different_sizes)
{
	struct instance i;

	fake_text("tracing_on", "1\n");
	fake_text("buffer_size_kb", "X\n");
	fake_text("buffer_subbuf_size_kb", "4\n");
	fake_text("per_cpu/cpu0/buffer_size_kb", "100\n");
	fake_text("per_cpu/cpu1/buffer_size_kb", "300\n");
	fake_text("per_cpu/cpu2/buffer_size_kb", "100\n");
	fake_text("per_cpu/cpu10/buffer_size_kb", "100\n");
	i = attached("");
	assert_string_equal(i.path, fake_root);
	assert_int_equal(instance_ring_kb(&i), 300);
	assert_int_equal(instance_subbuf_kb(&i), 4);
	instance_save_sizes(&i);
	assert_int_equal(instance_write(&i, "buffer_subbuf_size_kb", "32"), 0);
	assert_int_equal(instance_write(&i, "buffer_size_kb", "512"), 0);
	fake_text("per_cpu/cpu1/buffer_size_kb", "512\n");
	fake_text("per_cpu/cpu10/buffer_size_kb", "512\n");
	assert_int_equal(instance_remove(&i), 0);
	assert_string_equal(fake_read("buffer_size_kb"), "100");
	assert_string_equal(fake_read("buffer_subbuf_size_kb"), "4");
	assert_string_equal(fake_read("per_cpu/cpu1/buffer_size_kb"), "300");
	/* The kernel does that. */
	assert_string_equal(fake_read("per_cpu/cpu10/buffer_size_kb"), "512\n");
}

DIR_TEST(what_another_session_needs_stays)
{
	struct instance i, j;

	fake_text("tracing_on", "1\n");
	fake_text("trace_clock", "[global] boot\n");
	i = attached("");
	j = attached("");
	assert_int_equal(instance_write(&i, "trace_clock", "boot"), 0);
	assert_null(instance_refused_file(&j));
	/* Nothing else is tried where the clock is another session's. */
	instance_set_clock(&j, true);
	assert_string_equal(fake_read("trace_clock"), "boot");
	assert_string_equal(instance_refused_file(&j), "trace_clock");
	assert_int_equal(instance_remove(&i), 0);
	assert_int_equal(instance_remove(&j), 0);
	assert_string_equal(fake_read("trace_clock"), "global");
}

DIR_TEST(tracers_and_sizes_of_an_instance)
{
	struct instance i;

	fake_text("tracing_on", "1\n");
	fake_text("available_tracers", "blk function_graph nop\n");
	fake_text("buffer_size_kb", "7 (expanded: 1408)\n");
	i = attached("");
	assert_true(instance_has_tracer(&i, "function_graph"));
	assert_true(instance_has_tracer(&i, "nop"));
	assert_false(instance_has_tracer(&i, "function"));
	assert_int_equal(instance_ring_kb(&i), 7);
	/* Before Linux 6.8 a sub-buffer is a page. */
	assert_int_equal(instance_subbuf_kb(&i), sysconf(_SC_PAGESIZE) / 1024);
	assert_int_equal(instance_remove(&i), 0);
}
