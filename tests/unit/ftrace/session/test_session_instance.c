/* SPDX-License-Identifier: Apache-2.0 */
/* Attached instances in plain files. With a kernel: tests/root/test_attached_instance.sh. */

#include "ftrace/session/session_instance.h"
#include "unit/ftrace/fake_tracefs.h"

struct place {
	struct setup_errors errors;
	struct ftrace_settings settings;
	struct instance instance;
	uint32_t kb;
	bool not_for_root;
};

SETUP
{
	fake_root_new();
	fake_text("instances/foo/tracing_on", "1\n");
	fake_text("instances/foo/trace", "records");
	fake_text("instances/foo/trace_clock", "[local] boot\n");
	fake_text("instances/foo/buffer_size_kb", "100\n");
	fake_text("instances/foo/current_tracer", "nop\n");
	fake_text("instances/fool/x", "");
	fake_text("hyp/tracing_on", "0\n");
	fake_text("hyp/trace", "");
	fake_text("hyp/trace_clock", "boot");
	fake_text("hyp/buffer_size_kb", "4\n");
	fake_text("tracing_on", "1\n");
	fake_text("trace", "records");
	fake_text("trace_clock", "[local] boot\n");
	fake_text("buffer_size_kb", "7 (expanded: 1408)\n");
}

static int open_place(struct place *p, Pb__FtraceConfig *c)
{
	const struct setup s = {
		.root = fake_root,
		.proc_root = "/nope",
		.config = c,
		.instance = &p->instance,
		.errors = &p->errors,
		.for_root = !p->not_for_root,
	};

	ftrace_settings_read(c, &(struct ftrace_machine){1 << 30, 1}, &p->settings, &p->errors);
	return session_instance_open(&s, &p->settings, &p->instance, &p->kb);
}

static void leave(struct place *p)
{
	assert_int_equal(instance_remove(&p->instance), 0);
	setup_errors_deinit(&p->errors);
}

TEARDOWN
{
	fake_root_remove();
}

FIXTURE_TEST(attached_and_detached)
{
	Pb__FtraceConfig c = PB__FTRACE_CONFIG__INIT;
	struct place p = {.kb = 0};

	c.instance_name = "foo";
	c.buffer_size_kb = 512;
	assert_int_equal(open_place(&p, &c), 0);
	assert_false(instance_is_own(&p.instance) || p.instance.keeps_ring);
	assert_int_equal(p.kb, 512);
	assert_string_equal(fake_read("instances/foo/tracing_on"), "0");
	assert_string_equal(fake_read("instances/foo/trace"), "");
	assert_string_equal(fake_read("instances/foo/trace_clock"), "boot");
	assert_string_equal(fake_read("instances/foo/buffer_size_kb"), "512");
	assert_null(p.errors.failed);
	/* It is not ours to remove. */
	leave(&p);
	assert_string_equal(fake_read("instances/foo/tracing_on"), "1");
	assert_string_equal(fake_read("instances/foo/trace_clock"), "local");
	assert_string_equal(fake_read("instances/foo/buffer_size_kb"), "100");
}

FIXTURE_TEST(a_kept_instance_is_taken_over_with_its_records)
{
	Pb__FtraceConfig c = PB__FTRACE_CONFIG__INIT;
	struct place p = {.kb = 0}, again = {.kb = 0};

	fake_text("instances/sonda-kept-mine/tracing_on", "1\n");
	fake_text("instances/sonda-kept-mine/trace", "records");
	fake_text("instances/sonda-kept-mine/trace_clock", "[local] boot\n");
	fake_text("instances/sonda-kept-mine/buffer_size_kb", "100\n");
	c.kept_instance = "mine";
	c.buffer_size_kb = 512;
	assert_int_equal(open_place(&p, &c), 0);
	assert_true(instance_is_own(&p.instance) && p.instance.stays);
	assert_string_equal(fake_read("instances/sonda-kept-mine/tracing_on"), "1\n");
	assert_string_equal(fake_read("instances/sonda-kept-mine/trace"), "records");
	assert_string_equal(fake_read("instances/sonda-kept-mine/trace_clock"), "[local] boot\n");
	assert_string_equal(fake_read("instances/sonda-kept-mine/buffer_size_kb"), "100\n");
	assert_true(instance_is_locked(p.instance.path));
	/* It stays, unlocked, until a session ends normally. */
	leave(&p);
	assert_string_equal(fake_read("instances/sonda-kept-mine/tracing_on"), "1\n");
	assert_int_equal(open_place(&again, &c), 0);
	leave(&again);
}

FIXTURE_TEST(kept_instances_are_for_root_and_have_plain_names)
{
	static const char *const bad[] = {"a/b", "..", "A", "a_b",
					  "a234567890123456789012345678901234567890x"};
	Pb__FtraceConfig c = PB__FTRACE_CONFIG__INIT;
	struct place p = {.not_for_root = true};

	c.kept_instance = "mine";
	assert_int_equal(open_place(&p, &c), -EPERM);
	assert_string_equal(p.errors.fatal,
			    "nothing is recorded: kept_instance: only root may use this field");
	setup_errors_deinit(&p.errors);
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		p = (struct place){.kb = 0};
		c.kept_instance = (char *)bad[i];
		assert_int_equal(open_place(&p, &c), -EINVAL);
		setup_errors_deinit(&p.errors);
	}
}

FIXTURE_TEST(preserved)
{
	Pb__FtraceConfig c = PB__FTRACE_CONFIG__INIT;
	struct place p = {.kb = 0};

	c.preserve_ftrace_buffer = c.has_preserve_ftrace_buffer = true;
	c.instance_name = "foo";
	assert_int_equal(open_place(&p, &c), 0);
	assert_true(p.instance.keeps_ring);
	assert_int_equal(p.kb, 100);
	assert_string_equal(fake_read("instances/foo/tracing_on"), "1\n");
	assert_string_equal(fake_read("instances/foo/trace"), "records");
	assert_string_equal(fake_read("instances/foo/trace_clock"), "[local] boot\n");
	assert_string_equal(fake_read("instances/foo/buffer_size_kb"), "100\n");
	leave(&p);

	/* The top level, where no instance is named. */
	p = (struct place){.kb = 0};
	c.instance_name = NULL;
	assert_int_equal(open_place(&p, &c), 0);
	assert_string_equal(p.instance.path, fake_root);
	assert_string_equal(fake_read("trace"), "records");
	leave(&p);
	assert_string_equal(fake_read("tracing_on"), "1\n");
}

FIXTURE_TEST(the_second_session_finds_it_in_use)
{
	Pb__FtraceConfig c = PB__FTRACE_CONFIG__INIT;
	struct place a = {.kb = 0}, b = {.kb = 0};

	c.instance_name = "foo";
	c.buffer_size_kb = 512;
	assert_int_equal(open_place(&a, &c), 0);
	fake_text("instances/foo/trace", "new records");
	c.buffer_size_kb = 1024;
	c.use_monotonic_raw_clock = c.has_use_monotonic_raw_clock = true;
	assert_int_equal(open_place(&b, &c), 0);
	assert_true(b.instance.keeps_ring);
	assert_string_equal(fake_read("instances/foo/trace"), "new records");
	assert_string_equal(
		b.errors.failed[0],
		"option:buffer_size_kb (1024: rings in use cannot be resized; keeping 512 KiB)");
	assert_string_equal(b.errors.failed[1], "option:use_monotonic_raw_clock (the clock of an "
						"instance in use cannot be changed)");
	leave(&a);
	assert_string_equal(fake_read("instances/foo/tracing_on"), "0");
	assert_string_equal(fake_read("instances/foo/trace_clock"), "boot");
	leave(&b);
	assert_string_equal(fake_read("instances/foo/tracing_on"), "1");
	assert_string_equal(fake_read("instances/foo/buffer_size_kb"), "100");
}

FIXTURE_TEST(beside_the_instances)
{
	Pb__FtraceConfig c = PB__FTRACE_CONFIG__INIT;
	struct place p = {.kb = 0};
	char want[300];

	c.instance_name = "hyp";
	assert_int_equal(open_place(&p, &c), 0);
	snprintf(want, sizeof(want), "%s/hyp", fake_root);
	assert_string_equal(p.instance.path, want);
	leave(&p);
	c.instance_name = "hypervisor";
	assert_int_equal(open_place(&p, &c), -ENOENT);
	setup_errors_deinit(&p.errors);
}

FIXTURE_TEST(an_instance_with_a_tracer)
{
	Pb__FtraceConfig c = PB__FTRACE_CONFIG__INIT;
	struct place p = {.kb = 0};

	fake_text("instances/foo/current_tracer", "function\n");
	c.instance_name = "foo";
	assert_int_equal(open_place(&p, &c), -EBUSY);
	assert_non_null(strstr(p.errors.fatal, "current_tracer is function"));
	assert_string_equal(fake_read("instances/foo/trace"), "records");
	assert_string_equal(fake_read("instances/foo/tracing_on"), "1\n");
	setup_errors_deinit(&p.errors);

	c.preserve_ftrace_buffer = c.has_preserve_ftrace_buffer = true;
	assert_int_equal(open_place(&p, &c), 0);
	leave(&p);
}

FIXTURE_TEST(names_of_no_instance)
{
	static const struct {
		const char *name, *why;
		int error;
	} names[] = {
		{"a/b", "not an instance name", -EINVAL},
		{"/", "not an instance name", -EINVAL},
		{"..", "not an instance name", -EINVAL},
		{"../foo", "not an instance name", -EINVAL},
		{".", "not an instance name", -EINVAL},
		{"..foo", "not an instance name", -EINVAL},
		{"sonda-1-1", "another recording", -EINVAL},
		{"fooo", "the kernel has no such instance; did you mean foo?", -ENOENT},
		{"nothing like it", "no such instance", -ENOENT},
	};
	Pb__FtraceConfig c = PB__FTRACE_CONFIG__INIT;
	char longest[400], want[96];
	struct place p;

	for (size_t k = 0; k < ARRAY_SIZE(names); k++) {
		p = (struct place){.kb = 0};
		c.instance_name = (char *)names[k].name;
		assert_int_equal(open_place(&p, &c), names[k].error);
		snprintf(want, sizeof(want),
			 "nothing is recorded: instance_name \"%s\": ", names[k].name);
		if (!strstr(p.errors.fatal, names[k].why) ||
		    strncmp(p.errors.fatal, want, strlen(want)) != 0)
			fail_msg("%s", p.errors.fatal);
		assert_false(instance_is_made(&p.instance));
		setup_errors_deinit(&p.errors);
	}
	memset(longest, 'x', sizeof(longest));
	longest[sizeof(longest) - 1] = '\0';
	c.instance_name = longest;
	p = (struct place){.kb = 0};
	assert_int_equal(open_place(&p, &c), -ENAMETOOLONG);
	setup_errors_deinit(&p.errors);
}

FIXTURE_TEST(only_root_attaches)
{
	Pb__FtraceConfig name = PB__FTRACE_CONFIG__INIT, hyp = name, keep = name;
	Pb__FtraceConfig *const configs[] = {&name, &hyp, &keep};

	name.instance_name = "foo";
	hyp.instance_name = "hyp";
	keep.preserve_ftrace_buffer = true;
	for (size_t i = 0; i < ARRAY_SIZE(configs); i++) {
		struct place p = {.not_for_root = true};

		assert_int_equal(open_place(&p, configs[i]), -EPERM);
		assert_non_null(strstr(p.errors.fatal, "nothing is recorded: only root may use "));
		assert_false(instance_is_made(&p.instance));
		leave(&p);
	}
	assert_string_equal(fake_read("instances/foo/tracing_on"), "1\n");
	assert_string_equal(fake_read("instances/foo/trace"), "records");
	assert_string_equal(fake_read("instances/foo/trace_clock"), "[local] boot\n");
	assert_string_equal(fake_read("trace"), "records");
}
