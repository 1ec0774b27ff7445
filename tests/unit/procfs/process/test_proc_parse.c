/* SPDX-License-Identifier: Apache-2.0 */
#include "base/system/fs.h"
#include "base/text/str.h"
#include "procfs/process/proc_parse.h"
#include "unit/test.h"

#define RECORDED "tests/data/procfs/recorded/"

static struct proc_status parse(const char *text)
{
	struct proc_status s;

	assert_int_equal(proc_status_parse(text, strlen(text), &s), 0);
	return s;
}

static void assert_name(const struct proc_name *n, const char *want)
{
	assert_int_equal(n->len, strlen(want));
	assert_memory_equal(n->s, want, n->len);
}

static uint64_t kb(const struct proc_status *s, enum proc_status_key key)
{
	assert_true(proc_status_has(s, key));
	return s->kb[key - PROC_STATUS_VM_SIZE];
}

/* ---- status ---- */

TEST(lines_are_known_by_their_beginning)
{
	char text[1024] = "Name:\tx\nTgid:\t1\nPid:\t1\nNSpid:\t1";
	struct proc_status s =
		parse("Name:\tUid:\t0 Pid:\t9\nFoo:\tTgid:\t9\nTgid:\t3\nPid:\t4\nxUid:\t7\n"
		      " Uid:\t7\nTgid:\t5\nName:\tb");

	assert_int_equal(s.tgid, 3); /* the first of two lines counts */
	assert_int_equal(s.pid, 4);
	assert_name(&s.name, "Uid:\t0 Pid:\t9");
	assert_false(proc_status_has(&s, PROC_STATUS_UID));
	/* The real uid is the first. */
	s = parse("Name:\tx\nTgid:\t1\nPid:\t1\nUid:\t4294967294\t1\t2\t3\n");
	assert_int_equal(s.uid, 4294967294u);
	for (int i = 0; i < PROC_NSPID_MAX + 5; i++)
		sprintf(text + strlen(text), "\t%d", 100 + i);
	s = parse(text);
	assert_int_equal(s.n_nspid, PROC_NSPID_MAX);
	assert_int_equal(s.nspid[PROC_NSPID_MAX - 1], 100 + PROC_NSPID_MAX - 1);
}

TEST(escapes_of_a_name)
{
	static const struct {
		const char *line, *name;
	} cases[] = {
		{"Name:\t\\n", "\n"},
		{"Name:\t\\\\", "\\"},
		{"Name:\t\\\\n", "\\n"}, /* a backslash, then an n */
		{"Name:\t\\\\\\n", "\\\n"},
		{"Name:\t\\t", "\\t"}, /* the kernel has no such escape */
		{"Name:\tx\\", "x\\"}, /* cut in the middle of an escape */
		{"Name:\t\tx ", "\tx "}, /* only the first tab is part of the format */
		{"Name:\t", ""},
		{"Name:", ""},
		{"Name:\t:", ":"},
		{"Name:\tsd-pam)", "sd-pam)"},
		{"Name:\t\xff\x01\r", "\xff\x01\r"},
	};
	char text[256] = "Name:\t";

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct proc_status s;

		snprintf(text, sizeof(text), "%s\nTgid:\t1\nPid:\t1\n", cases[i].line);
		s = parse(text);
		assert_name(&s.name, cases[i].name);
	}
	/* A longer name is cut. */
	snprintf(text, sizeof(text), "Name:\t%0100d\nTgid:\t1\nPid:\t1\n", 0);
	assert_int_equal(parse(text).name.len, PROC_NAME_MAX);
}

TEST(required_and_optional_lines)
{
	static const char *const bad[] = {
		"",
		"\n",
		":",
		"Name:\tx\n",
		"Name:\tx\nTgid:\t1\n",
		"Name:\tx\nPid:\t1\n",
		"Tgid:\t1\nPid:\t1\n",
		"Name:\tx\nTgid:\t\nPid:\t1\n",
		"Name:\tx\nTgid:\tx\nPid:\t1\n",
		"Name:\tx\nTgid:\t-1\nPid:\t1\n",
		"Name:\tx\nTgid:\t2147483648\nPid:\t1\n",
		"Name:\tx\nTgid:\t99999999999999999999999\nPid:\t1\n",
	};
	struct proc_status s = {.pid = 42};

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		assert_int_equal(proc_status_parse(bad[i], strlen(bad[i]), &s), -EBADMSG);
	assert_int_equal(s.pid, 42);
	s = parse("Name:\tx\nTgid:\t2147483647\nPid:\t0\nUid:\t4294967296\nVmRSS:\tkB\nPPid:\t");
	assert_int_equal(s.tgid, INT32_MAX);
	assert_false(proc_status_has(&s, PROC_STATUS_UID));
	assert_false(proc_status_has(&s, PROC_STATUS_VM_RSS));
	assert_false(proc_status_has(&s, PROC_STATUS_PPID));
	s = parse("Name:\tx\nTgid:\t1\nPid:\t1\nVmRSS:\t18446744073709551615 kB\n");
	assert_true(kb(&s, PROC_STATUS_VM_RSS) == UINT64_MAX);
}

/* ---- stat ---- */

TEST(times_behind_any_name)
{
	static const char *const names[] = {"a) R 1 (",	     "(sd-pam)",	")", "", "a b",
					    "1 2 3) S (4 5", "x\n7 (y) R 1 2 3"};
	static const char *const bad[] = {
		"",
		"7",
		"7 (x",
		")",
		"7 (x)",
		"7 (x) R 1 2 3 4 5 6 7 8 9 10",
		"7 (x) R 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18",
		"7 (x) R 1 2 3 4 5 6 7 8 9 10 x 12 13 14 15 16 17 18 19",
		"7 (x) R 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 -19",
		"7 (x) R 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 18446744073709551616",
	};
	_cleanup_(strbuf_deinit) struct strbuf recorded = {0};
	char text[256];
	struct proc_stat s;

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		snprintf(text, sizeof(text),
			 "7 (%s) R 1 2 3 4 -5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20\n",
			 names[i]);
		assert_int_equal(proc_stat_parse(text, strlen(text), &s), 0);
		assert_int_equal(s.utime, 11);
		assert_int_equal(s.stime, 12);
		assert_int_equal(s.starttime, 19);
	}
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		assert_int_equal(proc_stat_parse(bad[i], strlen(bad[i]), &s), -EBADMSG);
	assert_int_equal(s.utime, 11);
	/* The name in it is "Tgid:\t1\n\\x", with a real newline. */
	assert_int_equal(fs_read_file(RECORDED "28864/stat", 4096, &recorded), 0);
	assert_int_equal(proc_stat_parse(recorded.s, recorded.len, &s), 0);
	assert_int_equal(s.utime, 1);
	assert_int_equal(s.stime, 1);
	assert_int_equal(s.starttime, 262879);
}

/* ---- small files ---- */

TEST(smaps_rollup)
{
	static const char text[] = "556588cf0000-7ffd7349c000 ---p 00000000 00:00 0                "
				   "          [rollup]\n"
				   "Rss:                1716 kB\nPss:                 336 kB\n"
				   "Pss_Dirty:           112 kB\nPss_Anon:            113 kB\n"
				   "Pss_File:            224 kB\nPss_Shmem:             0 kB\n"
				   "Shared_Clean:       1544 kB\nSwap:                  9 kB\n"
				   "SwapPss:               8 kB\n";
	static const uint64_t want[PROC_SMAPS_KEYS] = {
		[PROC_SMAPS_RSS] = 1716,     [PROC_SMAPS_PSS] = 336,
		[PROC_SMAPS_PSS_ANON] = 113, [PROC_SMAPS_PSS_FILE] = 224,
		[PROC_SMAPS_PSS_SHMEM] = 0,  [PROC_SMAPS_SWAP_PSS] = 8,
	};
	struct proc_smaps s;

	proc_smaps_parse(text, sizeof(text) - 1, &s);
	assert_int_equal(s.has, (1u << PROC_SMAPS_KEYS) - 1);
	assert_memory_equal(s.kb, want, sizeof(want));
	/* Older kernels have fewer lines. */
	proc_smaps_parse("Rss: 1 kB\nPss_Anon: kB\nxPss: 2 kB\n SwapPss: 3", 46, &s);
	assert_int_equal(s.has, 1u << PROC_SMAPS_RSS);
	proc_smaps_parse("", 0, &s);
	assert_int_equal(s.has, 0);
}

TEST(files_of_one_number)
{
	static const struct {
		const char *text;
		int error;
		int64_t v;
	} cases[] = {
		{"0\n", 0, 0},
		{"-1000\n", 0, -1000},
		{"1000", 0, 1000},
		{"9223372036854775807\n", 0, INT64_MAX},
		{"-9223372036854775807\n", 0, -INT64_MAX},
		{"9223372036854775808\n", -EBADMSG, 0},
		{"", -EBADMSG, 0},
		{"-", -EBADMSG, 0},
		{"- 1", -EBADMSG, 0},
		{"--1", -EBADMSG, 0},
		{"\n", -EBADMSG, 0},
		{"1 2\n", -EBADMSG, 0},
		{"max\n", -EBADMSG, 0},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		int64_t v = 42;

		assert_int_equal(proc_number_parse(cases[i].text, strlen(cases[i].text), &v),
				 cases[i].error);
		assert_true(v == (cases[i].error ? 42 : cases[i].v));
	}
}

TEST(comm_and_cmdline)
{
	static const char *const comms[][2] = {{"a\n\n", "a\n"}, {"a\\n", "a\\n"}, {"\n", ""}};
	static const char text[] = "\0a\0\0b c\0last";
	static const char *const want[] = {"a", "b c", "last"};
	const char *p = text, *end = text + sizeof(text) - 1, *arg;
	struct proc_name name;
	unsigned i = 0;
	size_t n;

	for (size_t k = 0; k < ARRAY_SIZE(comms); k++) {
		proc_comm_parse(comms[k][0], strlen(comms[k][0]), &name);
		assert_name(&name, comms[k][1]);
	}
	proc_comm_parse("", 0, &name);
	assert_name(&name, "");
	for (; (p = proc_cmdline_next(p, end, &arg, &n)); i++) {
		assert_true(i < ARRAY_SIZE(want));
		assert_int_equal(n, strlen(want[i]));
		assert_memory_equal(arg, want[i], n);
	}
	assert_int_equal(i, ARRAY_SIZE(want));
	assert_null(proc_cmdline_next(text, text, &arg, &n));
	assert_null(proc_cmdline_next(text, text + 1, &arg, &n));
}

/* ---- resources that a task has used ---- */

TEST(io)
{
	static const char text[] = "rchar: 1\nwchar: 2\nsyscr: 3\nsyscw: 4\nread_bytes: 5\n"
				   "write_bytes: 6\ncancelled_write_bytes: 9223372036854775807\n";
	static const char other[] = "newer: 7\nsyscr: 3\nsyscr: 4\nread_bytes: x\n"
				    "write_bytes: 9223372036854775808\nwcha";
	struct proc_io s;

	assert_int_equal(proc_io_parse(text, strlen(text), &s), 0);
	assert_int_equal(s.has, (1u << PROC_IO_KEYS) - 1);
	for (unsigned k = 0; k < PROC_IO_CANCELLED_WRITE_BYTES; k++)
		assert_int_equal(s.v[k], k + 1);
	assert_true(s.v[PROC_IO_CANCELLED_WRITE_BYTES] == INT64_MAX);
	/* Unknown, repeated, invalid and cut-off lines. */
	assert_int_equal(proc_io_parse(other, strlen(other), &s), 0);
	assert_int_equal(s.has, 1u << PROC_IO_SYSCR);
	assert_int_equal(s.v[PROC_IO_SYSCR], 3);
	assert_int_equal(proc_io_parse("", 0, &s), -EBADMSG);
	assert_int_equal(proc_io_parse("rchar 1\n", 8, &s), -EBADMSG);
}

TEST(schedstat)
{
	static const char *const bad[] = {"1 2 \n", "", "-1 2 3", "9223372036854775808 2 3"};
	struct proc_schedstat s;

	assert_int_equal(proc_schedstat_parse("537559 6973561 2\n", 17, &s), 0);
	assert_int_equal(s.run_ns, 537559);
	assert_int_equal(s.wait_ns, 6973561);
	assert_int_equal(s.slices, 2);
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		assert_int_equal(proc_schedstat_parse(bad[i], strlen(bad[i]), &s), -EBADMSG);
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
