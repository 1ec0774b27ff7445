/* SPDX-License-Identifier: Apache-2.0 */
#include <sys/syscall.h>

#include "unit/test.h"
#include "ftrace/format/metadata_fields.h"

TEST(test_calls_that_give_a_descriptor)
{
	static const int yes[] = {SYS_openat, SYS_openat2, SYS_socket,	    SYS_accept4,
				  SYS_dup,    SYS_dup3,	   SYS_memfd_create};
	static const int no[] = {SYS_read,	 SYS_close, SYS_pipe2,
				 SYS_socketpair, SYS_fcntl, SYS_exit};

	for (size_t i = 0; i < ARRAY_SIZE(yes); i++)
		assert_true(fd_syscalls_has((uint64_t)yes[i]));
	for (size_t i = 0; i < ARRAY_SIZE(no); i++)
		assert_false(fd_syscalls_has((uint64_t)no[i]));
	assert_false(fd_syscalls_has(1023));
	assert_false(fd_syscalls_has(1024));
	assert_false(fd_syscalls_has(UINT64_MAX));
}

/* "... id == 2 || (id >= 32 && id <= 33) ..." */
static bool passes(const char *filter, unsigned nr)
{
	unsigned first, last;

	for (const char *p = filter; (p = strstr(p, "id ")); p++) {
		if (sscanf(p, "id == %u", &first) == 1 && nr == first)
			return true;
		if (sscanf(p, "id >= %u && id <= %u", &first, &last) == 2 && nr >= first &&
		    nr <= last)
			return true;
	}
	return false;
}

TEST(test_the_filter_passes_just_these)
{
	const char *filter = fd_syscalls_filter();
	unsigned n = 0;

	assert_int_equal(strncmp(filter, "ret >= 0 && (", 13), 0);
	assert_true(strlen(filter) < 1000);
	assert_int_equal(strcmp(filter + strlen(filter) - 1, ")"), 0);
	for (unsigned nr = 0; nr < 2000; nr++) {
		assert_int_equal(passes(filter, nr), fd_syscalls_has(nr));
		n += fd_syscalls_has(nr);
	}
	assert_true(n >= 14);
}
