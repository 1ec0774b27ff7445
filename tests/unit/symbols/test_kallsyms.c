// SPDX-License-Identifier: Apache-2.0
/* A folder stands in for /proc; what the kernel does with kptr_restrict is tests/root's. */

#include "base/system/fs.h"
#include "unit/ftrace/fake_tracefs.h"
#include "symbols/symbol_cache.c"

static const char hidden_text[] = "0000000000000000 T _stext\n0000000000000000 t do_idle\n";

static char *restrict_of(void)
{
	static char text[64];
	struct strbuf b = {0};

	assert_int_equal(fs_read_file(fake_path("sys/kernel/kptr_restrict"), 60, &b), 0);
	snprintf(text, sizeof(text), "%s", b.s);
	strbuf_deinit(&b);
	return text;
}

FOLDER_TEST(test_addresses_that_can_be_seen)
{
	char text[32] = {0};
	struct err_text e = {""};
	int fd;

	fake_text("kallsyms", "0000000000000000 A fixed_percpu_data\nffffffff81000000 T _stext\n");
	fake_text("sys/kernel/kptr_restrict", "1\n");
	fd = kallsyms_open(fake_root, &e);
	assert_true(fd >= 0);
	/* From the beginning. */
	assert_int_equal(read(fd, text, 20), 20);
	assert_string_equal(text, "0000000000000000 A f");
	close(fd);
	assert_string_equal(restrict_of(), "1\n");
}

FOLDER_TEST(test_hidden_ones_leave_the_setting_as_it_was)
{
	static const char *const values[] = {"0\n", "1\n", "2\n", "4\n"};
	struct err_text e;

	fake_text("kallsyms", hidden_text);
	for (unsigned i = 0; i < 4; i++) {
		fake_text("sys/kernel/kptr_restrict", values[i]);
		e.text[0] = '\0';
		assert_int_equal(kallsyms_open(fake_root, &e), -EACCES);
		assert_non_null(strstr(e.text, "kptr_restrict is "));
		assert_string_equal(restrict_of(), values[i]);
	}
}

FOLDER_TEST(test_a_setting_that_another_process_changes_is_left_alone)
{
	struct err_text e = {""};
	int fd;

	fake_text("kallsyms", hidden_text);
	fake_text("sys/kernel/kptr_restrict", "2\n");
	fd = open(fake_path("sys/kernel/kptr_restrict"), O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0 && flock(fd, LOCK_EX) == 0);
	assert_int_equal(kallsyms_open(fake_root, &e), -EACCES);
	assert_non_null(strstr(e.text, "cannot be locked"));
	close(fd);
	assert_int_equal(kallsyms_open(fake_root, &e), -EACCES);
	assert_null(strstr(e.text, "cannot be locked"));
	assert_string_equal(restrict_of(), "2\n");
}

FOLDER_TEST(test_what_is_not_there)
{
	struct err_text e = {""};

	assert_int_equal(kallsyms_open(fake_root, &e), -ENOENT);
	assert_non_null(strstr(e.text, "kallsyms"));
	fake_text("kallsyms", hidden_text);
	assert_int_equal(kallsyms_open(fake_root, &e), -EACCES);
	fake_text("kallsyms", "");
	assert_int_equal(kallsyms_open(fake_root, &e), -EACCES);
}
