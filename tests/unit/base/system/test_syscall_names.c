/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers are compared with those of this machine's headers. */
#include <sys/syscall.h>

#include "base/system/syscall_names.h"
#include "unit/test.h"

static void assert_number(const char *name, uint32_t want)
{
	char nearest[SYSCALL_NAME_MAX];
	uint32_t nr = 12345;

	assert_int_equal(syscall_name_resolve(name, &nr, nearest), 0);
	assert_int_equal(nr, want);
}

static void assert_nearest(const char *name, const char *want)
{
	char nearest[SYSCALL_NAME_MAX] = "unset";
	uint32_t nr = 12345;

	assert_int_equal(syscall_name_resolve(name, &nr, nearest), -ENOENT);
	assert_int_equal(nr, 12345);
	assert_string_equal(nearest, want);
}

TEST(names_of_numbers)
{
	char name[SYSCALL_NAME_MAX];

	syscall_name(NULL, SYS_openat, name);
	assert_string_equal(name, "openat");
	syscall_name(NULL, 462, name);
	assert_string_equal(name, "mseal"); /* newer than the library */
	syscall_name(NULL, 5000, name);
	assert_string_equal(name, "");
}

TEST(names_of_another_machine)
{
	static const struct {
		const char *machine;
		uint32_t nr;
		const char *name;
	} calls[] = {
		{"x86_64", 1, "write"},
		{"aarch64", 64, "write"},
		{"armv7l", 4, "write"},
		{"armv8l", 4, "write"},
		{"i686", 4, "write"},
		{"i386", 7, "waitpid"},
		{"riscv64", 64, "write"},
		{"aarch64", 462, "mseal"},
		{"pdp11", 1, ""},
		{"", 1, ""},
		{"i", 1, ""},
	};
	char name[SYSCALL_NAME_MAX];

	for (unsigned i = 0; i < ARRAY_SIZE(calls); i++) {
		syscall_name(calls[i].machine, calls[i].nr, name);
		assert_string_equal(name, calls[i].name);
	}
}

TEST(names_of_this_machine)
{
	assert_number("read", SYS_read);
	assert_number("sys_read", SYS_read);
	assert_number("sys_openat", SYS_openat);
	assert_number("clone3", SYS_clone3);
	assert_number("io_uring_enter", SYS_io_uring_enter);
	assert_number("futex_waitv", SYS_futex_waitv);
}

TEST(the_kernels_functions)
{
	assert_number("sys_newuname", SYS_uname);
	assert_number("umount", SYS_umount2);
#ifdef SYS_stat
	assert_number("sys_newstat", SYS_stat);
	assert_number("newfstat", SYS_fstat);
	assert_number("newlstat", SYS_lstat);
#endif
}

/* These have one number on all architectures. */
TEST(newer_than_the_library)
{
	assert_number("sys_mseal", 462);
	assert_number("file_setattr", 469);
	assert_number("listns", 470);
	assert_number("futex_wait", 455);
}

#ifdef __x86_64__
TEST(calls_of_32_bit_programs)
{
	assert_number("compat_sys_read", 3);
	assert_number("compat_sys_waitpid", 7);
	assert_number("compat_sys_clock_gettime64", 403);
	assert_number("compat_sys_mseal", 462);
	/* What this machine's own programs do not have. */
	assert_nearest("waitpid", "compat_sys_waitpid");
	assert_nearest("sys_mmap2", "compat_sys_mmap2");
	assert_nearest("compat_sys_waitpdi", "compat_sys_waitpid");
}
#endif

TEST(names_that_are_wrong)
{
	static char longest[500];

	assert_nearest("sys_raed", "sys_read");
	assert_nearest("raed", "read");
	assert_nearest("opennat", "openat");
	assert_nearest("sys_msael", "sys_mseal");
	assert_nearest("", "");
	assert_nearest("sys_", "");
	assert_nearest("compat_sys_", "");
	assert_nearest("sys_no_such_thing_at_all", "");
	assert_nearest("5", "");
	memset(longest, 'x', sizeof(longest) - 1);
	assert_nearest(longest, "");
	memcpy(longest, "compat_sys_", 11);
	assert_nearest(longest, "");
}

#ifdef __x86_64__
TEST(names_of_the_32_bit_table)
{
	char name[28];

	syscall_compat_name(295, name, sizeof(name));
	assert_string_equal(name, "openat");
	syscall_compat_name(462, name, sizeof(name));
	assert_string_equal(name, "mseal"); /* newer than the library */
	/* The longest, and no NUL is left. */
	syscall_compat_name(423, name, sizeof(name));
	assert_memory_equal(name, "sched_rr_get_interval_time64", sizeof(name));
	syscall_compat_name(222, name, sizeof(name)); /* no architecture has it */
	assert_string_equal(name, "");
	syscall_compat_name(5000, name, sizeof(name));
	assert_string_equal(name, "");
	assert_int_equal(syscall_number("openat", true), 295);
	assert_int_equal(syscall_number("openat", false), 257);
	assert_true(syscall_number("no_such_call", true) < 0);
}
#endif
