// SPDX-License-Identifier: Apache-2.0
#include "unit/test.h"
#include "unit/ftrace/fake_tracefs.h"
#include "ftrace/tracefs/foreign_reader.h"

static int setup(void **state)
{
	if (temp_dir_setup(state))
		return -1;
	fake_text(*state, "t/trace_pipe", "");
	fake_text(*state, "t/per_cpu/cpu0/trace_pipe_raw", "");
	fake_text(*state, "t/instances/x/trace_pipe", "");
	fake_text(*state, "p/7/comm", "first\n");
	fake_text(*state, "p/9/comm", "second\n");
	fake_text(*state, "p/self/comm", "not a number\n");
	fake_mkdirs(temp_dir_path(state, 2, "p/7/fd/x"));
	fake_mkdirs(temp_dir_path(state, 2, "p/9/fd/x"));
	fake_mkdirs(temp_dir_path(state, 2, "p/self/fd/x"));
	return 0;
}

static bool find(void **state, struct foreign_reader *r)
{
	return foreign_reader_find(temp_dir_path(state, 0, "t"), temp_dir_path(state, 1, "p"), r);
}

static void has_open(void **state, const char *fd, const char *file)
{
	assert_int_equal(symlink(temp_dir_path(state, 2, file), temp_dir_path(state, 3, fd)), 0);
}

#define FIXTURE_TEST(name) TEST_WITH(name, setup, temp_dir_teardown)

FIXTURE_TEST(test_found)
{
	struct foreign_reader r;

	assert_false(find(state, &r));
	has_open(state, "p/7/fd/0", "t/instances/x/trace_pipe"); /* another instance's */
	has_open(state, "p/7/fd/1", "p/7/comm");
	has_open(state, "p/7/fd/2", "gone/trace_pipe");
	has_open(state, "p/self/fd/3", "t/trace_pipe");
	assert_false(find(state, &r));
	has_open(state, "p/9/fd/4", "t/per_cpu/cpu0/trace_pipe_raw");
	assert_true(find(state, &r));
	assert_int_equal(r.pid, 9);
	assert_string_equal(r.name, "second");
}

FIXTURE_TEST(test_nothing_to_find)
{
	struct foreign_reader r;

	assert_false(foreign_reader_find("/nope", "/proc", &r));
	assert_false(foreign_reader_find(temp_dir_path(state, 0, "t"), "/nope", &r));
}

/* With descriptors of real processes. We ourselves are nobody else. */
FIXTURE_TEST(test_a_process)
{
	int fd, status, ready[2];
	struct foreign_reader r;
	pid_t pid;
	char c;

	fd = open(temp_dir_path(state, 2, "t/trace_pipe"), O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_false(foreign_reader_find(temp_dir_path(state, 0, "t"), "/proc", &r));
	assert_int_equal(pipe(ready), 0);
	pid = fork();
	if (pid == 0) {
		if (write(ready[1], "x", 1) == 1)
			pause();
		_exit(0);
	}
	assert_int_equal(read(ready[0], &c, 1), 1);
	assert_true(foreign_reader_find(temp_dir_path(state, 0, "t"), "/proc", &r));
	assert_int_equal(r.pid, pid);
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	close(fd);
	close(ready[0]);
	close(ready[1]);
}
