/* SPDX-License-Identifier: Apache-2.0 */
#include <time.h>

#include "config/trace_config.h"
#include "stacks/samples/perf_config.h"
#include "unit/test.h"

static struct perf_config c;
static struct err_text e;
static struct perf_config_env env;
static Pb__PerfEventConfig m;
static Pb__PerfEvents__Timebase t;
static Pb__PerfEventConfig__CallstackSampling s;
static Pb__PerfEventConfig__Scope scope;

static void fresh(void)
{
	pb__perf_event_config__init(&m);
	pb__perf_events__timebase__init(&t);
	pb__perf_event_config__callstack_sampling__init(&s);
	pb__perf_event_config__scope__init(&scope);
	env = (struct perf_config_env){.sys_root = "/nowhere", .for_root = true};
	e.text[0] = '\0';
}

static int config_read(void)
{
	return perf_config_read(&m, &env, &c, &e);
}

TEST(without_a_timebase_it_samples_the_cpu_clock_with_stacks)
{
	fresh();
	assert_int_equal(config_read(), 0);
	assert_int_equal(c.attr.type, PERF_TYPE_SOFTWARE);
	assert_int_equal(c.attr.config, PERF_COUNT_SW_CPU_CLOCK);
	assert_int_equal(c.attr.freq, 1);
	assert_int_equal(c.attr.sample_freq, PERF_CONFIG_FREQUENCY);
	assert_true(c.has_user_frames);
	assert_int_equal(c.clock, CLOCK_BOOTTIME);
	assert_int_equal(c.ring_pages, PERF_CONFIG_RING_PAGES);
}

TEST(a_timebase_alone_has_no_stacks)
{
	fresh();
	m.timebase = &t;
	t.event_case = PB__PERF_EVENTS__TIMEBASE__EVENT_COUNTER;
	t.counter = PB__PERF_EVENTS__COUNTER__HW_CPU_CYCLES;
	t.interval_case = PB__PERF_EVENTS__TIMEBASE__INTERVAL_PERIOD;
	t.period = 1000000;
	assert_int_equal(config_read(), 0);
	assert_int_equal(c.attr.type, PERF_TYPE_HARDWARE);
	assert_int_equal(c.attr.freq, 0);
	assert_int_equal(c.attr.sample_period, 1000000);
	assert_false(c.has_stacks);
	assert_false(c.attr.sample_type & PERF_SAMPLE_CALLCHAIN);
	assert_int_equal(c.clock, CLOCK_MONOTONIC); /* may be read in an NMI */
}

/* perf_event_open() refuses any other clock for events that may sample in an NMI. */
TEST(a_clock_that_the_event_cannot_have_becomes_monotonic)
{
	static const struct {
		Pb__PerfEvents__PerfClock wanted;
		clockid_t software, hardware;
	} rows[] = {
		{PB__PERF_EVENTS__PERF_CLOCK__PERF_CLOCK_BOOTTIME, CLOCK_BOOTTIME, CLOCK_MONOTONIC},
		{PB__PERF_EVENTS__PERF_CLOCK__PERF_CLOCK_REALTIME, CLOCK_REALTIME, CLOCK_MONOTONIC},
		{PB__PERF_EVENTS__PERF_CLOCK__PERF_CLOCK_MONOTONIC, CLOCK_MONOTONIC,
		 CLOCK_MONOTONIC},
		{PB__PERF_EVENTS__PERF_CLOCK__PERF_CLOCK_MONOTONIC_RAW, CLOCK_MONOTONIC_RAW,
		 CLOCK_MONOTONIC_RAW},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		fresh();
		m.timebase = &t;
		t.event_case = PB__PERF_EVENTS__TIMEBASE__EVENT_COUNTER;
		t.has_timestamp_clock = true;
		t.timestamp_clock = rows[i].wanted;
		t.counter = PB__PERF_EVENTS__COUNTER__SW_PAGE_FAULTS;
		assert_int_equal(config_read(), 0);
		assert_int_equal(c.clock, rows[i].software);
		t.counter = PB__PERF_EVENTS__COUNTER__HW_CPU_CYCLES;
		assert_int_equal(config_read(), 0);
		assert_int_equal(c.clock, rows[i].hardware);
		assert_int_equal(c.attr.clockid, rows[i].hardware);
	}
}

TEST(frames_are_chosen)
{
	fresh();
	m.callstack_sampling = &s;
	s.has_kernel_frames = s.kernel_frames = true;
	s.has_user_frames = true;
	s.user_frames = PB__PERF_EVENT_CONFIG__UNWIND_MODE__UNWIND_SKIP;
	assert_int_equal(config_read(), 0);
	assert_true(c.has_kernel_frames && !c.has_user_frames);
	assert_true(c.attr.exclude_callchain_user);
	assert_false(c.attr.mmap2);
}

TEST(rings_have_a_power_of_two_of_pages)
{
	fresh();
	m.ring_buffer_pages = 100;
	assert_int_equal(config_read(), 0);
	assert_int_equal(c.ring_pages, 128);
	m.ring_buffer_pages = UINT32_MAX;
	assert_int_equal(config_read(), 0);
	assert_int_equal(c.ring_pages, PERF_CONFIG_RING_PAGES_MAX);
}

TEST(tracepoints_get_their_number_from_tracefs)
{
	static Pb__PerfEvents__Tracepoint point;
	char dir[] = "/tmp/sonda-perf-XXXXXX", path[128];
	static const char *const bad[] = {"",	   "sched",  "sched:",	  ":x",
					  "a:b:c", "../x:y", "sched:../x"};
	FILE *f;

	fresh();
	pb__perf_events__tracepoint__init(&point);
	m.timebase = &t;
	t.event_case = PB__PERF_EVENTS__TIMEBASE__EVENT_TRACEPOINT;
	t.tracepoint = &point;
	assert_non_null(mkdtemp(dir));
	env.tracefs = dir;
	snprintf(path, sizeof(path), "mkdir -p %s/events/sched/sched_switch", dir);
	assert_int_equal(system(path), 0);
	snprintf(path, sizeof(path), "%s/events/sched/sched_switch/id", dir);
	f = fopen(path, "w");
	fputs("314\n", f);
	fclose(f);
	point.name = (char *)"sched:sched_switch";
	assert_int_equal(config_read(), 0);
	assert_int_equal(c.attr.type, PERF_TYPE_TRACEPOINT);
	assert_int_equal(c.attr.config, 314);
	point.name = (char *)"sched/sched_switch";
	assert_int_equal(config_read(), 0);
	point.name = (char *)"sched:nosuch";
	assert_int_equal(config_read(), -ENOENT);
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		point.name = (char *)bad[i];
		assert_int_equal(config_read(), -EINVAL);
	}
	snprintf(path, sizeof(path), "rm -r %s", dir);
	assert_int_equal(system(path), 0);
}

TEST(what_cannot_be_done_is_refused)
{
	fresh();
	m.timebase = &t;
	t.event_case = PB__PERF_EVENTS__TIMEBASE__EVENT_COUNTER;
	t.counter = (Pb__PerfEvents__Counter)1234;
	assert_int_equal(config_read(), -EINVAL);
	t.counter = PB__PERF_EVENTS__COUNTER__SW_CPU_CLOCK;
	t.interval_case = PB__PERF_EVENTS__TIMEBASE__INTERVAL_POLL_PERIOD_MS;
	assert_int_equal(config_read(), -EINVAL);
}

TEST(raw_events_are_for_root_only)
{
	static Pb__PerfEvents__RawEvent raw;

	fresh();
	pb__perf_events__raw_event__init(&raw);
	raw.type = PERF_TYPE_RAW;
	raw.config = 0x1c0;
	m.timebase = &t;
	t.event_case = PB__PERF_EVENTS__TIMEBASE__EVENT_RAW_EVENT;
	t.raw_event = &raw;
	assert_int_equal(config_read(), 0);
	assert_int_equal(c.attr.type, PERF_TYPE_RAW);
	assert_int_equal(c.attr.config, 0x1c0);
	env.for_root = false;
	assert_int_equal(config_read(), -EACCES);
}

TEST(the_scope_chooses_processes)
{
	int32_t pids[] = {42}, others[] = {7};
	char *lines[] = {(char *)"make", (char *)"/usr/bin/cc*"};

	fresh();
	m.callstack_sampling = &s;
	s.scope = &scope;
	assert_int_equal(config_read(), 0);
	assert_false(perf_config_needs_cmdline(&c));
	assert_int_equal(perf_config_find_scope(&c, 1, ""), PERF_WANTED);
	scope.target_pid = pids;
	scope.n_target_pid = 1;
	assert_int_equal(perf_config_find_scope(&c, 42, ""), PERF_WANTED);
	assert_int_equal(perf_config_find_scope(&c, 43, ""), PERF_LEFT_OUT);
	scope.target_cmdline = lines;
	scope.n_target_cmdline = 2;
	assert_true(perf_config_needs_cmdline(&c));
	assert_int_equal(perf_config_find_scope(&c, 43, "/usr/bin/make"), PERF_WANTED);
	assert_int_equal(perf_config_find_scope(&c, 43, "make"), PERF_WANTED);
	assert_int_equal(perf_config_find_scope(&c, 43, "/usr/bin/cc1"), PERF_WANTED);
	assert_int_equal(perf_config_find_scope(&c, 43, "/usr/bin/ld"), PERF_LEFT_OUT);
	scope.exclude_pid = others;
	scope.n_exclude_pid = 1;
	assert_int_equal(perf_config_find_scope(&c, 7, "make"), PERF_LEFT_OUT);
}

TEST(further_programs_are_sampled_besides_those_of_the_scope)
{
	char *lines[] = {(char *)"make"}, *excluded[] = {(char *)"ld"};

	fresh();
	m.callstack_sampling = &s;
	s.scope = &scope;
	scope.target_cmdline = lines;
	scope.n_target_cmdline = 1;
	scope.exclude_cmdline = excluded;
	scope.n_exclude_cmdline = 1;
	scope.additional_cmdline_count = 3;
	m.additional_cmdline_count = 2; /* the older spelling */
	assert_int_equal(config_read(), 0);
	assert_int_equal(c.n_additional, 3);
	assert_true(perf_config_needs_cmdline(&c));
	assert_int_equal(perf_config_find_scope(&c, 1, "make"), PERF_WANTED);
	assert_int_equal(perf_config_find_scope(&c, 1, "cc1"), PERF_ADDITIONAL);
	assert_int_equal(perf_config_find_scope(&c, 1, "/usr/bin/ld"), PERF_LEFT_OUT);
	assert_int_equal(perf_config_find_scope(&c, 1, ""), PERF_LEFT_OUT);
	scope.n_target_cmdline = 0; /* only these programs, then */
	assert_int_equal(perf_config_find_scope(&c, 1, "make"), PERF_ADDITIONAL);
}

TEST(followers_are_events_of_the_same_kinds)
{
	Pb__FollowerEvent faults = PB__FOLLOWER_EVENT__INIT, raw = PB__FOLLOWER_EVENT__INIT;
	Pb__FollowerEvent *list[] = {&faults, &raw, &raw, &raw, &raw, &raw, &raw, &raw};
	Pb__PerfEvents__EventModifier in_user[] = {
		PB__PERF_EVENTS__EVENT_MODIFIER__EVENT_MODIFIER_COUNT_USERSPACE};
	Pb__PerfEvents__RawEvent event = PB__PERF_EVENTS__RAW_EVENT__INIT;

	fresh();
	faults.event_case = PB__FOLLOWER_EVENT__EVENT_COUNTER;
	faults.counter = PB__PERF_EVENTS__COUNTER__SW_PAGE_FAULTS;
	faults.modifiers = in_user;
	faults.n_modifiers = 1;
	raw.event_case = PB__FOLLOWER_EVENT__EVENT_RAW_EVENT;
	raw.raw_event = &event;
	event.type = PERF_TYPE_RAW;
	event.config = 0x1234;
	m.followers = list;
	m.n_followers = 2;
	assert_int_equal(config_read(), 0);
	assert_int_equal(c.n_followers, 2);
	assert_int_equal(c.followers[0].config, PERF_COUNT_SW_PAGE_FAULTS);
	assert_true(c.followers[0].exclude_kernel);
	assert_false(c.followers[0].exclude_user);
	assert_int_equal(c.followers[1].type, PERF_TYPE_RAW);
	assert_int_equal(c.followers[1].config, 0x1234);
	assert_int_equal(c.clock, CLOCK_MONOTONIC); /* a group has one clock */
	assert_int_equal(c.followers[0].clockid, CLOCK_MONOTONIC);
	env.for_root = false;
	assert_int_equal(config_read(), -EACCES);
	assert_string_equal(e.text, "followers.raw_event: only root may use raw events");
	env.for_root = true;
	m.n_followers = ARRAY_SIZE(list);
	assert_int_equal(config_read(), -EINVAL);
	raw.event_case = PB__FOLLOWER_EVENT__EVENT__NOT_SET;
	m.n_followers = 2;
	assert_int_equal(config_read(), -EINVAL);
}

TEST(stacks_are_unwound_unless_the_config_asks_for_frame_pointers)
{
	static const struct {
		Pb__PerfEventConfig__UnwindMode mode;
		bool unwinds;
	} modes[] = {{PB__PERF_EVENT_CONFIG__UNWIND_MODE__UNWIND_UNKNOWN, true},
		     {PB__PERF_EVENT_CONFIG__UNWIND_MODE__UNWIND_SKIP, false},
		     {PB__PERF_EVENT_CONFIG__UNWIND_MODE__UNWIND_DWARF, true},
		     {PB__PERF_EVENT_CONFIG__UNWIND_MODE__UNWIND_FRAME_POINTER, false},
		     {PB__PERF_EVENT_CONFIG__UNWIND_MODE__UNWIND_KERNEL_FRAME_POINTER, false}};

	fresh();
	assert_int_equal(config_read(), 0);
	assert_true(c.unwinds);
	m.callstack_sampling = &s;
	for (size_t i = 0; i < ARRAY_SIZE(modes); i++) {
		s.user_frames = modes[i].mode;
		assert_int_equal(config_read(), 0);
		assert_int_equal(c.unwinds, modes[i].unwinds);
	}
}
