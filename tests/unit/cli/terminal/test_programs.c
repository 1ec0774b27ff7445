/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/terminal/programs.h"
#include "unit/temp_dir.h"
#include "unit/test.h"

static void make_file(void **state, const char *name, mode_t mode)
{
	FILE *f = fopen(temp_dir_path(state, 0, name), "w");

	assert_non_null(f);
	fclose(f);
	chmod(temp_dir_path(state, 0, name), mode);
}

static void use_path(void **state, const char *fmt)
{
	char path[512];

	snprintf(path, sizeof(path), "%s:%s/a::%s/b", fmt, (const char *)*state,
		 (const char *)*state);
	setenv("PATH", path, 1);
}

#define FIXTURE_TEST(name) TEST_WITH(name, temp_dir_setup, temp_dir_teardown)

FIXTURE_TEST(test_in_the_dirs_of_path)
{
	char *old = strdup(getenv("PATH")), buf[256];

	mkdir(temp_dir_path(state, 0, "a"), 0700);
	mkdir(temp_dir_path(state, 0, "a/directory"), 0700);
	mkdir(temp_dir_path(state, 0, "b"), 0700);
	make_file(state, "a/data", 0600);
	make_file(state, "b/data", 0700);
	make_file(state, "a/both", 0700);
	make_file(state, "b/both", 0700);
	use_path(state, "/nonexistent");
	assert_int_equal(program_find("both", buf, sizeof(buf)), 0);
	assert_string_equal(buf, temp_dir_path(state, 0, "a/both"));
	assert_int_equal(program_find("data", buf, sizeof(buf)), 0);
	assert_string_equal(buf, temp_dir_path(state, 0, "b/data"));
	assert_int_equal(program_find("directory", buf, sizeof(buf)), -ENOENT);
	assert_int_equal(program_find("nosuch", buf, sizeof(buf)), -ENOENT);
	assert_int_equal(program_find("", buf, sizeof(buf)), -ENOENT);
	assert_int_equal(program_find("both", buf, 5), -ENOENT);
	unsetenv("PATH");
	assert_int_equal(program_find("both", buf, sizeof(buf)), -ENOENT);
	setenv("PATH", old, 1);
	free(old);
}

FIXTURE_TEST(test_by_its_own_path)
{
	char buf[256];

	make_file(state, "program", 0700);
	make_file(state, "data", 0600);
	assert_int_equal(program_find(temp_dir_path(state, 1, "program"), buf, sizeof(buf)), 0);
	assert_string_equal(buf, temp_dir_path(state, 1, "program"));
	assert_int_equal(program_find(temp_dir_path(state, 1, "data"), buf, sizeof(buf)), -ENOENT);
	assert_int_equal(program_find(temp_dir_path(state, 1, "no"), buf, sizeof(buf)), -ENOENT);
	assert_int_equal(program_find(*state, buf, sizeof(buf)), -ENOENT);
	assert_int_equal(program_find(temp_dir_path(state, 1, "program"), buf, 8), -ENOENT);
}

FIXTURE_TEST(test_a_daemon_is_beside_the_program_or_in_path)
{
	char *old = strdup(getenv("PATH")), buf[256];
	struct err_text e;

	mkdir(temp_dir_path(state, 0, "a"), 0700);
	make_file(state, "a/daemon", 0700);
	unsetenv("PATH");
	assert_int_equal(program_find_daemon("daemon", buf, sizeof(buf), &e), -ENOENT);
	assert_string_equal(e.text, "cannot find daemon in sonda's directory or in PATH");
	/* Beside the running program, whatever PATH says. */
	assert_int_equal(program_find_daemon("test_programs", buf, sizeof(buf), NULL), 0);
	setenv("PATH", old, 1);
	use_path(state, "/nonexistent");
	assert_int_equal(program_find_daemon("daemon", buf, sizeof(buf), NULL), 0);
	assert_string_equal(buf, temp_dir_path(state, 0, "a/daemon"));
	setenv("PATH", old, 1);
	free(old);
}

FIXTURE_TEST(test_a_program_with_rights_of_its_own)
{
	make_file(state, "daemon", 0700);
	assert_int_equal(program_capabilities(temp_dir_path(state, 0, "daemon")), 0);
	assert_int_equal(program_capabilities(temp_dir_path(state, 0, "nosuch")), 0);
	chmod(temp_dir_path(state, 0, "daemon"), 04700);
	/* Set-user-id of another user gives none. */
	assert_true(program_capabilities(temp_dir_path(state, 0, "daemon")) ==
		    (getuid() == 0 ? UINT64_MAX : 0));
}
