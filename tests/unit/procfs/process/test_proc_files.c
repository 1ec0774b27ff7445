/* SPDX-License-Identifier: Apache-2.0 */
#include <sys/resource.h>

#include "unit/fixture.h"
#include "unit/procfs/fake_proc.h"
#include "procfs/process/proc_files.h"

static struct proc_files files;

SETUP
{
	proc_new();
	assert_int_equal(proc_files_init(&files, proc_root), 0);
}

TEARDOWN
{
	proc_files_deinit(&files);
	proc_remove_all();
}

FIXTURE_TEST(the_files_of_a_task)
{
	struct proc_status status;
	struct pid_list threads = {0};
	struct proc_stat stat;
	struct proc_name name;
	const char *text;
	size_t len;

	proc_put_task((struct proc_task){.pid = 70, .name = "main"});
	proc_put_task((struct proc_task){.pid = 70, .tid = 71, .name = "other"});
	assert_int_equal(proc_files_status(&files, 70, &status), 0);
	assert_int_equal(status.tgid, 70);
	assert_int_equal(pid_list_open(&threads, files.root, 70), 0);
	assert_int_equal(proc_files_thread_status(&files, &threads, 71, &status), 0);
	assert_int_equal(status.pid, 71);
	assert_int_equal(proc_files_thread_comm(&files, &threads, 71, &name), 0);
	assert_int_equal(name.len, 5);
	pid_list_close(&threads);
	assert_int_equal(proc_files_stat(&files, 70, &stat), 0);
	assert_int_equal(stat.starttime, 70);
	assert_int_equal(proc_files_cmdline(&files, 70, &text, &len), 0);
	assert_int_equal(len, 9);
	assert_memory_equal(text, "main\0arg", 9);
}

FIXTURE_TEST(counters_of_a_process)
{
	struct proc_smaps smaps;
	int64_t v;

	assert_int_equal(proc_files_smaps(&files, 70, &smaps), -ENOENT);
	assert_int_equal(proc_files_number(&files, 70, PROC_FILE_OOM_SCORE_ADJ, &v), -ENOENT);
	proc_put("Rss: 7 kB\n", 10, "70/smaps_rollup");
	proc_put("-5\n", 3, "70/oom_score_adj");
	assert_int_equal(proc_files_smaps(&files, 70, &smaps), 0);
	assert_int_equal(smaps.kb[PROC_SMAPS_RSS], 7);
	assert_int_equal(proc_files_number(&files, 70, PROC_FILE_OOM_SCORE_ADJ, &v), 0);
	assert_int_equal(v, -5);
}

FIXTURE_TEST(a_task_that_has_exited)
{
	struct proc_status status;
	struct pid_list l = {0};

	assert_int_equal(proc_files_status(&files, 70, &status), -ENOENT);
	assert_int_equal(pid_list_open(&l, files.root, 70), -ENOENT);
	assert_false(pid_list_is_open(&l));
	proc_put("", 0, "70/status");
	assert_int_equal(proc_files_status(&files, 70, &status), -EBADMSG);
}

/* A task in 65,536 groups has a line of 700 kB before the lines that matter. */
FIXTURE_TEST(a_status_of_many_groups)
{
	size_t room = 800 << 10, n;
	char *text = malloc(room);
	struct proc_status status;

	n = (size_t)sprintf(text, "Name:\tx\nTgid:\t5\nPid:\t5\nGroups:\t");
	for (unsigned g = 0; g < 65536; g++)
		n += (size_t)sprintf(text + n, "%u ", 4294900000u + g);
	n += (size_t)sprintf(text + n, "\nNSpid:\t5\t6\nKthread:\t1\n");
	proc_put(text, n, "5/status");
	assert_int_equal(proc_files_status(&files, 5, &status), 0);
	assert_true(status.kthread);
	assert_int_equal(status.nspid[0], 6);
	/* And then the small ones again. */
	proc_put_task((struct proc_task){.pid = 70, .name = "main"});
	assert_int_equal(proc_files_status(&files, 70, &status), 0);
	assert_true(files.text.cap < 65536);

	/* What no kernel writes. */
	proc_put(text, n, "6/status");
	free(text);
	text = calloc(1, PROC_STATUS_FILE_MAX + 4096);
	proc_put(text, PROC_STATUS_FILE_MAX + 4096, "6/status");
	assert_int_equal(proc_files_status(&files, 6, &status), -EFBIG);
	free(text);
}

/* It is the process' file, not the number's. */
TEST(a_file_that_stays_open)
{
	struct proc_cached_file kept = PROC_CACHED_NONE, other = PROC_CACHED_NONE;
	struct proc_status status;
	struct proc_files real;
	int64_t v;
	pid_t pid;

	if (access("/proc/self/status", R_OK) != 0)
		skip();
	assert_int_equal(proc_files_init(&real, "/proc"), 0);
	pid = fork();
	if (pid == 0) {
		pause();
		_exit(0);
	}
	for (unsigned i = 0; i < 3; i++) {
		assert_int_equal(proc_files_cached_status(&real, &kept, pid, &status), 0);
		assert_int_equal(status.pid, pid);
		assert_int_equal(status.ppid, getpid());
		assert_int_equal(
			proc_files_cached_number(&real, &other, pid, PROC_FILE_OOM_SCORE_ADJ, &v),
			0);
		assert_true(proc_cached_is_open(&kept) && proc_cached_is_open(&other));
	}
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_int_equal(proc_files_cached_status(&real, &kept, pid, &status), -ESRCH);
	assert_int_equal(proc_files_cached_number(&real, &other, pid, PROC_FILE_OOM_SCORE_ADJ, &v),
			 -ESRCH);
	assert_false(proc_cached_is_open(&kept) || proc_cached_is_open(&other));
	proc_cached_close(&kept);
	/* One that has gone is no trouble with the file. */
	assert_int_equal(real.errors[PROC_FILE_STATUS].count, 0);
	assert_int_equal(real.errors[PROC_FILE_OOM_SCORE_ADJ].count, 0);
	proc_files_deinit(&real);
}

FIXTURE_TEST(no_more_than_a_quarter_of_the_files_stay_open)
{
	struct proc_cached_file kept[40];
	struct rlimit old, few;
	const char *text;
	size_t len;
	int64_t v;

	getrlimit(RLIMIT_NOFILE, &old);
	few = old;
	few.rlim_cur = 128;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
	proc_put("5\n", 2, "70/oom_score_adj");
	for (unsigned i = 0; i < 40; i++) {
		kept[i] = PROC_CACHED_NONE;
		v = 0;
		assert_int_equal(
			proc_files_cached_number(&files, &kept[i], 70, PROC_FILE_OOM_SCORE_ADJ, &v),
			0);
		assert_int_equal(v, 5);
		assert_int_equal(proc_cached_is_open(&kept[i]), i < 32);
	}
	proc_cached_close(&kept[0]);
	assert_int_equal(
		proc_files_cached_number(&files, &kept[39], 70, PROC_FILE_OOM_SCORE_ADJ, &v), 0);
	assert_true(proc_cached_is_open(&kept[39]));
	assert_int_equal(
		proc_files_cached_text(&files, &kept[38], 70, PROC_FILE_OOM_SCORE_ADJ, &text, &len),
		-EMFILE);
	assert_int_equal(
		proc_files_cached_text(&files, &kept[27], 70, PROC_FILE_OOM_SCORE_ADJ, &text, &len),
		0);
	assert_int_equal(len, 2);
	assert_memory_equal(text, "5\n", 2);
	for (unsigned i = 0; i < 40; i++)
		proc_cached_close(&kept[i]);
	setrlimit(RLIMIT_NOFILE, &old);
}

FIXTURE_TEST(errors_are_counted_by_the_kind_of_file)
{
	struct proc_smaps smaps;
	struct proc_stat stat;
	int64_t v;

	proc_put("", 0, "70/stat");
	proc_put("", 0, "70/smaps_rollup");
	proc_put("12x", 3, "70/oom_score_adj");
	proc_put("Rss: 7 kB\nPs", 12, "71/smaps_rollup"); /* cut off: what is there counts */
	assert_int_equal(proc_files_stat(&files, 70, &stat), -EBADMSG);
	assert_int_equal(proc_files_stat(&files, 70, &stat), -EBADMSG);
	assert_int_equal(proc_files_smaps(&files, 70, &smaps), -EBADMSG);
	assert_int_equal(proc_files_smaps(&files, 71, &smaps), 0);
	assert_int_equal(smaps.has, 1u << PROC_SMAPS_RSS);
	assert_int_equal(proc_files_number(&files, 70, PROC_FILE_OOM_SCORE_ADJ, &v), -EBADMSG);
	assert_int_equal(files.errors[PROC_FILE_STAT].count, 2);
	assert_int_equal(files.errors[PROC_FILE_STAT].error, -EBADMSG);
	assert_int_equal(files.errors[PROC_FILE_SMAPS_ROLLUP].count, 1);
	assert_int_equal(files.errors[PROC_FILE_OOM_SCORE_ADJ].count, 1);
	assert_int_equal(files.errors[PROC_FILE_STATUS].count, 0);
}

/* A kernel without the file, and a task that is gone, give the same answer. */
FIXTURE_TEST(a_file_that_the_kernel_does_not_have)
{
	int64_t v;

	proc_put("", 0, "self/status");
	proc_put("", 0, "self/oom_score_adj");
	assert_int_equal(proc_files_number(&files, 70, PROC_FILE_OOM_SCORE_ADJ, &v), -ENOENT);
	assert_int_equal(proc_files_number(&files, 70, PROC_FILE_DMABUF_RSS, &v), -ENOENT);
	assert_false(files.errors[PROC_FILE_OOM_SCORE_ADJ].absent);
	assert_true(files.errors[PROC_FILE_DMABUF_RSS].absent);
	/* Nobody looks for it again. */
	proc_put("5\n", 2, "70/dmabuf_rss");
	proc_put("5\n", 2, "70/oom_score_adj");
	assert_int_equal(proc_files_number(&files, 70, PROC_FILE_DMABUF_RSS, &v), -ENOENT);
	assert_int_equal(proc_files_number(&files, 70, PROC_FILE_OOM_SCORE_ADJ, &v), 0);
}

FIXTURE_TEST(a_long_command_line_is_cut)
{
	static char text[PROC_CMDLINE_FILE_MAX + 1];
	const size_t sizes[] = {0,
				1,
				4095,
				4096,
				4097,
				8192,
				8193,
				PROC_CMDLINE_FILE_MAX - 1,
				PROC_CMDLINE_FILE_MAX,
				PROC_CMDLINE_FILE_MAX + 1};
	const char *got;
	size_t len;

	for (size_t i = 0; i < sizeof(text); i++)
		text[i] = (char)(i % 251);
	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		proc_put(text, sizes[i], "70/cmdline");
		assert_int_equal(proc_files_cmdline(&files, 70, &got, &len), 0);
		assert_int_equal(len, sizes[i] < PROC_CMDLINE_FILE_MAX ? sizes[i]
								       : PROC_CMDLINE_FILE_MAX);
		assert_memory_equal(got, text, len);
	}
}

TEST(ourselves_in_the_real_proc)
{
	struct proc_status status;
	struct proc_stat stat;
	struct proc_files real;
	struct pid_list l = {0};
	bool found = false;
	int32_t pid;

	if (access("/proc/self/status", R_OK) != 0)
		skip();
	assert_int_equal(proc_files_init(&real, "/proc"), 0);
	assert_int_equal(proc_files_status(&real, getpid(), &status), 0);
	assert_int_equal(status.tgid, getpid());
	assert_int_equal(status.ppid, getppid());
	assert_int_equal(status.uid, getuid());
	assert_memory_equal(status.name.s, "test_proc_files", status.name.len);
	assert_int_equal(proc_files_stat(&real, getpid(), &stat), 0);
	assert_true(stat.starttime > 0);
	assert_int_equal(pid_list_open(&l, real.root, 0), 0);
	while (pid_list_next(&l, &pid))
		found |= pid == getpid();
	assert_true(found);
	pid_list_close(&l);
	proc_files_deinit(&real);
}

/* In a container's /proc, or that of a folder, the numbers are somebody else's. */
FIXTURE_TEST(ids_of_the_pid_namespace)
{
	static const char *const others[] = {
		"Name:\tx\nTgid:\t%d\nPid:\t%d\nNSpid:\t%d\t7\n", /* seen from outside */
		"Name:\tx\nTgid:\t%d\nPid:\t%d\n", /* a kernel that does not say */
		"Name:\tx\nTgid:\t%d\nPid:\t1%d\nNSpid:\t1%d\n",
		"not %d the %d format %d\n",
	};
	static const char ours[] = "Name:\tx\nTgid:\t%d\nPid:\t%d\nNSpid:\t%d\n";
	struct proc_files f;

	assert_false(files.own_numbers); /* without self */
	for (size_t i = 0; i <= ARRAY_SIZE(others); i++) {
		bool is_ours = i == ARRAY_SIZE(others);
		char text[128];
		int n = snprintf(text, sizeof(text), is_ours ? ours : others[i], getpid(), getpid(),
				 getpid());

		proc_put(text, (size_t)n, "self/status");
		assert_int_equal(proc_files_init(&f, proc_root), 0);
		assert_int_equal(f.own_numbers, is_ours);
		proc_files_deinit(&f);
	}
}

TEST(no_such_root)
{
	struct proc_files f;

	assert_int_equal(proc_files_init(&f, "/nonexistent"), -ENOENT);
	assert_int_equal(proc_files_init(&f, "/dev/null"), -ENOTDIR);
}
