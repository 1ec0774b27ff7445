/* SPDX-License-Identifier: Apache-2.0 */
#include "ftrace/encode/metadata.h"
#include "unit/fixture.h"
#include "unit/rng.h"

static const struct clock_sync boot;
static struct metadata_events events;
static struct metadata_batch batch;

SETUP
{
	assert_int_equal(metadata_init(&events), 0);
}

TEARDOWN
{
	metadata_deinit(&events);
}

/* ---- records, in a form of the test's own ---- */

static const struct metadata_fields new_plan = {METADATA_NEW, 1, 8, 16, 32};
static const struct metadata_fields rename_plan = {METADATA_RENAMED, 0, 8, 16, 0};
static const struct metadata_fields exec_plan = {METADATA_EXEC, 0, 8, 16, 12};

static uint8_t bytes[8192];

static void put(size_t at, const void *data, size_t len)
{
	memcpy(bytes + at, data, len);
}

static void put32(size_t at, uint32_t v)
{
	put(at, &v, sizeof(v));
}

static void put64(size_t at, uint64_t v)
{
	put(at, &v, sizeof(v));
}

static void add(const struct metadata_fields *plan, uint64_t time, uint32_t len, int32_t common_pid)
{
	/* Of its own size, so that a sanitizer sees who reads behind it. */
	uint8_t *copy = malloc(len);

	memcpy(copy, bytes, len);
	metadata_add(&events, plan,
		     &(struct ring_record){.time = time, .payload = copy, .len = len}, common_pid);
	free(copy);
}

static void add_new(uint64_t time, int32_t tid, int32_t creator, uint64_t flags, const char *name)
{
	char comm[16] = "";

	memcpy(comm, name, strlen(name));
	put32(8, (uint32_t)tid);
	put(16, comm, 16);
	put64(32, flags);
	add(&new_plan, time, 40, creator);
}

static void add_rename(uint64_t time, int32_t tid, const char *name)
{
	char comm[16] = "";

	memcpy(comm, name, strlen(name));
	put32(8, (uint32_t)tid);
	put(16, comm, 16);
	add(&rename_plan, time, 32, tid);
}

static void add_exec(uint64_t time, int32_t tid, int32_t old, const char *file)
{
	uint32_t len = (uint32_t)strlen(file) + 1;

	put32(8, (uint32_t)tid);
	put32(12, (uint32_t)old);
	put32(16, len << 16 | 20);
	put(20, file, len);
	add(&exec_plan, time, 20 + len, tid);
}

static bool take(uint64_t until)
{
	return metadata_take_batch(&events, &boot, until, &batch);
}

/* A batch as text: "@5 new 70 by 7 name; @6 exec 70 file; tid 70". */
static const char *batch_text(void)
{
	static char text[1024];
	FILE *out = fmemopen(text, sizeof(text), "w");

	for (size_t i = 0; i < batch.n_tasks; i++) {
		const struct metadata_task *t = &batch.tasks[i];

		fprintf(out, "%s@%d ", i ? "; " : "", (int)t->time_ns);
		if (t->kind == METADATA_TASK_NEW)
			fprintf(out, "new %d by %d %.16s%s%s", t->tid, t->other, t->name,
				t->is_thread ? " thread" : "", t->is_sibling ? " sibling" : "");
		else if (t->kind == METADATA_TASK_RENAMED)
			fprintf(out, "name %d %.16s", t->tid, t->name);
		else if (t->kind == METADATA_TASK_EXEC)
			fprintf(out, "exec %d was %d %.*s", t->tid, t->other, (int)t->file_len,
				t->file);
		else if (t->kind == METADATA_TASK_ENDED)
			fprintf(out, "end %d", t->tid);
	}
	for (size_t i = 0; i < batch.n_tids; i++)
		fprintf(out, "; tid %d", batch.tids[i]);
	fclose(out);
	return batch.n_tasks ? text : text + 2;
}

/* Publishes what is complete at that time, and drops it. */
static void expect_batch(uint64_t until, const char *want, const char *file, int line)
{
	_assert_true(take(until), "nothing is complete", file, line);
	_assert_string_equal(batch_text(), want, file, line);
	metadata_free_batch(&events);
}

#define assert_batch(until, want) expect_batch(until, want, __FILE__, __LINE__)

/* ---- what a record says ---- */

FIXTURE_TEST(a_new_process_and_a_new_thread)
{
	add_new(5, 70, 7, 17, "sixteen-bytes-xx");
	add_new(6, 71, 70, 0x3d0f00, "worker");
	add_new(7, 72, 70, 0x8000, "");
	assert_batch(100, "@5 new 70 by 7 sixteen-bytes-xx; @6 new 71 by 70 worker thread; "
			  "@7 new 72 by 70  sibling");
}

FIXTURE_TEST(flags_of_a_32_bit_kernel)
{
	struct metadata_fields plan = new_plan;

	plan.wide = 0;
	put(16, (char[16]){"x"}, 16);
	put32(8, 70);
	put32(32, 0x10000);
	put32(36, 0xffffffff); /* not of the flags */
	add(&plan, 1, 40, 7);
	assert_batch(100, "@1 new 70 by 7 x thread");
}

FIXTURE_TEST(a_renamed_task)
{
	struct metadata_fields plan = rename_plan;

	add_rename(5, 70, "new name");
	plan.subject = 0; /* the current thread */
	add(&plan, 6, 32, 99);
	assert_batch(100, "@5 name 70 new name; @6 name 99 new name");
}

FIXTURE_TEST(an_executed_program)
{
	add_exec(5, 70, 70, "/bin/true");
	add_exec(6, 80, 83, "");
	assert_batch(100, "@5 exec 70 was 0 /bin/true; @6 exec 80 was 83 ");
}

FIXTURE_TEST(an_ended_task)
{
	static const struct metadata_fields plan = {METADATA_ENDED, 0, 24, 0, 0};

	put32(24, 70);
	add(&plan, 5, 28, 99);
	assert_batch(100, "@5 end 70");
}

/* The place and length of the file's name are the record's own words. */
FIXTURE_TEST(a_program_whose_name_lies_elsewhere)
{
	static const uint32_t bad[] = {0xffffffff, 10u << 16 | 25, 1u << 16 | 0xffff,
				       12u << 16 | 20};

	put32(8, 70);
	put32(12, 70);
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		put32(16, bad[i]);
		add(&exec_plan, i, 30, 70);
	}
	put32(16, 10u << 16 | 20); /* just so; no NUL in it */
	put(20, "0123456789", 10);
	add(&exec_plan, 9, 30, 70);
	assert_batch(100, "@0 exec 70 was 0 ; @1 exec 70 was 0 ; @2 exec 70 was 0 ; "
			  "@3 exec 70 was 0 ; @9 exec 70 was 0 0123456789");
}

/* ---- when it is published ---- */

FIXTURE_TEST(records_of_several_cpus_are_published_by_time)
{
	add_rename(2, 70, "b");
	add_rename(4, 70, "d");
	add_rename(9, 70, "late");
	add_rename(1, 70, "a");
	add_rename(3, 70, "c");
	add_rename(8, 70, "late");
	assert_batch(5, "@1 name 70 a; @2 name 70 b; @3 name 70 c; @4 name 70 d");
	add_rename(6, 70, "f");
	assert_batch(8, "@6 name 70 f"); /* not yet those of then */
	assert_batch(UINT64_MAX, "@8 name 70 late; @9 name 70 late");
}

FIXTURE_TEST(many_runs_of_many_lengths)
{
	uint64_t seed = 1, last = 0;

	for (uint64_t n = 0, time = 0; n < 5000; n++) {
		time = rng_below(&seed, 50) ? time + rng_below(&seed, 100)
					    : rng_below(&seed, 10000);
		add_new(time, (int32_t)n + 1, 7, 0, "x");
	}
	assert_true(take(UINT64_MAX));
	assert_int_equal(batch.n_tasks, 5000);
	for (size_t i = 0; i < batch.n_tasks; i++) {
		assert_true(batch.tasks[i].time_ns >= last);
		/* Those of one moment as they came. */
		if (i && batch.tasks[i].time_ns == last)
			assert_true(batch.tasks[i].tid > batch.tasks[i - 1].tid);
		last = batch.tasks[i].time_ns;
	}
}

FIXTURE_TEST(names_of_files_are_kept)
{
	char file[32], want[128] = "@5 exec 71 was 0 /bin/done";

	for (int round = 0; round < 1000; round++) {
		snprintf(file, sizeof(file), "/bin/kept-%d", round);
		add_exec(10 * round + 15, 70, 70, file);
		add_exec(10 * round + 5, 71, 71, "/bin/done");
		assert_batch(10 * round + 10, want);
		assert_true(events.text_len < 32);
		snprintf(want, sizeof(want), "@%d exec 70 was 0 %s; @%d exec 71 was 0 /bin/done",
			 10 * round + 15, file, 10 * round + 15);
	}
}

FIXTURE_TEST(threads_with_events_in_the_next_batch)
{
	tid_list_add(&events.tids, 70);
	tid_list_add(&events.tids, 71);
	tid_list_add(&events.tids, 72);
	add_new(5, 71, 70, 0, "early");
	add_new(15, 72, 70, 0, "late");
	assert_batch(10, "@5 new 71 by 70 early; tid 70; tid 71");
	tid_list_add(&events.tids, 72);
	assert_batch(20, "@15 new 72 by 70 late; tid 72");
}

static void see(uint64_t time, int32_t tid)
{
	tid_list_add(metadata_tids(&events, time), tid);
}

/* On one CPU it is seen to run, on another one its beginning has not been read yet. */
FIXTURE_TEST(threads_of_after_the_pass_began)
{
	metadata_set_complete_before(&events, &boot, 10);
	see(9, 70);
	see(10, 71);
	see(11, 70);
	assert_batch(10, "tid 70");
	metadata_set_complete_before(&events, &boot, 20);
	add_new(9, 71, 70, 0, "new");
	assert_batch(20, "@9 new 71 by 70 new; tid 71; tid 70");
	assert_false(take(30));
	/* At the end nothing waits. */
	metadata_set_complete_before(&events, &boot, 30);
	see(29, 72);
	see(31, 72);
	see(31, 73);
	assert_batch(UINT64_MAX, "tid 72; tid 73");
	assert_false(take(UINT64_MAX));
}

FIXTURE_TEST(the_pass_on_another_clock)
{
	struct clock_sync sync = {
		.clock = FTRACE_CLOCK_MONO_RAW, .ftrace_ns = 1000, .boot_ns = 5000};

	assert_ptr_equal(metadata_tids(&events, UINT64_MAX - 1), &events.tids);
	metadata_set_complete_before(&events, &sync, 4900);
	assert_ptr_equal(metadata_tids(&events, 899), &events.tids);
	assert_ptr_equal(metadata_tids(&events, 900), &events.later);
	metadata_set_complete_before(&events, &sync, UINT64_MAX);
	assert_ptr_equal(metadata_tids(&events, 900), &events.tids);
	sync.ftrace_ns = 0;
	metadata_set_complete_before(&events, &sync, 4900);
	assert_ptr_equal(metadata_tids(&events, 900), &events.tids);
}

FIXTURE_TEST(nothing_new_before_the_next_pass)
{
	assert_false(take(10));
	add_rename(5, 70, "a");
	tid_list_add(&events.tids, 70);
	assert_false(take(10));
	assert_false(take(9));
	assert_batch(11, "@5 name 70 a; tid 70");
	assert_false(take(12));
}

FIXTURE_TEST(times_of_another_clock)
{
	struct clock_sync sync = {
		.clock = FTRACE_CLOCK_MONO_RAW, .ftrace_ns = 1000, .boot_ns = 5000};

	add_rename(900, 70, "a");
	add_rename(1100, 70, "b");
	assert_true(metadata_take_batch(&events, &sync, 5050, &batch));
	assert_string_equal(batch_text(), "@4900 name 70 a");
	metadata_free_batch(&events);
	/* Kept, and converted by the clocks of the later batch. */
	sync = (struct clock_sync){
		.clock = FTRACE_CLOCK_MONO_RAW, .ftrace_ns = 2000, .boot_ns = 6001};
	assert_true(metadata_take_batch(&events, &sync, 6000, &batch));
	assert_string_equal(batch_text(), "@5101 name 70 b");
	metadata_free_batch(&events);
	/* The clock does not count time: all that was read is published. */
	add_rename(77, 70, "a");
	sync.ftrace_ns = 0;
	assert_true(metadata_take_batch(&events, &sync, 7000, &batch));
	assert_string_equal(batch_text(), "@0 name 70 a");
}

/* ---- limits ---- */

FIXTURE_TEST(more_than_can_be_held)
{
	char file[4000];

	for (uint32_t i = 0; i <= METADATA_MAX_TASKS / 2; i++) {
		assert_false(metadata_is_urgent(&events));
		add_rename(i, 70, "a");
	}
	assert_true(metadata_is_urgent(&events));
	for (uint32_t i = 0; i < METADATA_MAX_TASKS; i++)
		add_rename(i, 70, "a");
	assert_true(take(UINT64_MAX));
	assert_int_equal(batch.n_tasks, METADATA_MAX_TASKS);
	assert_int_equal(batch.lost, METADATA_MAX_TASKS / 2 + 1);
	metadata_free_batch(&events);
	assert_false(take(UINT64_MAX));

	memset(file, 'x', sizeof(file));
	file[sizeof(file) - 1] = '\0';
	for (size_t i = 0; i < 2 * METADATA_MAX_TEXT / sizeof(file); i++)
		add_exec(i, 70, 70, file);
	assert_true(metadata_is_urgent(&events));
	assert_true(take(UINT64_MAX));
	assert_int_equal(batch.tasks[0].file_len, sizeof(file) - 1);
	assert_int_equal(batch.tasks[batch.n_tasks - 1].file_len, 0);
}
