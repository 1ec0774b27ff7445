/* SPDX-License-Identifier: Apache-2.0 */
/* Who is taken for a 32-bit program, and until when. With a kernel: tests/root/test_compat.sh. */

#include "unit/test.h"
#include "unit/ftrace/fake_tracefs.h"
#include "ftrace/events/compat_syscalls.c"
#include "base/system/syscall_names.h"

#define NATIVE 100u /* threads of /proc as it stands at first */
#define COMPAT 200u
#define GONE 300u

static struct compat_threads threads;
static int getppid64, getppid32;
static uint64_t now; /* of the next record */

static void put_auxv(const char *root, uint32_t tid, const void *bytes, size_t len)
{
	char file[64];

	snprintf(file, sizeof(file), "%u/auxv", tid);
	fake_file(root, file, bytes, len);
}

static void put_native(const char *root, uint32_t tid)
{
	put_auxv(root, tid, (const uint64_t[]){33, 0x7fff12345000}, 16);
}

static void put_compat(const char *root, uint32_t tid)
{
	put_auxv(root, tid, (const uint32_t[]){32, 0xf7f00000, 33, 0xf7f01000}, 16);
}

static int setup(void **state)
{
	if (temp_dir_setup(state))
		return -1;
	put_native(*state, NATIVE);
	put_compat(*state, COMPAT);
	fake_text(*state, "sys/abi/vsyscall32", "1");
	now = 0;
	getppid64 = syscall_number("getppid", false);
	getppid32 = syscall_number("getppid", true);
	return 0;
}

static int teardown(void **state)
{
	compat_threads_deinit(&threads);
	return temp_dir_teardown(state);
}

static void begin(void **state)
{
	int r = compat_threads_init(&threads, *state);

	if (r == -EOPNOTSUPP)
		skip(); /* a machine whose kernel has no other table */
	assert_int_equal(r, 0);
}

static bool enter(uint32_t tid, int nr)
{
	return compat_threads_enter(&threads,
				    &(struct compat_call){.time = ++now, .tid = tid, .nr = nr});
}

/* Gives the number that it has then; negative: of the 32-bit table. */
static int64_t leave(uint32_t tid, int nr, int64_t ret)
{
	struct compat_call c = {.time = ++now, .tid = tid, .nr = nr, .ret = ret};

	return compat_threads_exit(&threads, &c) ? -c.nr : c.nr;
}

#define FIXTURE_TEST(name) TEST_WITH(name, setup, teardown)

FIXTURE_TEST(test_a_thread_is_looked_at)
{
	begin(state);
	assert_false(enter(NATIVE, getppid64));
	assert_int_equal(leave(NATIVE, getppid64, 1), getppid64);
	assert_true(enter(COMPAT, getppid32));
	assert_int_equal(leave(COMPAT, getppid32, 1), -getppid32);
	assert_false(enter(GONE, getppid64));
	/* Once, */
	put_compat(*state, NATIVE);
	assert_false(enter(NATIVE, getppid64));
	/* until it ends. */
	assert_false(enter(NATIVE, threads.numbers[0].exit_group));
	assert_true(enter(NATIVE, getppid32));
	put_native(*state, COMPAT);
	assert_true(enter(COMPAT, threads.numbers[1].exit));
	assert_false(enter(COMPAT, getppid64));
}

FIXTURE_TEST(test_an_exec_leads_to_the_other_table)
{
	int to32, to64;

	begin(state);
	to32 = threads.exec_shows_size ? threads.numbers[1].execve : threads.numbers[0].execve;
	to64 = threads.exec_shows_size ? threads.numbers[0].execve : threads.numbers[1].execve;
	assert_false(enter(NATIVE, threads.numbers[0].execve));
	put_compat(*state, NATIVE);
	/* It ends in the one that it began in. */
	assert_int_equal(leave(NATIVE, to32, 0), threads.numbers[0].execve);
	assert_true(enter(NATIVE, getppid32));
	assert_true(enter(NATIVE, threads.numbers[1].execveat));
	put_native(*state, NATIVE);
	if (threads.exec_shows_size)
		assert_int_equal(leave(NATIVE, to64, 0), -threads.numbers[1].execveat);
	else
		assert_int_equal(leave(NATIVE, to64, 0), -to64);
	assert_false(enter(NATIVE, getppid64));
}

FIXTURE_TEST(test_an_exec_of_a_program_that_is_gone)
{
	begin(state);
	if (!threads.exec_shows_size)
		skip();
	assert_false(enter(GONE, threads.numbers[0].execve));
	assert_int_equal(leave(GONE, threads.numbers[1].execve, 0), threads.numbers[0].execve);
	assert_true(enter(GONE, getppid32));
	assert_true(enter(GONE, threads.numbers[1].execve));
	assert_int_equal(leave(GONE, threads.numbers[0].execve, 0), -threads.numbers[1].execve);
	assert_false(enter(GONE, getppid64));
}

/* Of another CPU's ring, which is read later. */
FIXTURE_TEST(test_what_was_before_an_exec_comes_later)
{
	begin(state);
	if (!threads.exec_shows_size)
		skip();
	now = 1000;
	assert_int_equal(leave(GONE, threads.numbers[1].execve, 0), threads.numbers[0].execve);
	assert_true(enter(GONE, getppid32));
	assert_true(enter(GONE, threads.numbers[1].exit));
	now = 500;
	assert_false(enter(GONE, getppid64));
	assert_int_equal(leave(GONE, getppid64, 1), getppid64);
	assert_false(enter(GONE, threads.numbers[0].execve));
	now = 1001;
	assert_true(enter(GONE, getppid32)); /* still before its end */
	now = 2000;
	assert_false(enter(GONE, getppid64)); /* another thread */
	/* One that is there: it is what it has become. */
	now = 3000;
	assert_int_equal(leave(COMPAT, threads.numbers[1].execve, 0), threads.numbers[0].execve);
	assert_true(enter(COMPAT, getppid32));
	now = 2900;
	assert_false(enter(COMPAT, getppid64));
}

FIXTURE_TEST(test_a_munmap_is_no_exec)
{
	begin(state);
	if (!threads.exec_shows_size)
		skip();
	assert_false(enter(NATIVE, threads.numbers[1].execve));
	assert_int_equal(leave(NATIVE, threads.numbers[1].execve, 0), threads.numbers[1].execve);
	assert_false(enter(NATIVE, getppid64));
	/* Its begin was before the recording. */
	put_native(*state, NATIVE + 1);
	assert_int_equal(leave(NATIVE + 1, threads.numbers[1].execve, 0),
			 threads.numbers[1].execve);
	assert_false(enter(NATIVE + 1, getppid64));
}

FIXTURE_TEST(test_an_exec_that_fails_or_stays)
{
	begin(state);
	assert_true(enter(COMPAT, threads.numbers[1].execve));
	assert_int_equal(leave(COMPAT, threads.numbers[1].execve, -ENOENT),
			 -threads.numbers[1].execve);
	assert_true(enter(COMPAT, getppid32));
	assert_false(enter(NATIVE, threads.numbers[0].execveat));
	assert_int_equal(leave(NATIVE, threads.numbers[0].execve, 0), threads.numbers[0].execve);
	assert_false(enter(NATIVE, getppid64));
	/* The end of another call comes in between, out of another ring. */
	assert_false(enter(NATIVE, threads.numbers[0].execve));
	assert_int_equal(leave(NATIVE, getppid64, 1), getppid64);
	if (threads.exec_shows_size) {
		leave(NATIVE, threads.numbers[1].execve, 0);
		assert_true(enter(NATIVE, getppid32));
		enter(NATIVE, threads.numbers[1].exit);
	}
	/* The end of one is missing. */
	assert_false(enter(NATIVE, threads.numbers[0].execve));
	put_compat(*state, NATIVE);
	assert_true(enter(NATIVE, getppid32));
}

FIXTURE_TEST(test_wide_arguments_are_those_of_a_64_bit_program)
{
	struct compat_call c = {.time = 100, .tid = COMPAT, .nr = getppid64, .wide = true};

	begin(state);
	assert_true(enter(COMPAT, getppid32));
	assert_false(compat_threads_enter(&threads, &c));
	assert_false(enter(COMPAT, getppid64));
}

FIXTURE_TEST(test_numbers_are_given_again)
{
	struct compat_call c = {.time = 2 + COMPAT_THREADS_NS, .tid = NATIVE, .nr = getppid64};

	begin(state);
	assert_false(enter(NATIVE, getppid64));
	put_compat(*state, NATIVE);
	assert_false(enter(NATIVE, getppid64));
	assert_true(compat_threads_enter(&threads, &c));
}

FIXTURE_TEST(test_more_threads_than_places)
{
	begin(state);
	for (uint32_t tid = 1000; tid < 1000 + 3 * COMPAT_THREADS_MAX; tid++)
		assert_false(enter(tid, getppid64));
	assert_true(threads.n < COMPAT_THREADS_MAX);
	assert_true(enter(COMPAT, getppid32));
}

FIXTURE_TEST(test_a_kernel_without_32_bit_programs)
{
	char path[4200];

	snprintf(path, sizeof(path), "%s/sys/abi/vsyscall32", (char *)*state);
	unlink(path);
	if (syscall_number("getppid", true) >= 0 && sizeof(long) == 8 &&
	    compat_threads_init(&threads, *state) == 0)
		skip(); /* another architecture's kernel does not say */
	assert_int_equal(compat_threads_init(&threads, *state), -EOPNOTSUPP);
	assert_int_equal(compat_threads_init(&threads, NULL), -EOPNOTSUPP);
}
