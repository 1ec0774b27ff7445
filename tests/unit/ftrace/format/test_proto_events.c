/* SPDX-License-Identifier: Apache-2.0 */
#include "ftrace/format/proto_events.h"
#include "gen/fields.h"
#include "unit/test.h"

static struct proto_event event_of(const char *group, const char *name)
{
	struct proto_event e;

	assert_true(proto_events_find(group, name, &e));
	return e;
}

TEST(events_and_fields)
{
	struct proto_event e = event_of("sched", "sched_switch");
	struct proto_field f;

	assert_int_equal(e.number, PB_FTRACE_EVENT_SCHED_SWITCH);
	assert_int_equal(e.n_fields, 7);
	assert_true(proto_events_find_field(&e, "prev_state", &f));
	assert_int_equal(f.number, 4);
	assert_int_equal(f.type, PROTO_INT64);
	assert_true(proto_events_find_field(&e, "next_comm", &f));
	assert_int_equal(f.type, PROTO_STRING);
	assert_false(proto_events_find_field(&e, "next_com", &f));
	assert_false(proto_events_find_field(&e, "", &f));

	e = event_of("raw_syscalls", "sys_enter");
	assert_true(proto_events_find_field(&e, "args", &f));
	assert_int_equal(f.type, PROTO_REPEATED_UINT64);
	e = event_of("i2c", "i2c_read");
	assert_int_equal(e.number, PB_FTRACE_EVENT_I2C_READ);
	e = event_of("i2c", "i2c_write");
	assert_true(proto_events_find_field(&e, "buf", &f));
	assert_int_equal(f.type, PROTO_BYTES);
}

TEST(names_that_are_in_several_groups)
{
	assert_int_equal(event_of("power", "gpu_frequency").number, PB_FTRACE_EVENT_GPU_FREQUENCY);
	assert_int_equal(event_of("kgsl", "gpu_frequency").number,
			 PB_FTRACE_EVENT_KGSL_GPU_FREQUENCY);
	assert_int_equal(event_of("mali", "gpu_power_state").number,
			 PB_FTRACE_EVENT_MALI_GPU_POWER_STATE);
	assert_int_equal(event_of("mali", "mali_KCPU_CQS_SET").number,
			 PB_FTRACE_EVENT_MALI_MALI_KCPU_CQS_SET);
	assert_int_equal(event_of("systrace", "0").number, PB_FTRACE_EVENT_ZERO);
	assert_int_equal(event_of("hyp", "hyp_enter").n_fields, 0);
}

TEST(what_is_not_there)
{
	struct proto_event e;
	char name[400];

	memset(name, 'x', sizeof(name));
	name[sizeof(name) - 1] = '\0';
	assert_false(proto_events_find("sched", "", &e));
	assert_false(proto_events_find("", "sched_switch", &e));
	assert_false(proto_events_find("irq", "sched_switch", &e));
	assert_false(proto_events_find("sched", "sched_switc", &e));
	assert_false(proto_events_find("sched", name, &e));
	assert_false(proto_events_find("generic", "generic", &e));
	assert_false(proto_events_find("generic", "kprobe_event", &e));
}

/* What the generator promises: sorted, so that each is found; tags of two bytes. */
TEST(the_whole_table)
{
	struct proto_event e;

	assert_true(proto_event_row_count > 580);
	for (unsigned i = 0; i < proto_event_row_count; i++) {
		const struct proto_event_row *r = &proto_event_rows[i];

		if (i) {
			int c = strcmp(proto_names + r[-1].group, proto_names + r->group);

			assert_true(c < 0 || (c == 0 && strcmp(proto_names + r[-1].name,
							       proto_names + r->name) < 0));
		}
		assert_true(proto_events_find(proto_names + r->group, proto_names + r->name, &e));
		assert_int_equal(e.number, r->number);
		for (unsigned f = 0; f < r->n_fields; f++)
			assert_in_range(proto_field_rows[r->first_field + f].number, 1, 2047);
	}
}
