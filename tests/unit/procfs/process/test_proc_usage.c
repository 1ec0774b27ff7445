/* SPDX-License-Identifier: Apache-2.0 */

#include "unit/test.h"
#include "procfs/process/proc_usage.h"

TEST(io)
{
	static const char text[] = "rchar: 1\nwchar: 2\nsyscr: 3\nsyscw: 4\nread_bytes: 5\n"
				   "write_bytes: 6\ncancelled_write_bytes: 9223372036854775807\n";
	struct proc_io io;

	assert_int_equal(proc_io_parse(text, strlen(text), &io), 0);
	assert_int_equal(io.has, (1u << PROC_IO_KEYS) - 1);
	for (unsigned k = 0; k < PROC_IO_CANCELLED_WRITE_BYTES; k++)
		assert_int_equal(io.v[k], k + 1);
	assert_true(io.v[PROC_IO_CANCELLED_WRITE_BYTES] == INT64_MAX);
}

/* Of a newer kernel, of one without a line, cut off, and what no kernel writes. */
TEST(io_of_another_format)
{
	static const char other[] = "newer: 7\nsyscr: 3\nsyscr: 4\nread_bytes: x\n"
				    "write_bytes: 9223372036854775808\nwcha";
	struct proc_io io;

	assert_int_equal(proc_io_parse(other, strlen(other), &io), 0);
	assert_int_equal(io.has, 1u << PROC_IO_SYSCR);
	assert_int_equal(io.v[PROC_IO_SYSCR], 3);
	assert_int_equal(proc_io_parse("", 0, &io), -EBADMSG);
	assert_int_equal(proc_io_parse("rchar 1\n", 8, &io), -EBADMSG);
}

TEST(schedstat)
{
	struct proc_schedstat s;

	assert_int_equal(proc_schedstat_parse("537559 6973561 2\n", 17, &s), 0);
	assert_int_equal(s.run_ns, 537559);
	assert_int_equal(s.wait_ns, 6973561);
	assert_int_equal(s.slices, 2);
	assert_int_equal(proc_schedstat_parse("1 2 3", 5, &s), 0);
	assert_int_equal(proc_schedstat_parse("1 2 \n", 5, &s), -EBADMSG);
	assert_int_equal(proc_schedstat_parse("", 0, &s), -EBADMSG);
	assert_int_equal(proc_schedstat_parse("-1 2 3", 6, &s), -EBADMSG);
	assert_int_equal(proc_schedstat_parse("9223372036854775808 2 3", 23, &s), -EBADMSG);
}

TEST(cgroup)
{
	static const struct {
		const char *text;
		const char *path;
	} cases[] = {
		{"0::/user.slice/user-0.slice\n", "/user.slice/user-0.slice"},
		{"0::/\n", "/"},
		{"0::/a b: c \n", "/a b: c "},
		{"0::/gone (deleted)\n", "/gone (deleted)"},
		{"0::/cut off", "/cut off"},
		/* A machine with both versions, where version 1 is used. */
		{"9:name=systemd:/s\n4:memory:/m\n0::/\n", "/s"},
		{"9:name=systemd:/\n5:pids:/p\n4:memory:/m\n3:cpu,cpuacct:/c\n0::/\n", "/m"},
		{"9:name=systemd:/\n5:pids:/p\n4:memory:/\n0::/\n", "/p"},
		{"9:name=systemd:/s\n0::/v2\n", "/v2"},
		/* A kernel without version 2. */
		{"2:cpu,memory,pids:/m\n1:name=systemd:/\n", "/m"},
		{"2:xmemory:/x\n1:memoryx:/y\n", "/x"},
		{"nonsense\n::\n0:/no\n0::relative\n0::/yes\n", "/yes"},
	};
	struct span path;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		assert_int_equal(proc_cgroup_parse(cases[i].text, strlen(cases[i].text), &path), 0);
		assert_int_equal(path.len, strlen(cases[i].path));
		assert_memory_equal(path.p, cases[i].path, path.len);
	}
	assert_int_equal(proc_cgroup_parse("", 0, &path), -EBADMSG);
	assert_int_equal(proc_cgroup_parse("0::\n", 4, &path), -EBADMSG);
}
