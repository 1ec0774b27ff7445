/* SPDX-License-Identifier: Apache-2.0 */
#include "ftrace/tracefs/foreign_reader.h"
#include "unit/ftrace/fake_tracefs.h"

SETUP
{
	fake_root_new();
	fake_text("t/trace_pipe", "");
	fake_text("t/per_cpu/cpu0/trace_pipe_raw", "");
	fake_text("t/instances/x/trace_pipe", "");
	fake_text("p/7/comm", "first\n");
	fake_text("p/9/comm", "second\n");
	fake_text("p/self/comm", "not a number\n");
	fake_mkdirs(fake_path("p/7/fd/x"));
	fake_mkdirs(fake_path("p/9/fd/x"));
	fake_mkdirs(fake_path("p/self/fd/x"));
}

static bool find(struct foreign_reader *r)
{
	return foreign_reader_find(fake_path("t"), fake_path("p"), r);
}

static void has_open(const char *fd, const char *file)
{
	assert_int_equal(symlink(fake_path(file), fake_path(fd)), 0);
}

TEARDOWN
{
	fake_root_remove();
}

FIXTURE_TEST(found)
{
	struct foreign_reader r;

	assert_false(find(&r));
	has_open("p/7/fd/0", "t/instances/x/trace_pipe"); /* another instance's */
	has_open("p/7/fd/1", "p/7/comm");
	has_open("p/7/fd/2", "gone/trace_pipe");
	has_open("p/self/fd/3", "t/trace_pipe");
	assert_false(find(&r));
	has_open("p/9/fd/4", "t/per_cpu/cpu0/trace_pipe_raw");
	assert_true(find(&r));
	assert_int_equal(r.pid, 9);
	assert_string_equal(r.name, "second");
}

FIXTURE_TEST(nothing_to_find)
{
	struct foreign_reader r;

	assert_false(foreign_reader_find("/nope", "/proc", &r));
	assert_false(foreign_reader_find(fake_path("t"), "/nope", &r));
}

/* With descriptors of real processes. This process does not count. */
FIXTURE_TEST(a_process)
{
	int fd, status, ready[2];
	struct foreign_reader r;
	pid_t pid;
	char c;

	fd = open(fake_path("t/trace_pipe"), O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_false(foreign_reader_find(fake_path("t"), "/proc", &r));
	assert_int_equal(pipe(ready), 0);
	pid = fork();
	if (pid == 0) {
		if (write(ready[1], "x", 1) == 1)
			pause();
		_exit(0);
	}
	assert_int_equal(read(ready[0], &c, 1), 1);
	assert_true(foreign_reader_find(fake_path("t"), "/proc", &r));
	assert_int_equal(r.pid, pid);
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	close(fd);
	close(ready[0]);
	close(ready[1]);
}
