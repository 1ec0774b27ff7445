/* SPDX-License-Identifier: Apache-2.0 */
#include "ftrace/encode/compact_sched.h"
#include "ftrace/encode/event_compile.h"
#include "unit/ftrace/formats.h"
#include "unit/message_text.h"
#include "wire/pb_enc.h"

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

static struct compiled_event *compile(const char *event, const char *fields,
				      enum compiled_kind kind)
{
	struct compiled_event *row = NULL;
	struct tep_handle *tep;

	assert_int_equal(
		event_compile_compact(format_event("sched", event, fields, &tep), kind, &row), 0);
	tep_free(tep);
	return row;
}

static int setup(void **state)
{
	switch_row = compile("sched_switch", SWITCH_FIELDS, COMPILED_COMPACT_SWITCH);
	waking_row = compile("sched_waking", WAKING_FIELDS, COMPILED_COMPACT_WAKING);
	return 0;
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

/* The columns as text, until the next call. */
static const char *columns(void)
{
	static const char *text;
	struct pb_mem m;

	assert_int_equal(pb_mem_init(&m), 0);
	compact_sched_write(&s, &m.enc);
	text = message_text("FtraceEventBundle", m.buf, pb_mem_len(&m));
	pb_mem_deinit(&m);
	return text;
}

TEST(each_field_has_a_column)
{
	struct switch_record sw = {
		.prev_state = 1, .next_comm = "a", .next_pid = 10, .next_prio = 120};
	struct waking_record wa = {.flags = 1, .comm = "b", .target = 11, .prio = 98, .cpu = 3};

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
	assert_string_equal(
		columns(),
		"compact_sched { intern_table: 'a' intern_table: 'b' switch_timestamp: [1000, 130, "
		"0] "
		"switch_prev_state: [1, 256, -1] switch_next_pid: [10, 2097152, 2097152] "
		"switch_next_prio: [120, -1, -1] switch_next_comm_index: [0, 1, 1] "
		"waking_timestamp: [900, 999100] waking_pid: [11, 11] waking_target_cpu: [3, -1] "
		"waking_prio: [98, 98] waking_comm_index: [1, 1] waking_common_flags: [1, 1] }");
	/* The next bundle starts anew. */
	compact_sched_clear(&s);
	add_switch(2000, &sw);
	assert_string_equal(
		columns(),
		"compact_sched { intern_table: 'b' switch_timestamp: [2000] switch_prev_state: "
		"[-1] "
		"switch_next_pid: [2097152] switch_next_prio: [-1] switch_next_comm_index: [0] }");
}

static unsigned count_in_columns(const char *part)
{
	unsigned n = 0;

	for (const char *at = columns(); (at = strstr(at, part)); at++)
		n++;
	return n;
}

/* The longest of everything, as often as a bundle takes: nothing runs over. */
TEST(full_columns_have_room_for_the_longest_values)
{
	struct switch_record sw = {.prev_state = -1, .next_pid = -7, .next_prio = -1};
	struct waking_record wa = {.target = -1, .prio = -8, .cpu = -1, .flags = 0xff};

	compact_sched_clear(&s);
	for (unsigned i = 0; i < COMPACT_MAX_EVENTS; i++) {
		assert_false(compact_sched_full(&s));
		add_switch(i % 2 ? 0 : UINT64_MAX / 2 + 1, &sw);
	}
	assert_true(compact_sched_full(&s));
	assert_int_equal(count_in_columns("-7"), COMPACT_MAX_EVENTS);
	compact_sched_clear(&s);
	for (unsigned i = 0; i < COMPACT_MAX_EVENTS / 2; i++) {
		assert_false(compact_sched_full(&s));
		add_switch(i, &sw);
		add_waking(i % 2 ? 0 : UINT64_MAX / 2 + 1, &wa);
	}
	assert_true(compact_sched_full(&s));
	assert_int_equal(count_in_columns("-7"), COMPACT_MAX_EVENTS / 2);
	assert_int_equal(count_in_columns("-8"), COMPACT_MAX_EVENTS / 2);
}

TEST_GROUP(setup, teardown)
