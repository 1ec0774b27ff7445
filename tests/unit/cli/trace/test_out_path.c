/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/trace/out_path.h"

#include "base/system/fs.h"
#include "unit/test.h"

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
