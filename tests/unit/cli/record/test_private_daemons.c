/* SPDX-License-Identifier: Apache-2.0 */
/* Shell scripts named sondad and sonda-probes stand in PATH for the real ones. */
#include <event2/event.h>
#include <sys/prctl.h>

#include "base/core/clock.h"
#include "base/system/fs.h"
#include "base/text/str.h"
#include "cli/record/private_daemons.h"
#include "unit/test.h"

static char dir[64], tmp[80], *old_path;
static struct event_base *loop;
static struct private_daemons *daemons;
static char calls[2048];

#define SERVICE                                                                                    \
	"touch $PERFETTO_PRODUCER_SOCK_NAME $PERFETTO_CONSUMER_SOCK_NAME\n"                        \
	"echo \"service $$\" >>$LOG; trap 'echo service-end >>$LOG; exit 0' TERM\n"                \
	"echo -n 1 >&$TRACED_NOTIFY_FD\n"
#define PROBES                                                                                     \
	"[ -e $PERFETTO_PRODUCER_SOCK_NAME ] && echo \"probes $$\" >>$LOG\n"                       \
	"trap 'echo probes-end >>$LOG; exit 0' TERM; echo -n 1 >&$TRACED_PROBES_NOTIFY_FD\n"
#define FOREVER "while :; do sleep 0.05; done\n"

static void write_program(const char *name, const char *text)
{
	char path[128];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	f = fopen(path, "w");
	assert_non_null(f);
	fprintf(f, "#!/bin/bash\nLOG=%s/log\n%s", dir, text);
	fclose(f);
	assert_int_equal(chmod(path, 0700), 0);
}

static int setup(void **state)
{
	char path[1024];

	strcpy(dir, "/tmp/test-private-XXXXXX");
	if (!mkdtemp(dir))
		return -1;
	snprintf(tmp, sizeof(tmp), "%s/tmp", dir);
	mkdir(tmp, 0700);
	setenv("TMPDIR", tmp, 1);
	old_path = strdup(getenv("PATH"));
	snprintf(path, sizeof(path), "%s:%s", dir, old_path);
	setenv("PATH", path, 1);
	loop = event_base_new();
	calls[0] = '\0';
	daemons = NULL;
	return 0;
}

static int count(void *ctx, const char *name, unsigned char d_type)
{
	++*(int *)ctx;
	return 0;
}

/* Directories that were left behind. */
static int leftovers(void)
{
	int n = 0;

	assert_int_equal(fs_each(tmp, count, &n), 0);
	return n;
}

static int teardown(void **state)
{
	char command[128];

	private_daemons_free(daemons);
	event_base_free(loop);
	setenv("PATH", old_path, 1);
	free(old_path);
	unsetenv("TMPDIR");
	snprintf(command, sizeof(command), "rm -rf %s", dir);
	return system(command);
}

static void note(const char *what)
{
	strncat(calls, what, sizeof(calls) - strlen(calls) - 1);
}

static void on_ready(void *ctx)
{
	note("ready ");
	event_base_loopbreak(loop);
}

static void on_failed(void *ctx, const char *why)
{
	note("failed(");
	note(why);
	note(") ");
	event_base_loopbreak(loop);
}

static void on_producer_ended(void *ctx, const char *why)
{
	note("cut short(");
	note(why);
	note(") ");
	event_base_loopbreak(loop);
}

static void on_line(void *ctx, const char *line)
{
	note("[");
	note(line);
	note("] ");
}

static const struct private_daemons_ops ops = {on_ready, on_failed, on_producer_ended, on_line};

static int start_with(const char *output_path)
{
	struct timeval limit = {20, 0};
	struct err_text e = {""};
	int r = private_daemons_start(loop, output_path, &ops, NULL, &e, &daemons);

	if (r) {
		note(e.text);
		return r;
	}
	event_base_loopexit(loop, &limit);
	event_base_dispatch(loop);
	return 0;
}

static int start(void)
{
	return start_with(NULL);
}

static void read_log(struct strbuf *b)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/log", dir);
	assert_int_equal(fs_read_file(path, 10000, b), 0);
}

static void write_programs(const char *service, const char *probes)
{
	write_program("sondad", service);
	write_program("sonda-probes", probes);
}

/* Ends the daemons, of which nothing is left. */
static void end(void)
{
	private_daemons_free(TAKE_PTR(daemons));
	assert_int_equal(leftovers(), 0);
}

#define FIXTURE_TEST(name) TEST_WITH(name, setup, teardown)

FIXTURE_TEST(test_the_producer_starts_when_the_service_is_ready)
{
	struct strbuf log = {0};
	int service, probes;
	struct stat st;
	char parent[128];

	write_programs(SERVICE FOREVER, PROBES FOREVER);
	assert_int_equal(start(), 0);
	assert_string_equal(calls, "ready ");
	/* The socket is in a directory that no other user can read. */
	assert_int_equal(stat(private_daemons_address(daemons), &st), 0);
	snprintf(parent, sizeof(parent), "%s", private_daemons_address(daemons));
	*strrchr(parent, '/') = '\0';
	assert_int_equal(stat(parent, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0700);
	assert_true(str_starts(parent, tmp));
	assert_false(private_daemons_check_failed(daemons, NULL));

	end();
	read_log(&log);
	assert_int_equal(sscanf(log.s, "service %d\nprobes %d\n", &service, &probes), 2);
	assert_non_null(strstr(log.s, "probes-end\nservice-end\n"));
	assert_int_equal(kill(service, 0), -1);
	assert_int_equal(kill(probes, 0), -1);
	strbuf_deinit(&log);
}

FIXTURE_TEST(test_the_output_dir_is_passed_to_the_service_only)
{
	struct strbuf log = {0};

	write_programs("echo \"service($*)\" >>$LOG\n" SERVICE FOREVER,
		       "echo \"probes($*)\" >>$LOG\n" PROBES FOREVER);
	assert_int_equal(start_with("/a/directory/trace"), 0);
	assert_string_equal(calls, "ready ");
	read_log(&log);
	assert_non_null(strstr(log.s, "service(--output-dir /a/directory)\n"));
	assert_non_null(strstr(log.s, "probes()\n"));
	strbuf_deinit(&log);
}

/* The reason is the last warning, unless SIGKILL ended it. */
FIXTURE_TEST(test_a_service_that_does_not_start)
{
	static const struct {
		const char *script, *why;
	} rows[] = {
		{"echo '<3>sondad: no memory' >&2; exit 1\n",
		 "exited with code 1: sondad: no memory"},
		{"echo '<6>sondad: information' >&2; exit 1\n", "exited with code 1"},
		{"echo -n '<4>unfinished' >&2\n", "exited with code 0: unfinished"},
		{"echo '<4>sondad: a warning' >&2; kill -9 $$\n", "was killed by signal 9"},
		{"kill -SEGV $$\n", "was killed by signal 11"},
		{"echo -n 0 >&$TRACED_NOTIFY_FD; exit 7\n", "exited with code 7"},
	};
	char expected[128];

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		calls[0] = '\0';
		write_programs(rows[i].script, PROBES FOREVER);
		assert_int_equal(start(), 0);
		snprintf(expected, sizeof(expected), "failed(sondad %s) ", rows[i].why);
		assert_non_null(strstr(calls, expected));
		end();
	}
}

FIXTURE_TEST(test_a_program_that_cannot_run)
{
	char path[128];
	FILE *f;

	snprintf(path, sizeof(path), "%s/sondad", dir);
	f = fopen(path, "w");
	fputs("#!/nonexistent\n", f);
	fclose(f);
	assert_int_equal(chmod(path, 0700), 0);
	assert_int_equal(start(), 0);
	assert_non_null(strstr(calls, "failed(sondad exited with code 127: cannot run /tmp/"));
	assert_non_null(strstr(calls, "/sondad: No such file or directory) "));
}

FIXTURE_TEST(test_a_producer_that_does_not_start)
{
	write_programs(SERVICE FOREVER, "exit 3\n");
	assert_int_equal(start(), 0);
	assert_string_equal(calls, "failed(sonda-probes exited with code 3) ");
	end();
}

FIXTURE_TEST(test_a_producer_that_ends_later)
{
	struct timeval limit = {20, 0};

	write_programs(SERVICE FOREVER, PROBES "sleep 0.3; kill -SEGV $$\n");
	assert_int_equal(start(), 0);
	assert_string_equal(calls, "ready ");
	event_base_loopexit(loop, &limit);
	event_base_dispatch(loop);
	assert_string_equal(calls, "ready cut short(sonda-probes was killed by signal 11) ");
	/* The service has what was handed over. */
	assert_false(private_daemons_check_failed(daemons, NULL));
}

FIXTURE_TEST(test_a_service_that_ends_later)
{
	struct timeval limit = {20, 0};

	write_programs(SERVICE "sleep 0.5; kill -SEGV $$\n", PROBES FOREVER);
	assert_int_equal(start(), 0);
	event_base_loopexit(loop, &limit);
	event_base_dispatch(loop);
	assert_string_equal(calls, "ready failed(sondad was killed by signal 11) ");
}

FIXTURE_TEST(test_warnings_are_passed_on_without_their_priority)
{
	write_programs(
		"exec 2>&2; echo '<6>sondad: info' >&2; echo '<4>sondad: warning' >&2\n"
		"echo '<3>sondad: error' >&2; echo 'no priority' >&2; echo >&2\n" SERVICE FOREVER,
		"echo '<6>sonda-probes: chatter' >&2\n"
		"echo '<4>sonda-probes: linux.ftrace is off: no tracefs' >&2\n" PROBES FOREVER);
	assert_int_equal(start(), 0);
	assert_string_equal(calls, "[sondad: warning] [sondad: error] [no priority] ready ");
}

FIXTURE_TEST(test_a_very_long_line_is_cut)
{
	write_programs("head -c 100000 /dev/zero | tr '\\0' x >&2; echo >&2\n" SERVICE FOREVER,
		       PROBES FOREVER);
	assert_int_equal(start(), 0);
	assert_int_equal(strspn(strchr(calls, '[') + 1, "x"), 511);
}

/* No signal is ignored or blocked, it leads its process group, and its stderr claims to be the
 * journal: "device:inode" of the pipe. */
FIXTURE_TEST(test_the_environment_of_a_daemon)
{
	struct strbuf log = {0};
	const char *ignored;
	int pid, group;

	signal(SIGPIPE, SIG_IGN);
	write_programs("[ \"$JOURNAL_STREAM\" = \"$(stat -L -c %d:%i /proc/$$/fd/2)\" ] && echo "
		       "journal >>$LOG\n"
		       "read x; echo \"process $$ $(cut -d' ' -f5 /proc/$$/stat)$x\" >>$LOG\n"
		       "grep -E 'SigIgn|SigBlk' /proc/self/status >>$LOG\n" SERVICE FOREVER,
		       PROBES FOREVER);
	assert_int_equal(start(), 0);
	signal(SIGPIPE, SIG_DFL);
	read_log(&log);
	assert_int_equal(sscanf(log.s, "journal\nprocess %d %d\n", &pid, &group), 2);
	assert_int_equal(pid, group);
	assert_non_null(strstr(log.s, "SigBlk:\t0000000000000000"));
	/* 32 and 33 are the C library's, which lets no process set them; make ignores them. */
	ignored = strstr(log.s, "SigIgn:\t");
	assert_non_null(ignored);
	assert_int_equal(strtoull(ignored + 8, NULL, 16) & ~0x180000000ull, 0);
	strbuf_deinit(&log);
}

/* ---- the end ---- */

/* Ends a service whose handler of SIGTERM is the script. */
static void end_service(const char *handler)
{
	char script[1024];

	snprintf(script, sizeof(script), "%s\ntrap '%s' TERM\n" FOREVER,
		 "touch $PERFETTO_PRODUCER_SOCK_NAME; echo -n 1 >&$TRACED_NOTIFY_FD", handler);
	write_programs(script, PROBES FOREVER);
	calls[0] = '\0';
	assert_int_equal(start(), 0);
	usleep(100000); /* for the trap */
	end();
}

static bool is_in_log(const char *text)
{
	struct strbuf log = {0};
	bool found;

	read_log(&log);
	found = log.s && strstr(log.s, text);
	strbuf_deinit(&log);
	return found;
}

FIXTURE_TEST(test_the_end_waits_for_a_daemon)
{
	end_service("echo cleaning up >&2; exit 0");
	assert_string_equal(calls, "ready [cleaning up] ");
	/* Long after its last word: silence is no end. */
	end_service("exec >&- 2>&-; sleep 0.3; echo silent-end >>$LOG; exit");
	assert_true(is_in_log("silent-end"));
	/* More than a pipe holds: it could not end if nothing was read. */
	end_service("head -c 300000 /dev/zero | tr \"\\0\" \"\\n\" >&2; echo end >&2; exit 0");
	assert_string_equal(calls, "ready [end] ");
}

/* A child that outlives it and keeps its stderr open does not delay the end. */
FIXTURE_TEST(test_the_end_does_not_wait_for_children)
{
	struct strbuf log = {0};
	const char *at;
	pid_t pid;

	end_service("sleep 60 & echo \"child $!\" >>$LOG; exit 0");
	read_log(&log);
	at = strstr(log.s, "child ");
	assert_non_null(at);
	pid = atoi(at + 6);
	assert_int_equal(kill(pid, SIGKILL), 0);
	strbuf_deinit(&log);
}

FIXTURE_TEST(test_a_daemon_that_ignores_sigterm_is_killed)
{
	uint64_t begin = clock_mono_ns();

	end_service("");
	assert_true(clock_mono_ns() - begin >= PRIVATE_STOP_TIMEOUT_MS * NS_PER_MS);
}

/* The parent dies without a word; the pid of the service comes by the log. */
FIXTURE_TEST(test_daemons_die_with_their_parent)
{
	struct strbuf log = {0};
	int service, probes;
	pid_t parent;

	/* Orphans come to us, so that we can see them end. */
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	write_programs(SERVICE FOREVER, PROBES FOREVER);
	parent = fork();
	if (parent == 0) {
		event_reinit(loop);
		start();
		raise(SIGKILL);
	}
	assert_int_equal(waitpid(parent, NULL, 0), parent);
	read_log(&log);
	assert_int_equal(sscanf(log.s, "service %d\nprobes %d\n", &service, &probes), 2);
	assert_int_equal(waitpid(service, NULL, 0), service);
	assert_int_equal(waitpid(probes, NULL, 0), probes);
	prctl(PR_SET_CHILD_SUBREAPER, 0);
	strbuf_deinit(&log);
}

FIXTURE_TEST(test_programs_that_are_not_there)
{
	setenv("PATH", "/nonexistent", 1);
	assert_int_equal(start(), -ENOENT);
	assert_string_equal(calls, "cannot find sondad in sonda's directory or in PATH");
	assert_int_equal(leftovers(), 0);
}

FIXTURE_TEST(test_a_producer_that_is_not_there)
{
	char path[256];

	write_program("sondad", SERVICE FOREVER);
	snprintf(path, sizeof(path), "%s:/bin:/usr/bin", dir);
	setenv("PATH", path, 1);
	assert_int_equal(start(), 0);
	assert_string_equal(calls,
			    "failed(cannot find sonda-probes in sonda's directory or in PATH) ");
}

/* A socket's path has 108 bytes; a long TMPDIR gives way to /tmp. */
FIXTURE_TEST(test_a_long_tmpdir_gives_way)
{
	char path[200];

	write_programs(SERVICE FOREVER, PROBES FOREVER);
	memset(path, 'x', sizeof(path));
	memcpy(path, "/tmp/", 5);
	path[sizeof(path) - 1] = '\0';
	setenv("TMPDIR", path, 1);
	assert_int_equal(start(), 0);
	assert_string_equal(calls, "ready ");
	assert_true(str_starts(private_daemons_address(daemons), "/tmp/sonda-"));
}

/* Directories of processes that are gone, empty or not, of one that lives, and of other names. */
FIXTURE_TEST(test_empty_dirs_of_killed_predecessors_go)
{
	static const char *const names[] = {"sonda-%d-abcdef", "sonda-%d-ghijkl", "sonda-abcdef",
					    "sonda-%dabcdef", "sonda-1-abcdef"};
	char path[5][256], in_use[300];
	pid_t gone = fork();

	if (gone == 0)
		_exit(0);
	waitpid(gone, NULL, 0);
	for (int i = 0; i < 5; i++) {
		char name[64];

		snprintf(name, sizeof(name), names[i], gone);
		snprintf(path[i], sizeof(path[i]), "%s/%s", tmp, name);
		mkdir(path[i], 0700);
	}
	snprintf(in_use, sizeof(in_use), "%s/consumer", path[1]);
	fclose(fopen(in_use, "w"));
	write_program("sondad", "exit 1\n");
	assert_int_equal(start(), 0);
	assert_int_not_equal(access(path[0], F_OK), 0);
	for (int i = 1; i < 5; i++)
		assert_int_equal(access(path[i], F_OK), 0);
}

FIXTURE_TEST(test_free_in_the_middle_of_starting)
{
	struct err_text e;

	write_program("sondad", "exec sleep 100\n");
	assert_int_equal(private_daemons_start(loop, NULL, &ops, NULL, &e, &daemons), 0);
	event_base_loop(loop, EVLOOP_NONBLOCK);
	end();
	assert_string_equal(calls, "");
	private_daemons_free(NULL);
}
