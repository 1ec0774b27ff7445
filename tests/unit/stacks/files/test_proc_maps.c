/* SPDX-License-Identifier: Apache-2.0 */
#include "stacks/files/proc_maps.h"
#include "unit/test.h"

static struct file_mapping m;
static struct span path;

static bool parse(const char *line)
{
	return proc_maps_parse_line((struct span){line, strlen(line)}, &m, &path);
}

TEST(an_executable_mapping)
{
	assert_true(parse("7f0c5a400000-7f0c5a555000 r-xp 00028000 fe:01 1049211"
			  "                    /usr/lib/libc.so.6"));
	assert_int_equal(m.start, 0x7f0c5a400000);
	assert_int_equal(m.end, 0x7f0c5a555000);
	assert_int_equal(m.offset, 0x28000);
	assert_int_equal(m.major, 0xfe);
	assert_int_equal(m.minor, 1);
	assert_int_equal(m.inode, 1049211);
	assert_true(span_is(path, "/usr/lib/libc.so.6"));
}

TEST(data_is_left_out_unless_it_is_wanted)
{
	static const char line[] =
		"7f0c5a400000-7f0c5a555000 rw-p 00028000 fe:01 1049211 /usr/lib/libc.so.6";

	assert_false(parse(line));
	assert_true(proc_maps_parse_any_line((struct span){line, strlen(line)}, &m, &path));
	assert_int_equal(m.start, 0x7f0c5a400000);
	assert_int_equal(m.offset, 0x28000);
	assert_true(span_is(path, "/usr/lib/libc.so.6"));
}

TEST(anonymous_memory_has_the_name_of_the_records)
{
	assert_true(parse("7f0c5a400000-7f0c5a555000 rwxp 00000000 00:00 0 "));
	assert_true(span_is(path, "//anon"));
}

TEST(paths_with_blanks_and_of_deleted_files_are_whole)
{
	assert_true(parse("1000-2000 r-xp 00000000 fe:01 12 /tmp/my  program (deleted)"));
	assert_true(span_is(path, "/tmp/my  program (deleted)"));
}

TEST(the_highest_page)
{
	assert_true(parse("ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0 [vsyscall]"));
	assert_true(span_is(path, "[vsyscall]"));
}

TEST(other_lines_are_refused)
{
	static const char *const lines[] = {
		"",
		"1000",
		"1000-2000",
		"1000-2000 r-x",
		"1000-2000 r-xp",
		"2000-1000 r-xp 00000000 fe:01 12 /x",
		"1000-1000 r-xp 00000000 fe:01 12 /x",
		"-1000-2000 r-xp 00000000 fe:01 12 /x",
		"1000-2000 r-xp  fe:01 12 /x",
		"1000-2000 r-xp 0 100000000:01 12 /x",
		"11111111111111111-22222222222222222 r-xp 0 fe:01 12 /x",
		"zzzz-2000 r-xp 0 fe:01 12 /x",
	};

	for (size_t i = 0; i < ARRAY_SIZE(lines); i++) {
		assert_false(parse(lines[i]));
		assert_false(proc_maps_parse_any_line((struct span){lines[i], strlen(lines[i])}, &m,
						      &path));
	}
}
