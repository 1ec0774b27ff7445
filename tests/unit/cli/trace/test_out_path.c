/* SPDX-License-Identifier: Apache-2.0 */
#include "base/system/fs.h"
#include "unit/test.h"

static int rename_with_flags(int from_dir, const char *from, int to_dir, const char *to,
			     unsigned flags);

#define renameat2 rename_with_flags
#include "cli/trace/out_path.c"
#undef renameat2

static bool has_no_flags; /* the file system knows rename(2) only */

static int rename_with_flags(int from_dir, const char *from, int to_dir, const char *to,
			     unsigned flags)
{
	if (has_no_flags && flags) {
		errno = EINVAL;
		return -1;
	}
	return renameat2(from_dir, from, to_dir, to, flags);
}

#define FILES 300

static char folder[] = "/tmp/sonda-out-XXXXXX";
static char name[64];

static int setup(void **state)
{
	strcpy(folder, "/tmp/sonda-out-XXXXXX");
	if (!mkdtemp(folder))
		return -1;
	snprintf(name, sizeof(name), "%s/t.csv", folder);
	return 0;
}

/* Fails if something is left in the folder. */
static int teardown(void **state)
{
	return rmdir(folder);
}

static void begin(struct out_path *o, bool is_folder)
{
	struct err_text e;

	assert_int_equal(out_path_create(o, name, is_folder, false, &e), 0);
	for (unsigned i = 0; i < (is_folder ? FILES : 1u); i++) {
		char file[32];
		FILE *f;

		snprintf(file, sizeof(file), "table_%u.csv", i);
		f = out_path_open(o, is_folder ? file : NULL);
		assert_non_null(f);
		fputs("a,b\n", f);
		assert_int_equal(out_close(f, name, &e), 0);
	}
}

static void is_ended_by_a_signal(bool is_folder)
{
	struct out_path o = {0};
	int status;
	pid_t child = fork();

	if (child == 0) {
		begin(&o, is_folder);
		raise(SIGTERM);
		_exit(0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
}

TEST_WITH(a_signal_leaves_no_file, setup, teardown)
{
	is_ended_by_a_signal(false);
}

TEST_WITH(a_signal_leaves_no_folder_with_files, setup, teardown)
{
	is_ended_by_a_signal(true);
}

TEST_WITH(an_end_without_a_name_leaves_nothing, setup, teardown)
{
	struct out_path o = {0};

	begin(&o, true);
	out_path_deinit(&o);
	begin(&o, false);
	out_path_deinit(&o);
}

static void replace_a_folder(void)
{
	struct out_path o = {0};
	char old[96], table[96];
	struct err_text e;
	FILE *f;

	snprintf(old, sizeof(old), "%s/old.csv", name);
	snprintf(table, sizeof(table), "%s/table.csv", name);
	assert_int_equal(mkdir(name, 0700), 0);
	close(open(old, O_CREAT | O_WRONLY, 0600));
	assert_int_equal(out_path_create(&o, name, true, true, &e), 0);
	f = out_path_open(&o, "table.csv");
	assert_non_null(f);
	assert_int_equal(out_close(f, name, &e), 0);
	assert_int_equal(out_path_finish(&o, &e), 0);
	assert_int_equal(access(old, F_OK), -1);
	assert_int_equal(unlink(table), 0);
	assert_int_equal(rmdir(name), 0);
}

TEST_WITH(folder_is_replaced, setup, teardown)
{
	replace_a_folder();
	has_no_flags = true;
	replace_a_folder();
	has_no_flags = false;
}
