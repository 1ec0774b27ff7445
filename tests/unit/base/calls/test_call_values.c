/* SPDX-License-Identifier: Apache-2.0 */
/* The expected texts are those that strace 6.1 prints. */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include "base/calls/call_values.h"
#include "base/core/mem.h"
#include "unit/test.h"

/* Returns the arguments of a call with commas; freed by the caller. */
static char *arguments(const char *name, const uint64_t args[static CALL_ARGS_MAX])
{
	const struct call_row *row = call_row_find(name, strlen(name));
	struct strbuf b = {0};

	for (unsigned i = 0; i < call_count_args(row, args); i++) {
		strbuf_puts(&b, i ? ", " : "");
		call_value_put(row, args, i, &b);
	}
	strbuf_puts(&b, "");
	return strbuf_take(&b);
}

TEST(arguments_of_calls)
{
	static const struct {
		const char *name;
		uint64_t args[CALL_ARGS_MAX];
		const char *text;
	} cases[] = {
		{"openat",
		 {(uint32_t)AT_FDCWD, 0x1000, O_RDONLY | O_CLOEXEC, 0666},
		 "AT_FDCWD, 0x1000, O_RDONLY|O_CLOEXEC"},
		{"openat",
		 {(uint64_t)AT_FDCWD, 0, O_WRONLY | O_CREAT | O_TRUNC, 0644},
		 "AT_FDCWD, NULL, O_WRONLY|O_CREAT|O_TRUNC, 0644"},
		{"openat", {7, 1, O_RDWR | O_TMPFILE, 0}, "7, 0x1, O_RDWR|O_TMPFILE, 000"},
		{"open",
		 {1, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_DIRECTORY},
		 "0x1, O_RDONLY|O_NONBLOCK|O_CLOEXEC|O_DIRECTORY"},
		{"open", {1, O_WRONLY | O_SYNC}, "0x1, O_WRONLY|O_SYNC"},
		{"open", {1, 3}, "0x1, O_ACCMODE"},
		{"open", {1, 0x40000000}, "0x1, O_RDONLY|0x40000000"},
		{"mmap",
		 {0, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, (uint64_t)-1, 0},
		 "NULL, 4096, PROT_READ|PROT_WRITE, MAP_PRIVATE|MAP_ANONYMOUS, -1, 0"},
		{"mmap",
		 {0, 1, PROT_NONE, MAP_SHARED, 3, 4096},
		 "NULL, 1, PROT_NONE, MAP_SHARED, 3, 4096"},
		{"access", {1, 0}, "0x1, F_OK"},
		{"access", {1, R_OK | X_OK}, "0x1, R_OK|X_OK"},
		{"clone",
		 {CLONE_CHILD_CLEARTID | CLONE_CHILD_SETTID | SIGCHLD, 0, 0, 0x10, 0},
		 "CLONE_CHILD_CLEARTID|CLONE_CHILD_SETTID|SIGCHLD, NULL, NULL, 0x10, NULL"},
		{"socket",
		 {AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 6},
		 "AF_INET, SOCK_STREAM|SOCK_CLOEXEC, IPPROTO_TCP"},
		{"socket", {AF_NETLINK, SOCK_RAW, 0}, "AF_NETLINK, SOCK_RAW, NETLINK_ROUTE"},
		{"socket", {AF_UNIX, SOCK_DGRAM, 0}, "AF_UNIX, SOCK_DGRAM, 0"},
		{"socket", {4711, 15, 0}, "0x1267 /* AF_??? */, 0xf /* SOCK_??? */, 0"},
		{"fcntl", {3, F_GETFL, 77}, "3, F_GETFL"},
		{"fcntl", {3, 1030, 10}, "3, F_DUPFD_CLOEXEC, 0xa"},
		{"kill", {(uint64_t)-5, SIGTERM}, "-5, SIGTERM"},
		{"kill", {1, 34}, "1, SIGRT_2"},
		{"futex", {0x10, 128, 2, 0, 0, 0}, "0x10, FUTEX_WAIT_PRIVATE, 2, NULL, NULL, 0"},
		{"lseek", {3, (uint64_t)-10, SEEK_END}, "3, -10, SEEK_END"},
		{"umask", {022}, "022"},
		{"unlinkat", {(uint64_t)AT_FDCWD, 1, AT_REMOVEDIR}, "AT_FDCWD, 0x1, AT_REMOVEDIR"},
		{"recvfrom",
		 {3, 1, 10, MSG_PEEK | MSG_DONTWAIT, 0, 0},
		 "3, 0x1, 10, MSG_PEEK|MSG_DONTWAIT, NULL, NULL"},
		{"mremap", {1, 2, 3, MREMAP_MAYMOVE, 9}, "0x1, 2, 3, 0x1"},
		{"no such call", {1, 0, UINT64_MAX}, "0x1, 0, 0xffffffffffffffff, 0, 0, 0"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		char *text = arguments(cases[i].name, cases[i].args);

		assert_string_equal(text, cases[i].text);
		free(text);
	}
}

TEST(results_of_calls)
{
	static const struct {
		const char *name;
		int64_t result;
		const char *text;
	} cases[] = {
		{"openat", 3, "3"},
		{"openat", -ENOENT, "-1 ENOENT (No such file or directory)"},
		{"read", -512, "? ERESTARTSYS (To be restarted if SA_RESTART is set)"},
		{"nanosleep", -516, "? ERESTART_RESTARTBLOCK (Interrupted by signal)"},
		{"read", -4000, "-1 (errno 4000)"},
		{"mmap", 0x7f0000001000, "0x7f0000001000"},
		{"mmap", -ENOMEM, "-1 ENOMEM (Cannot allocate memory)"},
		{"umask", 022, "022"},
		{"no such call", -5000, "-5000"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct strbuf b = {0};

		call_result_put(call_row_find(cases[i].name, strlen(cases[i].name)),
				cases[i].result, &b);
		assert_string_equal(b.s, cases[i].text);
		strbuf_deinit(&b);
	}
}

/* Values of a trace are any numbers. */
TEST(any_number_of_any_type_has_a_text)
{
	static const uint64_t numbers[] = {0,
					   1,
					   31,
					   32,
					   64,
					   65,
					   0x7fffffff,
					   0xffffffff,
					   UINT64_MAX,
					   1ull << 63,
					   0x8000000000000001};

	for (size_t i = 0; i < n_call_rows; i++)
		for (size_t n = 0; n < ARRAY_SIZE(numbers); n++) {
			const uint64_t v = numbers[n], args[] = {v, v, v, v, v, v};

			free(arguments(call_rows[i].name, args));
		}
}
