/* SPDX-License-Identifier: Apache-2.0 */
#include <sys/syscall.h>
#include <sys/sysmacros.h>

#include "unit/fixture.h"
#include "ftrace/encode/bundle.h"
#include "ftrace/encode/metadata.h"
#include "unit/rng.h"

static const struct clock_sync boot;
static struct metadata_events news;
static struct metadata_batch repr;

SETUP
{
	assert_int_equal(metadata_init(&news, METADATA_TASKS | METADATA_FDS | METADATA_INODES), 0);
}

TEARDOWN
{
	metadata_deinit(&news);
}

/* ---- records, in a form of the test's own ---- */

static const struct metadata_fields new_plan = {METADATA_NEW, 1, 8, 16, 32};
static const struct metadata_fields rename_plan = {METADATA_RENAMED, 0, 8, 16, 0};
static const struct metadata_fields exec_plan = {METADATA_EXEC, 0, 8, 16, 12};
static const struct metadata_fields exit_plan = {METADATA_SYS_EXIT, 1, 8, 0, 16};

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
	metadata_add(&news, plan, &(struct ring_record){.time = time, .payload = copy, .len = len},
		     common_pid);
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

static void add_exit(int32_t tid, uint64_t nr, uint64_t ret)
{
	put64(8, nr);
	put64(16, ret);
	add(&exit_plan, 1, 24, tid);
}

static bool tell(uint64_t until)
{
	return metadata_take_batch(&news, &boot, until, &repr);
}

/* ---- what a record says ---- */

FIXTURE_TEST(test_a_new_process_and_a_new_thread)
{
	add_new(5, 70, 7, 17, "sixteen-bytes-xx");
	add_new(6, 71, 70, 0x3d0f00, "worker");
	add_new(7, 72, 70, 0x8000, "");
	assert_true(tell(100));
	assert_int_equal(repr.n_tasks, 3);
	assert_int_equal(repr.tasks[0].kind, METADATA_TASK_NEW);
	assert_int_equal(repr.tasks[0].time_ns, 5);
	assert_int_equal(repr.tasks[0].tid, 70);
	assert_int_equal(repr.tasks[0].other, 7);
	assert_false(repr.tasks[0].is_thread);
	assert_memory_equal(repr.tasks[0].name, "sixteen-bytes-xx", 16);
	assert_true(repr.tasks[1].is_thread);
	assert_false(repr.tasks[1].is_sibling);
	assert_true(repr.tasks[2].is_sibling);
	assert_false(repr.tasks[2].is_thread);
}

FIXTURE_TEST(test_flags_of_a_32_bit_kernel)
{
	struct metadata_fields plan = new_plan;

	plan.wide = 0;
	put32(8, 70);
	put32(32, 0x10000);
	put32(36, 0xffffffff); /* not of the flags */
	add(&plan, 1, 40, 7);
	assert_true(tell(100));
	assert_true(repr.tasks[0].is_thread);
	assert_false(repr.tasks[0].is_sibling);
}

FIXTURE_TEST(test_a_name)
{
	struct metadata_fields plan = rename_plan;

	add_rename(5, 70, "new name");
	plan.subject = 0; /* whoever runs */
	add(&plan, 6, 32, 99);
	assert_true(tell(100));
	assert_int_equal(repr.tasks[0].kind, METADATA_TASK_RENAMED);
	assert_int_equal(repr.tasks[0].tid, 70);
	assert_string_equal(repr.tasks[0].name, "new name");
	assert_int_equal(repr.tasks[1].tid, 99);
}

FIXTURE_TEST(test_a_program)
{
	add_exec(5, 70, 70, "/bin/true");
	add_exec(6, 80, 83, "");
	assert_true(tell(100));
	assert_int_equal(repr.tasks[0].kind, METADATA_TASK_EXEC);
	assert_int_equal(repr.tasks[0].other, 0);
	assert_int_equal(repr.tasks[0].file_len, 9);
	assert_memory_equal(repr.tasks[0].file, "/bin/true", 9);
	assert_int_equal(repr.tasks[1].other, 83);
	assert_int_equal(repr.tasks[1].file_len, 0);
}

FIXTURE_TEST(test_an_end)
{
	static const struct metadata_fields plan = {METADATA_ENDED, 0, 24, 0, 0};

	put32(24, 70);
	add(&plan, 5, 28, 99);
	assert_true(tell(100));
	assert_int_equal(repr.tasks[0].kind, METADATA_TASK_ENDED);
	assert_int_equal(repr.tasks[0].tid, 70);
}

/* The place and length of the file's name are the record's own words. */
FIXTURE_TEST(test_a_program_whose_name_lies_elsewhere)
{
	static const uint32_t bad[] = {0xffffffff, 10u << 16 | 25, 1u << 16 | 0xffff,
				       12u << 16 | 20};

	put32(8, 70);
	put32(12, 70);
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		put32(16, bad[i]);
		add(&exec_plan, i, 30, 70);
	}
	put32(16, 10u << 16 | 20); /* just so; no NUL in it */
	put(20, "0123456789", 10);
	add(&exec_plan, 9, 30, 70);
	assert_true(tell(100));
	assert_int_equal(repr.n_tasks, 5);
	for (size_t i = 0; i < 4; i++)
		assert_int_equal(repr.tasks[i].file_len, 0);
	assert_int_equal(repr.tasks[4].file_len, 10);
}

FIXTURE_TEST(test_descriptors)
{
	add_exit(70, SYS_openat, 3);
	add_exit(70, SYS_openat, 3); /* the same again */
	add_exit(70, SYS_read, 100);
	add_exit(70, SYS_openat, (uint64_t)-2);
	add_exit(70, SYS_openat, 1ull << 32);
	add_exit(70, 1u << 30, 3);
	add_exit(71, SYS_dup, 3);
	add_exit(70, SYS_dup, 0);
	assert_true(tell(100));
	assert_int_equal(repr.n_fds, 3);
	assert_int_equal(repr.fds[0].tid, 70);
	assert_int_equal(repr.fds[0].fd, 3);
	assert_int_equal(repr.fds[1].tid, 71);
	assert_int_equal(repr.fds[2].fd, 0);
	metadata_drop_batch(&news);
	add_exit(70, SYS_openat, 3);
	assert_true(tell(200));
	assert_int_equal(repr.n_fds, 1);
}

FIXTURE_TEST(test_numbers_of_32_bits)
{
	struct metadata_fields plan = {METADATA_SYS_EXIT, 0, 8, 0, 12};

	put32(8, SYS_openat);
	put32(12, 7);
	add(&plan, 1, 16, 70);
	put32(12, (uint32_t)-13);
	add(&plan, 1, 16, 70);
	assert_true(tell(100));
	assert_int_equal(repr.n_fds, 1);
	assert_int_equal(repr.fds[0].fd, 7);
}

FIXTURE_TEST(test_descriptors_that_nobody_wants)
{
	metadata_deinit(&news);
	assert_int_equal(metadata_init(&news, METADATA_TASKS), 0);
	add_exit(70, SYS_openat, 3);
	assert_false(tell(100));
}

/* ---- files ---- */

static void add_inode(const struct metadata_fields *plan, uint64_t inode, int32_t common_pid)
{
	put32(8, 8u << 20 | 300); /* 8:300 */
	put64(16, inode);
	put64(24, 2);
	add(plan, 1, 32, common_pid);
}

FIXTURE_TEST(test_files_that_events_name)
{
	static const struct metadata_fields file = {METADATA_INODE, 1, 8, 0, 16},
					    both = {METADATA_INODE, 1, 8, 24, 16},
					    narrow = {METADATA_INODE, 0, 8, 0, 16};

	add_inode(&file, 1ull << 40 | 7, 70);
	add_inode(&file, 1ull << 40 | 7, 71);
	add_inode(&both, 9, 70);
	add_inode(&narrow, 1ull << 40 | 11, 70);
	add_inode(&file, 0, 70); /* none */
	add_inode(&file, 99, getpid()); /* by us */
	assert_true(tell(100));
	assert_int_equal(repr.n_inodes, 4);
	assert_true(repr.inodes[0].inode == (1ull << 40 | 7));
	assert_true(repr.inodes[0].device == makedev(8, 300));
	assert_int_equal(repr.inodes[1].inode, 9);
	assert_int_equal(repr.inodes[2].inode, 2);
	assert_int_equal(repr.inodes[3].inode, 11);
	assert_int_equal(repr.n_fds + repr.n_tasks, 0);
	metadata_drop_batch(&news);
	/* Once, also when it comes again later. */
	add_inode(&file, 1ull << 40 | 7, 70);
	assert_false(tell(200));
	for (uint64_t i = 0; i < METADATA_MAX_INODES + 10; i++)
		add_inode(&file, 1000 + i, 70);
	assert_true(tell(300));
	assert_int_equal(repr.n_inodes, METADATA_MAX_INODES);
	assert_int_equal(repr.lost_inodes, 10);
	assert_int_equal(repr.lost, 0);
}

FIXTURE_TEST(test_files_that_nobody_wants)
{
	static const struct metadata_fields file = {METADATA_INODE, 1, 8, 0, 16};

	metadata_deinit(&news);
	assert_int_equal(metadata_init(&news, METADATA_TASKS | METADATA_FDS), 0);
	add_inode(&file, 7, 70);
	assert_false(tell(100));
}

/* ---- when it is told ---- */

FIXTURE_TEST(test_cpu_by_cpu_in_by_time_out)
{
	add_rename(2, 70, "b");
	add_rename(4, 70, "d");
	add_rename(9, 70, "late");
	add_rename(1, 70, "a");
	add_rename(3, 70, "c");
	add_rename(8, 70, "late");
	assert_true(tell(5));
	assert_int_equal(repr.n_tasks, 4);
	for (size_t i = 0; i < 4; i++)
		assert_int_equal(repr.tasks[i].name[0], "abcd"[i]);
	metadata_drop_batch(&news);
	add_rename(6, 70, "f");
	assert_true(tell(8)); /* not yet those of then */
	assert_int_equal(repr.n_tasks, 1);
	assert_int_equal(repr.tasks[0].time_ns, 6);
	metadata_drop_batch(&news);
	assert_true(tell(UINT64_MAX));
	assert_int_equal(repr.n_tasks, 2);
	assert_int_equal(repr.tasks[0].time_ns, 8);
	assert_int_equal(repr.tasks[1].time_ns, 9);
}

FIXTURE_TEST(test_at_one_moment_in_the_order_of_the_records)
{
	add_new(5, 70, 7, 0, "a");
	add_rename(5, 70, "b");
	add_exec(5, 70, 70, "c");
	add_rename(4, 60, "d");
	assert_true(tell(100));
	assert_int_equal(repr.tasks[0].tid, 60);
	assert_int_equal(repr.tasks[1].kind, METADATA_TASK_NEW);
	assert_int_equal(repr.tasks[2].kind, METADATA_TASK_RENAMED);
	assert_int_equal(repr.tasks[3].kind, METADATA_TASK_EXEC);
}

FIXTURE_TEST(test_many_runs_of_many_lengths)
{
	uint64_t seed = 1, last = 0;

	for (uint64_t n = 0, time = 0; n < 5000; n++) {
		time = rng_below(&seed, 50) ? time + rng_below(&seed, 100)
					    : rng_below(&seed, 10000);
		add_new(time, (int32_t)n + 1, 7, 0, "x");
	}
	assert_true(tell(UINT64_MAX));
	assert_int_equal(repr.n_tasks, 5000);
	for (size_t i = 0; i < repr.n_tasks; i++) {
		assert_true(repr.tasks[i].time_ns >= last);
		/* Those of one moment as they came. */
		if (i && repr.tasks[i].time_ns == last)
			assert_true(repr.tasks[i].tid > repr.tasks[i - 1].tid);
		last = repr.tasks[i].time_ns;
	}
}

FIXTURE_TEST(test_names_of_files_are_kept)
{
	char file[32];

	for (unsigned round = 0; round < 1000; round++) {
		snprintf(file, sizeof(file), "/bin/kept-%u", round);
		add_exec(10 * round + 15, 70, 70, file);
		add_exec(10 * round + 5, 71, 71, "/bin/told");
		assert_true(tell(10 * round + 10));
		assert_int_equal(repr.n_tasks, round ? 2 : 1);
		assert_memory_equal(repr.tasks[repr.n_tasks - 1].file, "/bin/told", 9);
		if (round) {
			snprintf(file, sizeof(file), "/bin/kept-%u", round - 1);
			assert_int_equal(repr.tasks[0].file_len, strlen(file));
			assert_memory_equal(repr.tasks[0].file, file, strlen(file));
		}
		metadata_drop_batch(&news);
		assert_true(news.text_len < 32);
	}
}

FIXTURE_TEST(test_threads_of_whom_there_is_more_to_tell)
{
	tid_list_add(&news.tids, 70);
	tid_list_add(&news.tids, 71);
	tid_list_add(&news.tids, 72);
	add_new(5, 71, 70, 0, "early");
	add_new(15, 72, 70, 0, "late");
	assert_true(tell(10));
	assert_int_equal(repr.n_tasks, 1);
	assert_int_equal(repr.n_tids, 2);
	assert_int_equal(repr.tids[0], 70);
	assert_int_equal(repr.tids[1], 71);
	metadata_drop_batch(&news);
	tid_list_add(&news.tids, 72);
	assert_true(tell(20));
	assert_int_equal(repr.n_tasks, 1);
	assert_int_equal(repr.n_tids, 1);
}

static void see(uint64_t time, int32_t tid)
{
	tid_list_add(metadata_tids(&news, time), tid);
}

/* On one CPU it is seen to run, on another one its beginning has not been read yet. */
FIXTURE_TEST(test_threads_of_after_the_pass_began)
{
	metadata_complete_before(&news, &boot, 10);
	see(9, 70);
	see(10, 71);
	see(11, 70);
	assert_true(tell(10));
	assert_int_equal(repr.n_tids, 1);
	assert_int_equal(repr.tids[0], 70);
	metadata_drop_batch(&news);
	metadata_complete_before(&news, &boot, 20);
	add_new(9, 71, 70, 0, "new");
	assert_true(tell(20));
	assert_int_equal(repr.n_tasks, 1);
	assert_int_equal(repr.n_tids, 2);
	assert_int_equal(repr.tids[0], 71);
	metadata_drop_batch(&news);
	assert_false(tell(30));
	/* At the end nothing waits. */
	metadata_complete_before(&news, &boot, 30);
	see(29, 72);
	see(31, 72);
	see(31, 73);
	assert_true(tell(UINT64_MAX));
	assert_int_equal(repr.n_tids, 2);
	metadata_drop_batch(&news);
	assert_false(tell(UINT64_MAX));
}

FIXTURE_TEST(test_the_pass_on_another_clock)
{
	struct clock_sync sync = {
		.clock = FTRACE_CLOCK_MONO_RAW, .ftrace_ns = 1000, .boot_ns = 5000};

	assert_ptr_equal(metadata_tids(&news, UINT64_MAX - 1), &news.tids);
	metadata_complete_before(&news, &sync, 4900);
	assert_ptr_equal(metadata_tids(&news, 899), &news.tids);
	assert_ptr_equal(metadata_tids(&news, 900), &news.later);
	metadata_complete_before(&news, &sync, UINT64_MAX);
	assert_ptr_equal(metadata_tids(&news, 900), &news.tids);
	sync.ftrace_ns = 0;
	metadata_complete_before(&news, &sync, 4900);
	assert_ptr_equal(metadata_tids(&news, 900), &news.tids);
}

FIXTURE_TEST(test_nothing_new_before_the_next_pass)
{
	assert_false(tell(10));
	add_rename(5, 70, "a");
	tid_list_add(&news.tids, 70);
	assert_false(tell(10));
	assert_false(tell(9));
	assert_true(tell(11));
	assert_int_equal(repr.n_tasks, 1);
	metadata_drop_batch(&news);
	assert_false(tell(12));
}

FIXTURE_TEST(test_times_of_another_clock)
{
	struct clock_sync sync = {
		.clock = FTRACE_CLOCK_MONO_RAW, .ftrace_ns = 1000, .boot_ns = 5000};

	add_rename(900, 70, "a");
	add_rename(1100, 70, "b");
	assert_true(metadata_take_batch(&news, &sync, 5050, &repr));
	assert_int_equal(repr.n_tasks, 1);
	assert_int_equal(repr.tasks[0].time_ns, 4900);
	metadata_drop_batch(&news);
	/* Kept, and told by what is known of the clocks then. */
	sync = (struct clock_sync){
		.clock = FTRACE_CLOCK_MONO_RAW, .ftrace_ns = 2000, .boot_ns = 6001};
	assert_true(metadata_take_batch(&news, &sync, 6000, &repr));
	assert_int_equal(repr.tasks[0].time_ns, 5101);
	metadata_drop_batch(&news);
	/* Nobody can tell what the clock counts: what has been read is told. */
	add_rename(77, 70, "a");
	sync.ftrace_ns = 0;
	assert_true(metadata_take_batch(&news, &sync, 7000, &repr));
	assert_int_equal(repr.tasks[0].time_ns, 0);
}

/* ---- limits ---- */

FIXTURE_TEST(test_more_than_can_be_held)
{
	char file[4000];

	for (uint32_t i = 0; i <= METADATA_MAX_TASKS / 2; i++) {
		assert_false(metadata_is_urgent(&news));
		add_rename(i, 70, "a");
	}
	assert_true(metadata_is_urgent(&news));
	for (uint32_t i = 0; i < METADATA_MAX_TASKS; i++)
		add_rename(i, 70, "a");
	assert_true(tell(UINT64_MAX));
	assert_int_equal(repr.n_tasks, METADATA_MAX_TASKS);
	assert_int_equal(repr.lost, METADATA_MAX_TASKS / 2 + 1);
	metadata_drop_batch(&news);
	assert_false(tell(UINT64_MAX));

	memset(file, 'x', sizeof(file));
	file[sizeof(file) - 1] = '\0';
	for (size_t i = 0; i < 2 * METADATA_MAX_TEXT / sizeof(file); i++)
		add_exec(i, 70, 70, file);
	assert_true(metadata_is_urgent(&news));
	assert_true(tell(UINT64_MAX));
	assert_int_equal(repr.tasks[0].file_len, sizeof(file) - 1);
	assert_int_equal(repr.tasks[repr.n_tasks - 1].file_len, 0);
	metadata_drop_batch(&news);

	for (int i = 0; i < 100000; i++)
		add_exit(1 + i, SYS_dup, (uint64_t)i);
	assert_true(tell(UINT64_MAX));
	assert_int_equal(repr.n_fds, METADATA_MAX_FDS);
	assert_int_equal(repr.lost, 100000 - METADATA_MAX_FDS);
}
