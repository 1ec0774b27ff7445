/* SPDX-License-Identifier: Apache-2.0 */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "cli/trace/out_path.h"
#include "unit/test.h"

#define FILES 300

static char dir[] = "/tmp/sonda-out-XXXXXX";
static char name[64];

static int setup(void **state)
{
	strcpy(dir, "/tmp/sonda-out-XXXXXX");
	if (!mkdtemp(dir))
		return -1;
	snprintf(name, sizeof(name), "%s/t.csv", dir);
	return 0;
}

/* Fails if something is left in the directory. */
static int teardown(void **state)
{
	return rmdir(dir);
}

static void begin(struct out_path *o, bool is_dir)
{
	struct err_text e;

	assert_int_equal(out_path_create(o, name, is_dir, false, &e), 0);
	for (unsigned i = 0; i < (is_dir ? FILES : 1u); i++) {
		char file[32];
		FILE *f;

		snprintf(file, sizeof(file), "table_%u.csv", i);
		f = out_path_open(o, is_dir ? file : NULL);
		assert_non_null(f);
		fputs("a,b\n", f);
		assert_int_equal(out_close(f, name, &e), 0);
	}
}

static void is_ended_by_a_signal(bool is_dir)
{
	struct out_path o = {0};
	int status;
	pid_t child = fork();

	if (child == 0) {
		begin(&o, is_dir);
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

TEST_WITH(a_signal_leaves_no_dir_with_files, setup, teardown)
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

static void replace_a_dir(void)
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

/* As on a file system that knows rename(2) only: renameat2() with flags fails. */
static void refuse_rename_flags(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_renameat2, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[4])),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EINVAL),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {ARRAY_SIZE(code), code};

	assert_int_equal(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
	assert_int_equal(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program), 0);
}

TEST_WITH(dir_is_replaced, setup, teardown)
{
	int status;
	pid_t child;

	replace_a_dir();
	child = fork();
	if (child == 0) {
		refuse_rename_flags();
		replace_a_dir();
		_exit(0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}
