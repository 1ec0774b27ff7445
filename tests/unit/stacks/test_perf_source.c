/* SPDX-License-Identifier: Apache-2.0 */
#include <event2/event.h>
#include <sys/eventfd.h>

#include "stacks/samples/perf_session.h"
#include "stacks/samples/perf_source.h"
#include "unit/fixture.h"
#include "unit/procfs/fake_producer.h"
#include "unit/stacks/fake_ring.h"

/*
 * A kernel with two CPUs, of which only the first one has the event: takes the place of
 * cpu_ring_open() and of sysconf(3).
 */
static int first_fd;

int cpu_ring_open(struct cpu_ring *r, struct perf_event_attr *attr, unsigned cpu, uint32_t *pages)
{
	(void)attr;
	(void)pages;
	if (cpu > 0)
		return -EINVAL;
	*r = fake_ring_new(cpu);
	r->fd = first_fd = eventfd(0, EFD_CLOEXEC);
	return 0;
}

long __sysconf(int name);

long sysconf(int name)
{
	return name == _SC_NPROCESSORS_CONF || name == _SC_NPROCESSORS_ONLN ? 2 : __sysconf(name);
}

bool writer_has_lost(const struct writer *w)
{
	return false;
}

static struct ds_env env;
static void *instance;

SETUP
{
	fake_reset();
	env = (struct ds_env){.loop = event_base_new(), .proc_root = "/proc", .sys_root = "/sys"};
	assert_true(env.loop);
}

TEARDOWN
{
	perf_data_source.destroy(instance);
	instance = NULL;
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
