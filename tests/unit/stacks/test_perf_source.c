/* SPDX-License-Identifier: Apache-2.0 */
#include <event2/event.h>
#include <sys/eventfd.h>

#include "stacks/samples/perf_session.h"
#include "stacks/samples/perf_source.h"
#include "unit/fixture.h"
#include "unit/procfs/fake_producer.h"
#include "unit/stacks/fake_ring.h"

/* A kernel with two CPUs, of which only the first one has the event: takes the place of
 * cpu_ring_open() and of sysconf(3). */
static int first_fd;

int cpu_ring_open(struct cpu_ring *r, struct perf_event_attr *attr, unsigned cpu, uint32_t *pages)
{
	if (cpu > 0)
		return -EINVAL;
	*r = fake_ring_new(cpu);
	r->fd = first_fd = eventfd(0, EFD_CLOEXEC);
	return 0;
}

long __sysconf(int name);

/* ThreadSanitizer calls it before it is ready for instrumented code. */
__attribute__((no_sanitize("thread"))) long sysconf(int name)
{
	return name == _SC_NPROCESSORS_CONF || name == _SC_NPROCESSORS_ONLN ? 2 : __sysconf(name);
}

int unwind_tables_join(struct unwind_tables_user *u, struct event_base *loop)
{
	return 0;
}

/* The program: it cannot be loaded, or not be attached. */
static int new_error, attach_error;
static unsigned n_programs;

int sample_program_new(const struct sample_program_config *c, struct sample_program **ret,
		       struct err_text *why)
{
	if (new_error)
		return err_set(why, new_error, "no permission");
	n_programs++;
	*ret = (struct sample_program *)&n_programs;
	return 0;
}

int sample_program_attach(struct sample_program *p, unsigned cpu, int event, const int *followers)
{
	return attach_error;
}

int sample_program_wakeup_fd(const struct sample_program *p)
{
	return STDIN_FILENO;
}

void sample_program_free(struct sample_program *p)
{
	n_programs -= p != NULL;
}

bool writer_has_lost(const struct writer *w)
{
	return false;
}

static struct ds_env env;
static void *instance;

SETUP
{
	new_error = attach_error = 0;
	fake_reset();
	env = (struct ds_env){.loop = event_base_new(), .proc_root = "/proc", .sys_root = "/sys"};
	assert_true(env.loop);
}

TEARDOWN
{
	perf_data_source.destroy(instance);
	instance = NULL;
	assert_int_equal(n_programs, 0);
	assert_false(fake.live);
	event_base_free(env.loop);
	fake_reset();
}

/* Otherwise the trace would have samples of some CPUs, and say that there are none. */
FIXTURE_TEST(a_refused_event_leaves_no_ring_open)
{
	Pb__DataSourceConfig config = PB__DATA_SOURCE_CONFIG__INIT;

	assert_int_equal(perf_data_source.create(NULL, &env, &config, &instance), 0);
	assert_true(first_fd > 0);
	assert_int_equal(fcntl(first_fd, F_GETFD), -1);
	perf_data_source.start(instance);
	assert_int_equal(fake.started, 1);
	assert_int_equal(fake.n, 1);
	assert_true(fake_has(fake_packet_field(0), PB_TRACE_PACKET_POLLED_COUNTERS_STATS));
	perf_data_source.stop(instance);
	assert_int_equal(fake.stopped, 1);
	assert_int_equal(fake.n, 1);
}

/* With ignore_open_failure the CPUs that have the event are recorded. */
FIXTURE_TEST(a_refused_event_can_be_ignored)
{
	Pb__DataSourceConfig config = PB__DATA_SOURCE_CONFIG__INIT;
	Pb__PerfEventConfig perf = PB__PERF_EVENT_CONFIG__INIT;

	perf.has_ignore_open_failure = perf.ignore_open_failure = true;
	config.perf_event_config = &perf;
	assert_int_equal(perf_data_source.create(NULL, &env, &config, &instance), 0);
	assert_int_not_equal(fcntl(first_fd, F_GETFD), -1);
}

/* ---- the program that unwinds ---- */

static void create_for(Pb__PerfEventConfig__UnwindMode mode)
{
	Pb__DataSourceConfig config = PB__DATA_SOURCE_CONFIG__INIT;
	Pb__PerfEventConfig perf = PB__PERF_EVENT_CONFIG__INIT;
	Pb__PerfEventConfig__CallstackSampling stacks =
		PB__PERF_EVENT_CONFIG__CALLSTACK_SAMPLING__INIT;

	stacks.has_user_frames = true;
	stacks.user_frames = mode;
	perf.callstack_sampling = &stacks;
	perf.has_ignore_open_failure = perf.ignore_open_failure = true;
	config.perf_event_config = &perf;
	assert_int_equal(perf_data_source.create(NULL, &env, &config, &instance), 0);
}

FIXTURE_TEST(the_program_takes_the_samples)
{
	struct perf_session *s;

	create_for(PB__PERF_EVENT_CONFIG__UNWIND_MODE__UNWIND_DWARF);
	s = instance;
	assert_non_null(s->program);
	assert_false(s->perf.attr.sample_type & PERF_SAMPLE_CALLCHAIN);
	assert_string_equal(s->by_frame_pointers.text, "");
}

FIXTURE_TEST(frame_pointers_need_no_program)
{
	struct perf_session *s;

	create_for(PB__PERF_EVENT_CONFIG__UNWIND_MODE__UNWIND_FRAME_POINTER);
	s = instance;
	assert_null(s->program);
	assert_true(s->perf.attr.sample_type & PERF_SAMPLE_CALLCHAIN);
}

FIXTURE_TEST(without_the_program_the_kernel_samples_and_the_trace_says_why)
{
	struct perf_session *s;

	new_error = -EPERM;
	create_for(PB__PERF_EVENT_CONFIG__UNWIND_MODE__UNWIND_DWARF);
	s = instance;
	assert_null(s->program);
	assert_int_equal(s->base.rings.n, 1);
	assert_true(s->perf.attr.sample_type & PERF_SAMPLE_CALLCHAIN);
	assert_string_equal(s->by_frame_pointers.text, "no permission");
	perf_data_source.start(instance);
	assert_true(fake_has(fake_packet_field(0), PB_TRACE_PACKET_POLLED_COUNTERS_STATS));
}

FIXTURE_TEST(an_event_that_takes_no_program_is_opened_again_without_it)
{
	struct perf_session *s;

	attach_error = -EINVAL;
	create_for(PB__PERF_EVENT_CONFIG__UNWIND_MODE__UNWIND_UNKNOWN);
	s = instance;
	assert_null(s->program);
	assert_int_equal(s->base.rings.n, 1);
	assert_true(s->perf.attr.sample_type & PERF_SAMPLE_CALLCHAIN);
	assert_string_equal(s->by_frame_pointers.text,
			    "BPF programs cannot be attached to this event");
	assert_int_equal(s->no_program, -EINVAL);
}
