/* SPDX-License-Identifier: Apache-2.0 */
/* Who is taken for a 32-bit program, and until when. With a kernel: tests/root/test_compat.sh. */
#include "unit/ftrace/fake_tracefs.h"
#include "ftrace/events/compat_syscalls.c"
#include "base/system/syscall_names.h"

#define NATIVE 100u /* threads of /proc as it stands at first */
#define COMPAT 200u
#define GONE 300u

static struct compat_threads threads;
static int getppid64, getppid32;
static uint64_t now; /* of the next record */

static void put_auxv(uint32_t tid, const void *bytes, size_t len)
{
	char file[64];

	snprintf(file, sizeof(file), "%u/auxv", tid);
	fake_file(file, bytes, len);
}

static void put_native(uint32_t tid)
{
	put_auxv(tid, (const uint64_t[]){33, 0x7fff12345000}, 16);
}

static void put_compat(uint32_t tid)
{
	put_auxv(tid, (const uint32_t[]){32, 0xf7f00000, 33, 0xf7f01000}, 16);
}

SETUP
{
	fake_root_new();
	put_native(NATIVE);
	put_compat(COMPAT);
	fake_text("sys/abi/vsyscall32", "1");
	now = 0;
	getppid64 = syscall_number("getppid", false);
	getppid32 = syscall_number("getppid", true);
}

TEARDOWN
{
	compat_threads_deinit(&threads);
	fake_root_remove();
}

static void begin(void)
{
	int r = compat_threads_init(&threads, fake_root);

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

FIXTURE_TEST(test_a_thread_is_looked_at)
{
	begin();
	assert_false(enter(NATIVE, getppid64));
	assert_int_equal(leave(NATIVE, getppid64, 1), getppid64);
	assert_true(enter(COMPAT, getppid32));
	assert_int_equal(leave(COMPAT, getppid32, 1), -getppid32);
	assert_false(enter(GONE, getppid64));
	/* Once, */
	put_compat(NATIVE);
	assert_false(enter(NATIVE, getppid64));
	/* until it ends. */
	assert_false(enter(NATIVE, threads.numbers[0].exit_group));
	assert_true(enter(NATIVE, getppid32));
	put_native(COMPAT);
	assert_true(enter(COMPAT, threads.numbers[1].exit));
	assert_false(enter(COMPAT, getppid64));
}

FIXTURE_TEST(test_an_exec_leads_to_the_other_table)
{
	int to32, to64;

	begin();
	to32 = threads.exec_shows_size ? threads.numbers[1].execve : threads.numbers[0].execve;
	to64 = threads.exec_shows_size ? threads.numbers[0].execve : threads.numbers[1].execve;
	assert_false(enter(NATIVE, threads.numbers[0].execve));
	put_compat(NATIVE);
	/* It ends in the one that it began in. */
	assert_int_equal(leave(NATIVE, to32, 0), threads.numbers[0].execve);
	assert_true(enter(NATIVE, getppid32));
	assert_true(enter(NATIVE, threads.numbers[1].execveat));
	put_native(NATIVE);
	if (threads.exec_shows_size)
		assert_int_equal(leave(NATIVE, to64, 0), -threads.numbers[1].execveat);
	else
		assert_int_equal(leave(NATIVE, to64, 0), -to64);
	assert_false(enter(NATIVE, getppid64));
}

FIXTURE_TEST(test_an_exec_of_a_program_that_is_gone)
{
	begin();
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
	begin();
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
	begin();
	if (!threads.exec_shows_size)
		skip();
	assert_false(enter(NATIVE, threads.numbers[1].execve));
	assert_int_equal(leave(NATIVE, threads.numbers[1].execve, 0), threads.numbers[1].execve);
	assert_false(enter(NATIVE, getppid64));
	/* Its begin was before the recording. */
	put_native(NATIVE + 1);
	assert_int_equal(leave(NATIVE + 1, threads.numbers[1].execve, 0),
			 threads.numbers[1].execve);
	assert_false(enter(NATIVE + 1, getppid64));
}

FIXTURE_TEST(test_an_exec_that_fails_or_stays)
{
	begin();
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
	put_compat(NATIVE);
	assert_true(enter(NATIVE, getppid32));
}

FIXTURE_TEST(test_wide_arguments_are_those_of_a_64_bit_program)
{
	struct compat_call c = {.time = 100, .tid = COMPAT, .nr = getppid64, .wide = true};

	begin();
	assert_true(enter(COMPAT, getppid32));
	assert_false(compat_threads_enter(&threads, &c));
	assert_false(enter(COMPAT, getppid64));
}

FIXTURE_TEST(test_numbers_are_given_again)
{
	struct compat_call c = {.time = 2 + COMPAT_THREADS_NS, .tid = NATIVE, .nr = getppid64};

	begin();
	assert_false(enter(NATIVE, getppid64));
	put_compat(NATIVE);
	assert_false(enter(NATIVE, getppid64));
	assert_true(compat_threads_enter(&threads, &c));
}

FIXTURE_TEST(test_more_threads_than_places)
{
	begin();
	for (uint32_t tid = 1000; tid < 1000 + 3 * COMPAT_THREADS_MAX; tid++)
		assert_false(enter(tid, getppid64));
	assert_true(threads.n < COMPAT_THREADS_MAX);
	assert_true(enter(COMPAT, getppid32));
}

FIXTURE_TEST(test_a_kernel_without_32_bit_programs)
{
	char path[4200];

	snprintf(path, sizeof(path), "%s/sys/abi/vsyscall32", fake_root);
	unlink(path);
	if (syscall_number("getppid", true) >= 0 && sizeof(long) == 8 &&
	    compat_threads_init(&threads, fake_root) == 0)
		skip(); /* another architecture's kernel does not say */
	assert_int_equal(compat_threads_init(&threads, fake_root), -EOPNOTSUPP);
	assert_int_equal(compat_threads_init(&threads, NULL), -EOPNOTSUPP);
}
