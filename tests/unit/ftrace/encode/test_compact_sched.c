/* SPDX-License-Identifier: Apache-2.0 */
#include "ftrace/encode/compact_sched.h"
#include "ftrace/encode/event_compile.h"
#include "unit/ftrace/bundles.h"
#include "unit/ftrace/formats.h"
#include "unit/test.h"
#include "wire/pb_mem.h"

struct switch_record {
	uint16_t id;
	uint8_t flags, preempt;
	int32_t pid;
	int64_t prev_state;
	char next_comm[16];
	int32_t next_pid, next_prio;
};

struct waking_record {
	uint16_t id;
	uint8_t flags, preempt;
	int32_t pid;
	char comm[16];
	int32_t target, prio, cpu;
};

static struct compact_sched s;
static struct compiled_event *switch_row, *waking_row;
static struct sym_index syms;
static struct encode_ctx ctx = {.syms = &syms};

static int setup(void **state)
{
	struct tep_handle *tep;
	int r;

	r = event_compile_compact(format_event("sched", "sched_switch",
					       FIELD("long prev_state", 8, 8,
						     1) FIELD("char next_comm[16]", 16, 16, 0)
						       FIELD("pid_t next_pid", 32, 4, 1)
							       FIELD("int next_prio", 36, 4, 1),
					       &tep),
				  COMPILED_COMPACT_SWITCH, &switch_row);
	tep_free(tep);
	if (r)
		return r;
	r = event_compile_compact(
		format_event("sched", "sched_waking",
			     FIELD("char comm[16]", 8, 16, 0) FIELD("pid_t pid", 24, 4, 1)
				     FIELD("int prio", 28, 4, 1) FIELD("int target_cpu", 32, 4, 1),
			     &tep),
		COMPILED_COMPACT_WAKING, &waking_row);
	tep_free(tep);
	return r;
}

static int teardown(void **state)
{
	free(switch_row);
	free(waking_row);
	return 0;
}

static void add_switch(uint64_t time, const struct switch_record *record)
{
	struct ring_record r = {time, (const uint8_t *)record, sizeof(*record)};

	compact_sched_switch(&s, switch_row, &r, &ctx);
}

static void add_waking(uint64_t time, const struct waking_record *record)
{
	struct ring_record r = {time, (const uint8_t *)record, sizeof(*record)};

	compact_sched_waking(&s, waking_row, &r, &ctx);
}

/* What was written, as a bundle; m keeps its bytes. */
static struct bundle_view written(struct pb_mem *m)
{
	struct bundle_view b;
	struct pb_field f = {0};

	assert_int_equal(pb_mem_init(m), 0);
	compact_sched_write(&s, &m->enc);
	f.data = m->buf;
	f.len = pb_mem_len(m);
	bundles_take(&b, &f);
	return b;
}

static void assert_column(const struct bundle_view *b, uint32_t id, unsigned n, ...)
{
	uint64_t values[64];
	va_list ap;

	assert_int_equal(bundle_column(b, id, values), n);
	va_start(ap, n);
	for (unsigned i = 0; i < n; i++)
		assert_true(values[i] == va_arg(ap, uint64_t));
	va_end(ap);
}

#define COLUMN(name) PB_FTRACE_EVENT_BUNDLE_COMPACT_SCHED_##name
#define U(v) ((uint64_t)(v))

TEST(test_columns)
{
	struct switch_record sw = {
		.prev_state = 1, .next_comm = "a", .next_pid = 10, .next_prio = 120};
	struct waking_record wa = {.flags = 1, .comm = "b", .target = 11, .prio = 98, .cpu = 3};
	struct bundle_view b;
	struct pb_mem m;

	compact_sched_clear(&s);
	add_switch(1000, &sw);
	sw = (struct switch_record){
		.prev_state = 0x100, .next_comm = "b", .next_pid = 1 << 21, .next_prio = -1};
	add_switch(1130, &sw);
	sw.prev_state = -1;
	add_switch(1130, &sw);
	add_waking(900, &wa);
	wa.cpu = -1;
	add_waking(1000000, &wa);

	b = written(&m);
	assert_int_equal(b.names, 2);
	assert_column(&b, COLUMN(SWITCH_TIMESTAMP), 3, U(1000), U(130), U(0));
	assert_column(&b, COLUMN(SWITCH_PREV_STATE), 3, U(1), U(0x100), U(-1));
	assert_column(&b, COLUMN(SWITCH_NEXT_PID), 3, U(10), U(1 << 21), U(1 << 21));
	assert_column(&b, COLUMN(SWITCH_NEXT_PRIO), 3, U(120), U(-1), U(-1));
	assert_column(&b, COLUMN(SWITCH_NEXT_COMM_INDEX), 3, U(0), U(1), U(1));
	assert_column(&b, COLUMN(WAKING_TIMESTAMP), 2, U(900), U(999100));
	assert_column(&b, COLUMN(WAKING_PID), 2, U(11), U(11));
	assert_column(&b, COLUMN(WAKING_TARGET_CPU), 2, U(3), U(-1));
	assert_column(&b, COLUMN(WAKING_PRIO), 2, U(98), U(98));
	assert_column(&b, COLUMN(WAKING_COMM_INDEX), 2, U(1), U(1));
	assert_column(&b, COLUMN(WAKING_COMMON_FLAGS), 2, U(1), U(1));
	pb_mem_deinit(&m);

	/* The next bundle starts anew. */
	compact_sched_clear(&s);
	add_switch(2000, &sw);
	b = written(&m);
	assert_int_equal(b.names, 1);
	assert_column(&b, COLUMN(SWITCH_TIMESTAMP), 1, U(2000));
	assert_column(&b, COLUMN(SWITCH_NEXT_COMM_INDEX), 1, U(0));
	assert_column(&b, COLUMN(WAKING_TIMESTAMP), 0);
	pb_mem_deinit(&m);
}

/* The longest of everything, as often as a bundle takes: nothing runs over. */
TEST(test_full_columns)
{
	struct switch_record sw = {.prev_state = -1, .next_pid = -1, .next_prio = -1};
	struct waking_record wa = {.target = -1, .prio = -1, .cpu = -1, .flags = 0xff};
	uint64_t values[COMPACT_MAX_EVENTS + 1];
	struct bundle_view b;
	struct pb_mem m;

	compact_sched_clear(&s);
	for (unsigned i = 0; i < COMPACT_MAX_EVENTS; i++) {
		assert_false(compact_sched_full(&s));
		add_switch(i % 2 ? 0 : UINT64_MAX / 2 + 1, &sw);
	}
	assert_true(compact_sched_full(&s));
	b = written(&m);
	assert_int_equal(bundle_column(&b, COLUMN(SWITCH_TIMESTAMP), values), COMPACT_MAX_EVENTS);
	assert_int_equal(bundle_column(&b, COLUMN(SWITCH_NEXT_PID), values), COMPACT_MAX_EVENTS);
	assert_true(values[COMPACT_MAX_EVENTS - 1] == UINT64_MAX);
	pb_mem_deinit(&m);

	compact_sched_clear(&s);
	for (unsigned i = 0; i < COMPACT_MAX_EVENTS / 2; i++) {
		assert_false(compact_sched_full(&s));
		add_switch(i, &sw);
		add_waking(i % 2 ? 0 : UINT64_MAX / 2 + 1, &wa);
	}
	assert_true(compact_sched_full(&s));
	b = written(&m);
	assert_int_equal(bundle_column(&b, COLUMN(WAKING_PRIO), values), COMPACT_MAX_EVENTS / 2);
	assert_true(values[COMPACT_MAX_EVENTS / 2 - 1] == UINT64_MAX);
	pb_mem_deinit(&m);
}

TEST_GROUP(setup, teardown)
