/* SPDX-License-Identifier: Apache-2.0 */
#include <event2/event.h>

#include "base/system/fs.h"
#include "cli/record/command_child.h"
#include "unit/temp_dir.h"
#include "unit/test.h"

static struct event_base *loop;
static struct command_child *child;
static struct err_text why;
static int ends;

static int setup(void **state)
{
	loop = event_base_new();
	ends = 0;
	child = NULL;
	return temp_dir_setup(state);
}

static int teardown(void **state)
{
	command_child_free(child);
	event_base_free(loop);
	return temp_dir_teardown(state);
}

static void on_end(void *ctx)
{
	assert_ptr_equal(ctx, &ends);
	ends++;
	event_base_loopbreak(loop);
}

static void fork_it(char **argv)
{
	if (command_child_fork(argv, &why, &child))
		fail_msg("%s", why.text);
	assert_int_equal(command_child_watch(child, loop, on_end, &ends), 0);
}

/* A command for sh. */
static void fork_sh(const char *text)
{
	static char *argv[4];

	argv[0] = (char *)"/bin/sh";
	argv[1] = (char *)"-c";
	argv[2] = (char *)text;
	fork_it(argv);
}

static void run_it(void)
{
	if (command_child_run(child, NULL, &why))
		fail_msg("%s", why.text);
}

static void wait_for_end(void)
{
	static const struct timeval long_time = {20, 0};

	event_base_loopexit(loop, &long_time);
	if (!ends)
		event_base_dispatch(loop);
	assert_int_equal(ends, 1);
}

static const char *described(void)
{
	static char text[256];
	struct strbuf b = {0};

	command_child_describe(child, &b);
	snprintf(text, sizeof(text), "%s", b.s);
	strbuf_deinit(&b);
	return text;
}

#define FIXTURE_TEST(name) TEST_WITH(name, setup, teardown)

FIXTURE_TEST(test_it_has_the_address_of_the_service)
{
	(void)state;
	fork_sh("test \"$PERFETTO_PRODUCER_SOCK_NAME\" = /some/where");
	assert_int_equal(command_child_run(child, "/some/where", &why), 0);
	wait_for_end();
	assert_int_equal(command_child_exit_code(child), 0);
}

FIXTURE_TEST(test_it_waits_and_then_runs)
{
	char command[1024];

	snprintf(command, sizeof(command), "echo $$ >%s", temp_dir_path(state, 0, "ran"));
	fork_sh(command);
	assert_true(command_child_pid(child) > 0);
	assert_int_equal(kill(command_child_pid(child), 0), 0);
	event_base_loop(loop, EVLOOP_NONBLOCK);
	assert_false(command_child_is_running(child));
	assert_false(fs_exists(temp_dir_path(state, 0, "ran")));
	assert_string_equal(described(), "'/bin/sh' did not run");
	run_it();
	wait_for_end();
	assert_false(command_child_is_running(child));
	assert_true(fs_exists(temp_dir_path(state, 0, "ran")));
	assert_string_equal(described(), "'/bin/sh' exited with code 0");
}

/* The number that was recorded is the command's. */
FIXTURE_TEST(test_its_pid_is_known_before)
{
	char command[1024], number[32];
	struct strbuf b = {0};

	snprintf(command, sizeof(command), "echo $$ >%s", temp_dir_path(state, 0, "pid"));
	fork_sh(command);
	snprintf(number, sizeof(number), "%d\n", (int)command_child_pid(child));
	run_it();
	wait_for_end();
	assert_int_equal(fs_read_file(temp_dir_path(state, 0, "pid"), 100, &b), 0);
	assert_string_equal(b.s, number);
	strbuf_deinit(&b);
}

/* Its maps name the program and its libraries, and what a script needs; then it runs as usual. */
FIXTURE_TEST(test_it_maps_its_files_before)
{
	char *argv[] = {(char *)temp_dir_path(state, 0, "script"), NULL};
	char path[64];
	struct strbuf maps = {0};
	FILE *f = fopen(argv[0], "w");

	signal(SIGPIPE, SIG_IGN);
	fputs("#!/usr/bin/env sh\nexit 7\n", f);
	fchmod(fileno(f), 0755);
	fclose(f);
	fork_it(argv);
	command_child_map_files(child);
	snprintf(path, sizeof(path), "/proc/%d/maps", (int)command_child_pid(child));
	assert_int_equal(fs_read_file(path, 1 << 20, &maps), 0);
	assert_non_null(strstr(maps.s, "/script\n"));
	assert_non_null(strstr(maps.s, "/dash\n") ?: strstr(maps.s, "/bash\n") ?: strstr(maps.s, "/sh\n"));
	assert_false(command_child_is_running(child));
	run_it();
	wait_for_end();
	assert_int_equal(command_child_exit_code(child), 7);
	strbuf_deinit(&maps);
}

/* Neither a missing program nor a killed child is an error of this. */
FIXTURE_TEST(test_files_that_cannot_be_mapped)
{
	static char *nowhere[] = {(char *)"no-such", NULL};

	signal(SIGPIPE, SIG_IGN);
	fork_it(nowhere);
	command_child_map_files(child);
	assert_int_equal(command_child_run(child, NULL, &why), -ENOENT);
	wait_for_end();
	command_child_free(child);
	ends = 0;
	fork_sh("exit 0");
	kill(command_child_pid(child), SIGKILL);
	wait_for_end();
	command_child_map_files(child);
	assert_int_equal(command_child_run(child, NULL, &why), -ESRCH);
}

FIXTURE_TEST(test_how_it_ended)
{
	fork_sh("exit 3");
	run_it();
	wait_for_end();
	assert_string_equal(described(), "'/bin/sh' exited with code 3");
	command_child_free(child);
	ends = 0;
	fork_sh("kill -TERM $$");
	run_it();
	wait_for_end();
	assert_string_equal(described(), "'/bin/sh' was killed by signal 15 (Terminated)");
}

/* Its children in the background are not it. */
FIXTURE_TEST(test_what_it_leaves_behind_does_not_count)
{
	char command[1024];
	struct strbuf b = {0};

	snprintf(command, sizeof(command), "sleep 60 >/dev/null & echo $! >%s; exit 0",
		 temp_dir_path(state, 0, "pid"));
	fork_sh(command);
	run_it();
	wait_for_end();
	assert_int_equal(fs_read_file(temp_dir_path(state, 0, "pid"), 100, &b), 0);
	assert_int_equal(kill(atoi(b.s), SIGKILL), 0);
	strbuf_deinit(&b);
}

FIXTURE_TEST(test_no_such_program)
{
	static char *nowhere[] = {(char *)"no\033such", NULL};
	char *no_right[] = {(char *)temp_dir_path(state, 1, "file"), NULL};
	FILE *f = fopen(no_right[0], "w");

	fclose(f);
	fork_it(nowhere);
	assert_int_equal(command_child_run(child, NULL, &why), -ENOENT);
	assert_string_equal(why.text, "cannot run 'no\033such': No such file or directory");
	assert_string_equal(described(), "'no\033such' did not run");
	wait_for_end();
	command_child_free(child);
	ends = 0;
	fork_it(no_right);
	assert_int_equal(command_child_run(child, NULL, &why), -EACCES);
	assert_non_null(strstr(why.text, "Permission denied"));
}

FIXTURE_TEST(test_one_that_is_killed_before_it_runs)
{
	signal(SIGPIPE, SIG_IGN);
	fork_sh("exit 0");
	kill(command_child_pid(child), SIGKILL);
	wait_for_end();
	assert_false(command_child_is_running(child));
	assert_int_equal(command_child_run(child, NULL, &why), -ESRCH);
	assert_string_equal(why.text, "'/bin/sh' was killed before it ran");
	command_child_free(child);
	ends = 0;
	/* The same, unseen. */
	fork_sh("exit 0");
	kill(command_child_pid(child), SIGKILL);
	siginfo_t info;
	assert_int_equal(waitid(P_PID, (id_t)command_child_pid(child), &info, WEXITED | WNOWAIT),
			 0);
	assert_int_equal(command_child_run(child, NULL, &why), -ESRCH);
	wait_for_end();
}

FIXTURE_TEST(test_signals_reach_it_while_it_runs)
{
	char command[1024];

	snprintf(command, sizeof(command), "trap 'exit 7' INT; : >%s; while :; do sleep 0.01; done",
		 temp_dir_path(state, 0, "ready"));
	fork_sh(command);
	command_child_signal(child, SIGKILL); /* not yet */
	run_it();
	for (int i = 0; i < 2000 && !fs_exists(temp_dir_path(state, 0, "ready")); i++)
		usleep(10000);
	assert_true(command_child_is_running(child));
	assert_non_null(strstr(described(), "'/bin/sh' is still running (pid "));
	command_child_signal(child, SIGINT);
	wait_for_end();
	assert_string_equal(described(), "'/bin/sh' exited with code 7");
	command_child_signal(child, SIGKILL); /* no more */
}

FIXTURE_TEST(test_one_that_is_not_wanted_never_runs)
{
	char command[1024];
	pid_t pid;

	snprintf(command, sizeof(command), ": >%s", temp_dir_path(state, 0, "ran"));
	fork_sh(command);
	pid = command_child_pid(child);
	command_child_free(child);
	child = NULL;
	assert_int_equal(kill(pid, 0), -1);
	assert_false(fs_exists(temp_dir_path(state, 0, "ran")));
	command_child_free(NULL);
}

FIXTURE_TEST(test_one_that_runs_is_left_alone)
{
	pid_t pid;

	fork_sh("exec sleep 60 >/dev/null");
	pid = command_child_pid(child);
	run_it();
	command_child_free(child);
	child = NULL;
	assert_int_equal(kill(pid, 0), 0);
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

/* Nothing of ours is open in it but what was before; and what we opened since is not, either. */
FIXTURE_TEST(test_descriptors)
{
	struct strbuf before = {0}, b = {0};
	char command[1024];
	int fd;

	snprintf(command, sizeof(command), "ls /proc/self/fd >%s", temp_dir_path(state, 0, "fds"));
	assert_int_equal(system(command), 0);
	assert_int_equal(fs_read_file(temp_dir_path(state, 0, "fds"), 1000, &before), 0);
	fork_sh(command);
	fd = open("/dev/null", O_RDONLY);
	run_it();
	wait_for_end();
	close(fd);
	assert_int_equal(fs_read_file(temp_dir_path(state, 0, "fds"), 1000, &b), 0);
	assert_string_equal(b.s, before.s);
	strbuf_deinit(&b);
	strbuf_deinit(&before);
}

/* Signals that we ignore or block meanwhile are our own affair. */
FIXTURE_TEST(test_signals_are_as_they_were_at_the_fork)
{
	char command[1024];
	struct strbuf b = {0};
	sigset_t set;

	snprintf(command, sizeof(command), "grep -E '^Sig(Blk|Ign)' /proc/self/status >%s",
		 temp_dir_path(state, 0, "signals"));
	signal(SIGPIPE, SIG_DFL);
	fork_sh(command);
	signal(SIGPIPE, SIG_IGN);
	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigprocmask(SIG_BLOCK, &set, NULL);
	run_it();
	wait_for_end();
	sigprocmask(SIG_UNBLOCK, &set, NULL);
	assert_int_equal(fs_read_file(temp_dir_path(state, 0, "signals"), 1000, &b), 0);
	assert_non_null(strstr(b.s, "SigBlk:\t0000000000000000"));
	assert_null(strstr(b.s, "SigIgn:\t0000000000001000"));
	strbuf_deinit(&b);
}
