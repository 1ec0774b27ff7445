// SPDX-License-Identifier: Apache-2.0
/* Shell scripts stand in for daemons. */
#include <event2/event.h>
#include <sys/prctl.h>

#include "unit/test.h"
#include "base/core/clock.h"
#include "base/text/str.h"
#include "cli/record/daemon_process.c"

static char dir[64], script[96];
static struct event_base *loop;
static struct daemon_process *child;
static char heard[2048];
static const char *const none[] = {NULL};

static int setup(void **state)
{
	strcpy(dir, "/tmp/test-daemon-XXXXXX");
	if (!mkdtemp(dir))
		return -1;
	snprintf(script, sizeof(script), "%s/daemon", dir);
	loop = event_base_new();
	heard[0] = '\0';
	child = NULL;
	return 0;
}

static int teardown(void **state)
{
	char command[128];

	daemon_process_free(child, 1000);
	event_base_free(loop);
	snprintf(command, sizeof(command), "rm -rf %s", dir);
	return system(command);
}

static void write_script(const char *text)
{
	FILE *f = fopen(script, "w");

	assert_non_null(f);
	fprintf(f, "#!/bin/bash\n%s\n", text);
	fclose(f);
	assert_int_equal(chmod(script, 0700), 0);
}

static void hear(const char *what)
{
	strncat(heard, what, sizeof(heard) - strlen(heard) - 1);
}

static void on_ready(void *ctx, struct daemon_process *d)
{
	hear("ready ");
	event_base_loopbreak(loop);
}

static void on_not_ready(void *ctx, struct daemon_process *d)
{
	hear("not-ready ");
	event_base_loopbreak(loop);
}

static void on_line(void *ctx, const char *line)
{
	hear("[");
	hear(line);
	hear("] ");
}

static const struct daemon_process_ops ops = {on_ready, on_not_ready, on_line};

static void start(const char *text)
{
	static const struct daemon_env env[] = {{"A_NAME", "a value"}, {NULL, NULL}};
	struct err_text e;

	write_script(text);
	assert_int_equal(daemon_process_start(loop, "thing", script, none, "NOTIFY", env, &ops,
					      NULL, &e, &child),
			 0);
}

/* Until ready or not, at most 10 s. */
static void run(void)
{
	struct timeval limit = {10, 0};

	event_base_loopexit(loop, &limit);
	event_base_dispatch(loop);
}

/* Gives the reason once it has ended. */
static const char *wait_until_ended(void)
{
	static struct err_text why;

	for (int i = 0; i < 1000; i++) {
		if (daemon_process_has_ended(child, &why))
			return why.text;
		usleep(10000);
	}
	return "(still there)";
}

static bool is_alive(pid_t pid)
{
	return kill(pid, 0) == 0;
}

#define FIXTURE_TEST(name) TEST_WITH(name, setup, teardown)

FIXTURE_TEST(test_it_tells_that_it_is_ready)
{
	start("echo -n 1 >&$NOTIFY; exec sleep 100");
	run();
	assert_string_equal(heard, "ready ");
	assert_true(is_alive(child->pid));
	assert_false(daemon_process_has_ended(child, NULL));
}

FIXTURE_TEST(test_it_ends_before_it_is_ready)
{
	start("echo '<3>thing: no such luck' >&2; exit 5");
	run();
	assert_non_null(strstr(heard, "not-ready "));
	assert_string_equal(wait_until_ended(),
			    "thing ended with exit code 5: thing: no such luck");
	/* And it stays ended. */
	assert_true(daemon_process_has_ended(child, NULL));
}

FIXTURE_TEST(test_another_byte_is_not_ready)
{
	start("echo -n 0 >&$NOTIFY; exec sleep 100");
	run();
	assert_string_equal(heard, "not-ready ");
}

FIXTURE_TEST(test_a_signal_is_named)
{
	start("echo -n 1 >&$NOTIFY; kill -9 $$");
	run();
	assert_string_equal(wait_until_ended(), "thing was killed by signal 9");
}

/* What it has said meanwhile is no reason. */
FIXTURE_TEST(test_the_reason_of_an_end_is_no_information_and_nothing_of_a_killed_one)
{
	start("exec >&2; echo '<6>thing: reads with priority'; exec 2>&- >&-; echo -n 1 >&$NOTIFY");
	run();
	assert_string_equal(wait_until_ended(), "thing ended with exit code 0");
	daemon_process_free(child, 1000);
	start("echo '<4>thing: a warning of before' >&2; echo -n 1 >&$NOTIFY; kill -9 $$");
	run();
	assert_string_equal(wait_until_ended(), "thing was killed by signal 9");
}

FIXTURE_TEST(test_warnings_are_passed_on_without_their_weight)
{
	start("exec >&2; echo '<6>thing: info'; echo '<4>thing: warning'; echo '<3>thing: error'; "
	      "echo 'no weight'; echo; echo -n '<4>unfinished'; exec 2>&- >&-; sleep 0.3; "
	      "echo -n 1 >&$NOTIFY");
	run();
	assert_string_equal(wait_until_ended(), "thing ended with exit code 0: unfinished");
	assert_non_null(strstr(heard, "ready "));
	assert_non_null(strstr(heard, "[thing: warning] [thing: error] [no weight] "));
	assert_non_null(strstr(heard, "[unfinished] "));
	assert_null(strstr(heard, "info"));
}

FIXTURE_TEST(test_its_stderr_claims_to_be_the_journal)
{
	/* "device:inode" of the pipe on descriptor 2. */
	start("[ \"$JOURNAL_STREAM\" = \"$(stat -L -c %d:%i /proc/$$/fd/2)\" ] && echo same >&2; "
	      "echo -n 1 >&$NOTIFY; exec sleep 100");
	run();
	if (!strstr(heard, "[same]"))
		run();
	assert_non_null(strstr(heard, "[same]"));
}

FIXTURE_TEST(test_its_environment)
{
	signal(SIGPIPE, SIG_IGN);
	start("read x; grep -E 'SigIgn|SigBlk' /proc/self/status | tr '\\n' ' ' >&2;"
	      "echo \"$A_NAME,$(cut -d' ' -f5 /proc/$$/stat),$$,$x\" >&2;"
	      "echo -n 1 >&$NOTIFY");
	run();
	signal(SIGPIPE, SIG_DFL);
	hear(wait_until_ended());
	/* 32 and 33 are the C library's, which lets nobody set them; make ignores them. */
	assert_non_null(strstr(heard, "SigIgn:\t"));
	assert_int_equal(strtoull(strstr(heard, "SigIgn:\t") + 8, NULL, 16) & ~0x180000000ull, 0);
	assert_non_null(strstr(heard, "SigBlk:\t0000000000000000"));
	{
		char group[64];
		pid_t pid;
		const char *p = strstr(heard, "a value,");

		assert_non_null(p);
		assert_int_equal(sscanf(p, "a value,%d,", &pid), 1);
		snprintf(group, sizeof(group), "a value,%d,%d,]", pid, pid);
		assert_non_null(strstr(heard, group));
	}
}

FIXTURE_TEST(test_a_very_long_line_is_cut)
{
	start("head -c 100000 /dev/zero | tr '\\0' x >&2; echo >&2; echo -n 1 >&$NOTIFY");
	run();
	wait_until_ended();
	assert_true(strspn(strchr(heard, '[') + 1, "x") == DAEMON_MAX_LINE - 1);
}

FIXTURE_TEST(test_a_program_that_cannot_run)
{
	static const struct daemon_env env[] = {{NULL, NULL}};
	struct err_text e;

	assert_int_equal(daemon_process_start(loop, "thing", "/nonexistent/x", none, "NOTIFY", env,
					      &ops, NULL, &e, &child),
			 0);
	run();
	assert_string_equal(wait_until_ended(), "thing ended with exit code 127: cannot run "
						"/nonexistent/x: No such file or directory");
}

/* ---- ending it ---- */

FIXTURE_TEST(test_free_ends_it_and_hears_its_last_words)
{
	pid_t pid;

	start("trap 'echo cleaning up >&2; exit 0' TERM; echo -n 1 >&$NOTIFY;"
	      "while :; do sleep 0.05; done");
	run();
	pid = child->pid;
	daemon_process_free(child, 10000);
	child = NULL;
	assert_false(is_alive(pid));
	assert_string_equal(heard, "ready [cleaning up] ");
}

/* Long after its last word: silence is no end. */
FIXTURE_TEST(test_free_waits_for_one_that_is_silent_but_busy)
{
	struct stat st;
	char flag[128];

	start("trap 'exec >&- 2>&-; sleep 0.3; touch $(dirname $0)/done; exit' TERM;"
	      "echo -n 1 >&$NOTIFY; while :; do sleep 0.05; done");
	run();
	daemon_process_free(child, 10000);
	child = NULL;
	snprintf(flag, sizeof(flag), "%s/done", dir);
	assert_int_equal(stat(flag, &st), 0);
}

FIXTURE_TEST(test_free_kills_one_that_does_not_listen)
{
	uint64_t begin;
	pid_t pid;

	start("trap '' TERM; echo -n 1 >&$NOTIFY; while :; do sleep 0.05; done");
	run();
	pid = child->pid;
	begin = clock_mono_ns();
	daemon_process_free(child, 200);
	child = NULL;
	assert_false(is_alive(pid));
	assert_true(clock_mono_ns() - begin >= 200 * NS_PER_MS);
}

/* One that outlives it and keeps its stderr open is nobody's business. */
FIXTURE_TEST(test_free_does_not_wait_for_its_children)
{
	pid_t grandchild;

	start("sleep 60 & echo $! >&2; echo -n 1 >&$NOTIFY; while :; do sleep 0.05; done");
	run();
	daemon_process_free(child, 10000);
	child = NULL;
	assert_int_equal(sscanf(strchr(heard, '['), "[%d]", &grandchild), 1);
	assert_true(is_alive(grandchild));
	kill(grandchild, SIGKILL);
}

/* More than a pipe holds: it could not end if nobody read. */
FIXTURE_TEST(test_free_reads_what_it_has_to_say)
{
	start("trap 'head -c 300000 /dev/zero | tr \"\\0\" \"\\n\" >&2; echo end >&2; exit 0' TERM;"
	      "echo -n 1 >&$NOTIFY; while :; do sleep 0.05; done");
	run();
	daemon_process_free(child, 10000);
	child = NULL;
	assert_string_equal(heard, "ready [end] ");
}

/* The parent dies without a word; the child's pid comes through a pipe. */
FIXTURE_TEST(test_it_dies_with_its_parent)
{
	int p[2];
	pid_t parent, pid = 0;

	/* Orphans come to us, so that we can see them end. */
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	assert_int_equal(pipe(p), 0);
	parent = fork();
	if (parent == 0) {
		start("echo -n 1 >&$NOTIFY; exec sleep 100");
		run();
		pid = child->pid;
		if (write(p[1], &pid, sizeof(pid)) != sizeof(pid))
			_exit(1);
		raise(SIGKILL);
	}
	close(p[1]);
	assert_int_equal(read(p[0], &pid, sizeof(pid)), sizeof(pid));
	close(p[0]);
	assert_int_equal(waitpid(parent, NULL, 0), parent);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	prctl(PR_SET_CHILD_SUBREAPER, 0);
}
