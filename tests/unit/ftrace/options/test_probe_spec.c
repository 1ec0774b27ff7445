/* SPDX-License-Identifier: Apache-2.0 */
#include "ftrace/options/probe_spec.h"
#include "unit/test.h"

static void check(const char *line, enum probe_kind kind, const char *group, const char *name,
		  const char *command)
{
	struct probe_spec l;
	struct strbuf b = {0};

	assert_int_equal(probe_spec_parse(line, kind, &l, NULL), 0);
	assert_string_equal(l.group, group);
	assert_string_equal(l.name, name);
	probe_spec_write_command(&l, "G", &b);
	assert_string_equal(b.s, command);
	strbuf_deinit(&b);
	probe_spec_deinit(&l);
}

TEST(lines_with_names)
{
	check("p:mine/my_read vfs_read count=%dx", PROBE_KERNEL, "mine", "my_read",
	      "p:G/my_read vfs_read count=%dx");
	check("p:my_read vfs_read", PROBE_KERNEL, "kprobes", "my_read", "p:G/my_read vfs_read");
	check("  p:my_read \t vfs_read+0x10\ta=@jiffies_64   b=$stack0 # why", PROBE_KERNEL,
	      "kprobes", "my_read", "p:G/my_read vfs_read+0x10 a=@jiffies_64 b=$stack0");
	check("p:mine.my_read vfs_read", PROBE_KERNEL, "mine", "my_read", "p:G/my_read vfs_read");
	check("r:ret vfs_read ret=$retval", PROBE_KERNEL, "kprobes", "ret",
	      "r1024:G/ret vfs_read ret=$retval");
	check("r8:ret vfs_read", PROBE_KERNEL, "kprobes", "ret", "r8:G/ret vfs_read");
	check("r:ret /bin/true:0x40", PROBE_USER, "uprobes", "ret", "r:G/ret /bin/true:0x40");
	check("p:libc/malloc /lib/libc.so.6:0x9d2c0 size=%di", PROBE_USER, "libc", "malloc",
	      "p:G/malloc /lib/libc.so.6:0x9d2c0 size=%di");
}

static void check_span(const char *line, enum probe_kind kind, const char *call,
		       const char *on_return)
{
	struct probe_spec l, halves[2];
	const char *expected[2] = {call, on_return};

	assert_int_equal(probe_spec_parse(line, kind, &l, NULL), 0);
	assert_true(probe_spec_is_span(&l));
	assert_int_equal(probe_spec_split(&l, kind, &halves[0], &halves[1]), 0);
	for (int i = 0; i < 2; i++) {
		struct strbuf b = {0};

		probe_spec_write_command(&halves[i], "G", &b);
		assert_string_equal(b.s, expected[i]);
		strbuf_deinit(&b);
		probe_spec_deinit(&halves[i]);
	}
	probe_spec_deinit(&l);
}

TEST(spans)
{
	check_span("s:mine/x /bin/true:0x40 a=%di -> v=$retval:s32", PROBE_USER,
		   "p:G/x /bin/true:0x40 a=%di", "r:G/x /bin/true:0x40 v=$retval:s32");
	check_span("s:x vfs_read", PROBE_KERNEL, "p:G/x vfs_read", "r1024:G/x vfs_read");
	check_span("s vfs_read -> $retval", PROBE_KERNEL, "p:G/s_vfs_read_0 vfs_read",
		   "r1024:G/s_vfs_read_0 vfs_read $retval");
	check_span("s:x /bin/true:0x40 ->", PROBE_USER, "p:G/x /bin/true:0x40",
		   "r:G/x /bin/true:0x40");
}

TEST(an_error_in_a_span_is_shown_at_its_place)
{
	static const char line[] = "s:mine/x /bin/true:0x40 a=%di -> v=$nope";
	struct probe_spec l, call, on_return;
	struct strbuf b = {0};

	assert_int_equal(probe_spec_parse(line, PROBE_USER, &l, NULL), 0);
	assert_int_equal(probe_spec_split(&l, PROBE_USER, &call, &on_return), 0);
	probe_spec_write_command(&call, "GROUP", &b);
	assert_int_equal(probe_spec_find_written_offset(&call, "GROUP",
							(size_t)(strstr(b.s, "a=%di") - b.s)),
			 strstr(line, "a=%di") - line);
	strbuf_clear(&b);
	probe_spec_write_command(&on_return, "GROUP", &b);
	assert_int_equal(probe_spec_find_written_offset(&on_return, "GROUP",
							(size_t)(strstr(b.s, "$nope") - b.s)),
			 strstr(line, "$nope") - line);
	strbuf_deinit(&b);
	probe_spec_deinit(&call);
	probe_spec_deinit(&on_return);
	probe_spec_deinit(&l);
}

TEST(names_that_the_kernel_would_choose)
{
	char long_line[200] = "p ";

	check("p vfs_read", PROBE_KERNEL, "kprobes", "p_vfs_read_0", "p:G/p_vfs_read_0 vfs_read");
	check("p: vfs_read", PROBE_KERNEL, "kprobes", "p_vfs_read_0", "p:G/p_vfs_read_0 vfs_read");
	check("p:mine/ vfs_read+0x10 a=1", PROBE_KERNEL, "mine", "p_vfs_read_16",
	      "p:G/p_vfs_read_16 vfs_read+0x10 a=1");
	check("r vfs_read", PROBE_KERNEL, "kprobes", "r_vfs_read_0",
	      "r1024:G/r_vfs_read_0 vfs_read");
	check("p vfs_read%return", PROBE_KERNEL, "kprobes", "p_vfs_read_0",
	      "p:G/p_vfs_read_0 vfs_read%return");
	check("p xfs:xfs_iget", PROBE_KERNEL, "kprobes", "p_xfs_xfs_iget_0",
	      "p:G/p_xfs_xfs_iget_0 xfs:xfs_iget");
	check("p 0xffffffff81000000", PROBE_KERNEL, "kprobes", "p_0xffffffff81000000",
	      "p:G/p_0xffffffff81000000 0xffffffff81000000");
	check("p /lib/libc.so.6:0x9d2c0", PROBE_USER, "uprobes", "p_libc_0x9d2c0",
	      "p:G/p_libc_0x9d2c0 /lib/libc.so.6:0x9d2c0");
	check("p /opt/a%b:64", PROBE_USER, "uprobes", "p_a_0x0", "p:G/p_a_0x0 /opt/a%b:64");
	check("r /opt/a-b:64%return", PROBE_USER, "uprobes", "r_a_0x40",
	      "r:G/r_a_0x40 /opt/a-b:64%return");

	memset(long_line + 2, 'f', 100);
	{
		struct probe_spec l;

		assert_int_equal(probe_spec_parse(long_line, PROBE_KERNEL, &l, NULL), 0);
		assert_int_equal(strlen(l.name), 63);
		assert_int_equal(strspn(l.name, "pf_"), 63);
		probe_spec_deinit(&l);
	}
}

TEST(lines_that_are_refused)
{
	static const struct {
		const char *line, *why;
	} lines[] = {
		{"", "empty"},
		{"  \t ", "empty"},
		{"# a comment", "empty"},
		{"-:kprobes/x", "removes"},
		{"-:", "removes"},
		{"e:x sched.sched_switch", "expected 'p', 'r' or 's'"},
		{"f:x vfs_read", "expected 'p', 'r' or 's'"},
		{"!p:x vfs_read", "expected 'p', 'r' or 's'"},
		{"probe vfs_read", "expected ':' after"},
		{"p8x:x vfs_read", "expected ':' after"},
		{"p", "location"},
		{"p:x", "location"},
		{"p:mine/x", "location"},
		{"p:x\n-:kprobes/x vfs_read", "single line"},
		{"p:x vfs_read\n", "single line"},
		{"p:x vfs_read\x01", "single line"},
		{"p:x vfs_read \xc3\xa9", "single line"},
		{"p:x-y vfs_read", "'x-y'"},
		{"p:1x vfs_read", "'1x'"},
		{"p:a/b/c vfs_read", "'b/c'"},
		{"p:../x vfs_read", "event"},
		{"p:/x vfs_read", "group"},
		{"p:a b/x vfs_read", NULL}, /* a place of its own */
	};
	static const char *const no_places[] = {"p:x main", "p /bin/ls", "p /bin/ls:main a=%di:u8",
						"p /bin/ls: 5"};
	struct probe_spec l = {0};
	static char long_line[PROBE_SPEC_MAX + 2];
	struct err_text e;

	for (unsigned i = 0; i < ARRAY_SIZE(lines); i++) {
		if (!lines[i].why) {
			assert_int_equal(probe_spec_parse(lines[i].line, PROBE_KERNEL, &l, &e), 0);
			assert_string_equal(l.rest, "b/x vfs_read");
			probe_spec_deinit(&l);
			continue;
		}
		assert_int_equal(probe_spec_parse(lines[i].line, PROBE_KERNEL, &l, &e), -EINVAL);
		if (!strstr(e.text, lines[i].why))
			fail_msg("%s: %s", lines[i].line, e.text);
		assert_null(l.written);
	}
	memset(long_line, 'p', sizeof(long_line) - 1);
	for (unsigned i = 0; i < ARRAY_SIZE(no_places); i++) {
		assert_int_equal(probe_spec_parse(no_places[i], PROBE_USER, &l, &e), -EINVAL);
		assert_non_null(strstr(e.text, "is not a location in a program"));
	}
	assert_int_equal(probe_spec_parse(long_line, PROBE_USER, &l, &e), -EINVAL);
	assert_non_null(strstr(e.text, "longer"));
}

TEST(places_in_what_was_said)
{
	static const char group[] = "sonda_1_2_3";
	struct strbuf b = {0};
	struct probe_spec l;

	assert_int_equal(probe_spec_parse("r  vfs_read   a=%nope", PROBE_KERNEL, &l, NULL), 0);
	assert_string_equal(l.written, "r vfs_read a=%nope");
	probe_spec_write_command(&l, group, &b);
	assert_string_equal(l.written + probe_spec_find_written_offset(
						&l, group, (size_t)(strstr(b.s, "%nope") - b.s)),
			    "%nope");
	assert_string_equal(l.written + probe_spec_find_written_offset(
						&l, group, (size_t)(strstr(b.s, " vfs") + 1 - b.s)),
			    "vfs_read a=%nope");
	assert_int_equal(probe_spec_find_written_offset(&l, group, 3), 0);
	assert_int_equal(probe_spec_find_written_offset(&l, group, 10000), strlen(l.written));
	strbuf_deinit(&b);
	probe_spec_deinit(&l);
}

static int check_plain(const char *line, enum probe_kind kind, struct err_text *e)
{
	struct probe_spec l;
	int r;

	assert_int_equal(probe_spec_parse(line, kind, &l, NULL), 0);
	r = probe_spec_check_plain(&l, kind, e);
	probe_spec_deinit(&l);
	return r;
}

TEST(others_than_root_probe_functions_and_their_arguments)
{
	static const char *const good[] = {
		"p vfs_read",
		"p:mine/my_read vfs_read",
		"r8:ret vfs_read ret=$retval",
		"p vfs_read%return $retval:x64",
		"p ext4:ext4_sync_file.isra.0 a=$arg1 b=$arg6:u8 who=$comm r=%dx:s32 %ax",
	};

	for (size_t i = 0; i < ARRAY_SIZE(good); i++)
		assert_int_equal(check_plain(good[i], PROBE_KERNEL, NULL), 0);
}

TEST(others_than_root_read_no_memory)
{
	static const char *const bad[] = {
		"p vfs_read+4",
		"p vfs_read-4",
		"p 0xffffffff81000000",
		"p ext4:0xffffffff81000000",
		"p :vfs_read",
		"p a/b:vfs_read",
		"p vfs_read a=@jiffies_64",
		"p vfs_read a=@0xffffffff81000000",
		"p vfs_read a=+0($arg1)",
		"p vfs_read +0(%di):string",
		"p vfs_read a=+u0(%si):ustring",
		"p vfs_read a=-8($arg1)",
		"p vfs_read $stack",
		"p vfs_read a=$stack1",
		"p vfs_read a=$arg7",
		"p vfs_read a=$arg12",
		"p vfs_read a=$arg*",
		"p vfs_read $arg*",
		"p vfs_read a=$arg1:string",
		"p vfs_read a=$arg1:ustring",
		"p vfs_read a=$retval:string",
		"p vfs_read a=$arg1:symstr",
		"p vfs_read a=$arg1:u8[4]",
		"p vfs_read a=$arg1:b4@0/32",
		"p vfs_read a=file->f_inode",
		"p vfs_read file",
		"p vfs_read a=\\1",
		"p vfs_read a=$arg1:",
		"p vfs_read a=",
		"p vfs_read =$arg1",
		"p vfs_read a=b=$arg1",
		"p vfs_read a=%",
		"p vfs_read a=%di(8)",
		"p vfs_read $current",
		"p vfs_read a=$comm:string",
	};
	struct err_text e;

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		if (check_plain(bad[i], PROBE_KERNEL, &e) != -EPERM)
			fail_msg("allowed: %s", bad[i]);
		assert_non_null(strstr(e.text, "only root may"));
	}
}

/* "(REF)": the kernel counts in the program's memory how many look at the place. */
TEST(others_than_root_name_no_place_in_a_program)
{
	assert_int_equal(check_plain("p /bin/ls:0x4b50", PROBE_USER, NULL), -EPERM);
	assert_int_equal(check_plain("p /bin/ls:0x4b50(0x8010)", PROBE_USER, NULL), -EPERM);
}
