/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A machine with made-up switches, of which the kernel records those from or to a thread of the
 * subject. Reads the columns as every reader does: the thread that leaves a CPU is that of the
 * switch before. The slices of the subject's threads must be those of all switches.
 */
#include "base/core/mem.h"
#include "ftrace/encode/event_compile.h"
#include "ftrace/encode/subject_sched.h"
#include "unit/ftrace/formats.h"
#include "unit/rng.h"
#include "unit/test.h"
#include "wire/pb_dec.h"

#define THREADS 12 /* from tid 100 on */
#define SWITCHES 20000
#define CPU 3

struct switch_record {
	uint16_t id;
	uint8_t flags, preempt;
	int32_t pid;
	int64_t prev_state;
	char next_comm[16];
	int32_t next_pid, next_prio, prev_pid, pad;
};
#define PREV_FIELD FIELD("pid_t prev_pid", 40, 4, 1)

struct waking_record {
	uint16_t id;
	uint8_t flags, preempt;
	int32_t pid;
	char comm[16];
	int32_t target, prio, cpu;
};

struct slice {
	int32_t tid, prio;
	uint64_t begin, end, state;
};

static struct compact_sched s;
static struct subject_cpu cpu;
static struct subject_threads known;
static struct compiled_event *switch_event, *waking_event;
static struct sym_index syms;
static struct encode_ctx ctx = {.syms = &syms};
static struct slice expected[SWITCHES], found[SWITCHES];
static unsigned n_expected, n_found, n_rows;
static bool is_member[THREADS];
static struct slice running; /* as readers see it; tid -1: unknown */

static struct compiled_event *compile(const char *event, const char *fields,
				      enum compiled_kind kind)
{
	struct compiled_event *ev = NULL;
	struct tep_handle *tep;

	assert_int_equal(
		event_compile_compact(format_event("sched", event, fields, &tep), kind, &ev), 0);
	tep_free(tep);
	return ev;
}

static int setup(void **state)
{
	switch_event = compile("sched_switch", SWITCH_FIELDS PREV_FIELD, COMPILED_SUBJECT_SWITCH);
	waking_event = compile("sched_waking", WAKING_FIELDS, COMPILED_SUBJECT_WAKING);
	return 0;
}

static int teardown(void **state)
{
	free(switch_event);
	free(waking_event);
	pid_set_clear(&known.members);
	return 0;
}

static bool belongs(int32_t tid)
{
	return tid >= 100 && is_member[tid - 100];
}

static unsigned read_column(const struct pb_field *columns, uint32_t id, uint64_t *values)
{
	struct pb_field f;
	struct pb_dec d;
	unsigned n = 0;

	pb_dec_init(&d, columns->data, columns->len);
	while (pb_dec_next(&d, &f)) {
		struct pb_packed packed;

		if (f.id != id)
			continue;
		packed = pb_packed_of(&f);
		while (pb_packed_next(&packed, &values[n]))
			n++;
	}
	return n;
}

static void end_bundle(void)
{
	static uint64_t times[COMPACT_MAX_EVENTS], states[COMPACT_MAX_EVENTS],
		tids[COMPACT_MAX_EVENTS], prios[COMPACT_MAX_EVENTS];
	uint64_t time = 0;
	struct pb_field columns;
	unsigned n = 0;
	struct pb_dec d;
	struct pb_mem m;

	assert_int_equal(pb_mem_init(&m), 0);
	compact_sched_write(&s, &m.enc);
	pb_dec_init(&d, m.buf, pb_mem_len(&m));
	if (pb_dec_next(&d, &columns)) {
		n = read_column(&columns, 1, times);
		assert_int_equal(read_column(&columns, 2, states), n);
		assert_int_equal(read_column(&columns, 3, tids), n);
		assert_int_equal(read_column(&columns, 4, prios), n);
	}
	for (unsigned i = 0; i < n; i++) {
		time += times[i];
		running.end = time;
		running.state = states[i];
		if (running.tid > 0)
			found[n_found++] = running;
		/* A reader skips the first switch. */
		running = (struct slice){.tid = n_rows++ ? (int32_t)tids[i] : -1,
					 .prio = (int32_t)prios[i],
					 .begin = time};
	}
	pb_mem_deinit(&m);
	compact_sched_clear(&s);
}

static void add_switch(const struct slice *from, const struct slice *to)
{
	struct switch_record record = {.prev_pid = from->tid,
				       .prev_state = (int64_t)from->state,
				       .next_pid = to->tid,
				       .next_prio = to->prio};
	struct ring_record r = {to->begin, (const uint8_t *)&record, sizeof(record)};

	snprintf(record.next_comm, sizeof(record.next_comm), "t%d", to->tid);
	subject_sched_switch(&s, &cpu, CPU, &known, switch_event, &r, &ctx);
}

static void begin(void)
{
	compact_sched_clear(&s);
	pid_set_clear(&known.members);
	memset(&known, 0, sizeof(known));
	cpu = (struct subject_cpu){0};
	running = (struct slice){.tid = -1};
	n_expected = n_found = n_rows = 0;
	for (unsigned i = 0; i < THREADS; i++)
		is_member[i] = i % 3 == 0;
}

/* A tid gets another owner, which takes a while. */
static uint64_t change_a_member(uint64_t *g, const struct slice *now, const struct slice *next)
{
	int32_t i = (int32_t)rng_below(g, THREADS);

	if (now->tid == 100 + i || next->tid == 100 + i)
		return 0;
	is_member[i] = !is_member[i];
	return SUBJECT_STRANGER_NS;
}

/* idle: how many of 8 switches are to the idle task. */
static void run_machine(uint64_t *g, unsigned idle, bool changes)
{
	struct slice now = {.begin = 1000}, next;
	uint64_t pause = 0;

	for (unsigned i = 0; i < SWITCHES; i++) {
		next = (struct slice){.begin = now.begin + pause + rng_below(g, 3) * 1000};
		pause = 0;
		do
			next.tid =
				rng_below(g, 8) < idle ? 0 : 100 + (int32_t)rng_below(g, THREADS);
		while (next.tid == now.tid);
		next.prio = next.tid ? next.tid % 40 + 100 : 120;
		now.end = next.begin;
		now.state = now.tid ? rng_below(g, 3) : 0;
		if (belongs(now.tid) || belongs(next.tid))
			add_switch(&now, &next);
		if (belongs(now.tid))
			expected[n_expected++] = now;
		if (changes && !rng_below(g, 30))
			pause = change_a_member(g, &now, &next);
		if (!rng_below(g, 20) || s.room < SUBJECT_ROWS_MAX)
			end_bundle();
		now = next;
	}
	end_bundle();
}

static void assert_slices_equal(const struct slice *a, const struct slice *b)
{
	assert_int_equal(a->tid, b->tid);
	assert_int_equal(a->prio, b->prio);
	assert_int_equal(a->begin, b->begin);
	assert_int_equal(a->end, b->end);
	assert_int_equal(a->state, b->state);
}

TEST(the_slices_of_the_subject_are_those_of_all_switches)
{
	for (unsigned round = 0; round < 12; round++) {
		uint64_t g = round;
		unsigned n = 0;

		begin();
		run_machine(&g, round % 6, false);
		assert_true(n_expected > 1000);
		for (unsigned i = 0; i < n_found; i++)
			if (belongs(found[i].tid))
				assert_slices_equal(&found[i], &expected[n++]);
		assert_int_equal(n, n_expected);
	}
}

TEST(so_are_they_when_tids_come_and_go)
{
	for (unsigned round = 0; round < 12; round++) {
		uint64_t g = round;
		unsigned at = 0;

		begin();
		run_machine(&g, round % 6, true);
		/* A tid that has left may be shown once more. */
		for (unsigned i = 0; i < n_expected; i++, at++) {
			while (at < n_found && (found[at].tid != expected[i].tid ||
						found[at].begin != expected[i].begin))
				at++;
			assert_true(at < n_found);
			assert_slices_equal(&found[at], &expected[i]);
		}
	}
}

TEST(strangers_are_shown_only_between_two_switches_of_the_subject)
{
	struct slice at[] = {{.begin = 1000},
			     {.tid = 100, .prio = 120, .begin = 2000},
			     {.tid = 101, .prio = 98, .begin = 3000},
			     {.tid = 100, .prio = 120, .begin = 4000},
			     {.tid = 102, .prio = 98, .begin = 5000},
			     {.tid = 103, .begin = 6000},
			     {.tid = 100, .prio = 120, .begin = 7000},
			     {.tid = 0, .prio = 120, .begin = 8000}};

	begin();
	for (unsigned i = 0; i + 1 < ARRAY_SIZE(at); i++)
		if (at[i].tid == 100 || at[i + 1].tid == 100)
			add_switch(&at[i], &at[i + 1]);
	end_bundle();
	assert_int_equal(n_found, 4);
	assert_int_equal(found[1].tid, 101);
	assert_int_equal(found[1].begin, 3000);
	assert_int_equal(found[1].end, 4000);
	assert_int_equal(found[3].tid, 100);
	assert_int_equal(found[3].begin, 7000);
}

static bool add_waking(int32_t waker, uint8_t flags)
{
	const struct waking_record record = {.pid = waker, .flags = flags, .target = 100};
	struct ring_record r = {9000, (const uint8_t *)&record, sizeof(record)};

	return subject_sched_waking(&s, &cpu, CPU, &known, waking_event, &r, &ctx);
}

/* Switches from 100 to another thread and back, each time another one, and no idle task between. */
static void change_partners(void)
{
	struct slice member = {.tid = 100, .begin = 20000}, other = {.tid = 101, .begin = 21000};

	for (; other.tid < 112; other.tid++) {
		add_switch(&member, &other);
		member.begin += 2000;
		add_switch(&other, &member);
		other.begin += 2000;
	}
	end_bundle();
}

TEST(rows_of_a_member_whose_partners_change)
{
	begin();
	change_partners();
	assert_int_equal(n_found, 21);
	assert_int_equal(n_rows, 44); /* each of the two may be the one: both are shown late */

	begin();
	assert_int_equal(pid_set_add(&known.members, 100), 0); /* by the caller */
	change_partners();
	assert_int_equal(n_found, 21);
	assert_int_equal(n_rows, 34);

	begin();
	add_waking(0, 0x08); /* in an interrupt of the idle task, which is no member */
	change_partners();
	assert_int_equal(n_found, 21);
	assert_int_equal(n_rows, 34);
}

/* It may run since before the recording. */
TEST(a_thread_that_wakes_another_one_first_is_no_stranger)
{
	struct slice member = {.tid = 103, .begin = 10000}, idle = {.begin = 11000};

	begin();
	add_waking(103, 0);
	add_switch(&member, &idle);
	assert_true(pid_set_has(&known.members, 103));
	assert_false(pid_set_has(&known.members, 100));
	end_bundle();
}

/* It runs at both ends, and other switches between have shown that it is one. */
TEST(a_stranger_that_is_known_is_not_shown)
{
	struct slice member = {.tid = 100, .begin = 2000}, stranger = {.tid = 101, .begin = 3000},
		     other = {.tid = 102, .begin = 4000};

	begin();
	add_switch(&other, &member);
	add_switch(&member, &stranger);
	member.begin = 5000;
	add_switch(&other, &member);
	stranger.begin = 6000;
	add_switch(&member, &stranger);
	member.begin = 7000;
	add_switch(&stranger, &member);
	end_bundle();
	for (unsigned i = 0; i < n_found; i++)
		assert_int_equal(found[i].tid, 100);
	assert_int_equal(n_found, 2);
}

TEST(after_a_loss_nothing_is_concluded)
{
	struct slice member = {.tid = 100, .begin = 2000}, two = {.tid = 103, .begin = 4000},
		     idle = {.begin = 1000};

	begin();
	add_switch(&idle, &idle);
	add_switch(&idle, &member);
	subject_sched_lost(&cpu);
	/* It ran after another one of the subject, from a switch that was lost. */
	idle.begin = 5000;
	add_switch(&two, &idle);
	assert_true(pid_set_has(&known.members, 100));
	end_bundle();
	assert_int_equal(n_found, 1);
	assert_int_equal(found[0].tid, 100);
	assert_int_equal(found[0].end, 5000 - 1);
}

TEST(a_waker_that_readers_would_get_wrong_is_written_with_the_event)
{
	struct slice idle = {.begin = 1000}, member = {.tid = 100, .begin = 2000};

	begin();
	assert_true(add_waking(0, 0x08));
	assert_true(cpu.begun); /* readers skip what comes before the first switch */
	assert_false(add_waking(101, 0));
	assert_true(add_waking(101, 0x10)); /* a softirq, whichever thread runs */
	add_switch(&idle, &member);
	assert_true(add_waking(100, 0));
	assert_false(add_waking(101, 0x10));
}

TEST_GROUP(setup, teardown)
