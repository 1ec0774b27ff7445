/* SPDX-License-Identifier: Apache-2.0 */
#include <sched.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include "unit/test.h"
#include "base/system/sanitizer.h"
#include "base/system/syscall_filter.h"

/* What a program has beyond what all have. */
static const char *const own[] = {"ftruncate", "memfd_create", NULL};
static const struct syscall_list list = {.allowed = own};
static const struct syscall_list reads_only = {.allowed = own, .opens_to_read_only = true};

/* Runs in a process that is filtered; what it writes to stderr is in text. */
static bool filtered_by(const struct syscall_list *calls, bool (*run)(void), char text[static 1000])
{
	size_t len = 0;
	ssize_t n;
	int status, pipe_fd[2];
	pid_t child;

	assert_int_equal(pipe(pipe_fd), 0);
	child = fork();
	if (child == 0) {
		dup2(pipe_fd[1], STDERR_FILENO);
		_exit(syscall_filter_install(calls) == 0 && run() ? 0 : 1);
	}
	close(pipe_fd[1]);
	while ((n = read(pipe_fd[0], text + len, 999 - len)) > 0)
		len += (size_t)n;
	text[len] = '\0';
	close(pipe_fd[0]);
	assert_int_equal(waitpid(child, &status, 0), child);
	return status == 0;
}

static bool filtered(bool (*run)(void), char text[static 1000])
{
	return filtered_by(&list, run, text);
}

/* Under a sanitizer even the end of a process makes calls that the service does not. */
static void skip_under_sanitizers(void)
{
	if (BUILT_WITH_SANITIZER)
		skip();
}

static unsigned lines(const char *text)
{
	unsigned n = 0;

	for (; *text; text++)
		n += *text == '\n';
	return n;
}

static bool no_process_no_program_no_socket(void)
{
	char *const argv[] = {(char *)"/bin/true", NULL};

	return execv(argv[0], argv) < 0 && errno == EPERM && fork() < 0 && errno == EPERM &&
	       socket(AF_UNIX, SOCK_STREAM, 0) < 0 && errno == EPERM &&
	       ptrace(PTRACE_TRACEME, 0, NULL, NULL) < 0 && errno == EPERM;
}

/* As fork() of a newer libc does. */
static bool no_process_with_signals_blocked(void)
{
	sigset_t all;

	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, NULL);
	return fork() < 0 && errno == EPERM &&
	       syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL) < 0 && errno == EPERM;
}

static bool no_memory_to_run(void)
{
	void *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return p != MAP_FAILED && mprotect(p, 4096, PROT_READ | PROT_EXEC) < 0 && errno == EPERM &&
	       mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) ==
		       MAP_FAILED &&
	       errno == EPERM && mprotect(p, 4096, PROT_READ) == 0;
}

static bool nobody_elses_priority(void)
{
	const struct sched_param param = {0};
	const struct rlimit none = {0, 0};
	struct rlimit l;

	return setpriority(PRIO_PROCESS, 1, 0) < 0 && errno == EPERM &&
	       setpriority(PRIO_USER, 0, 0) < 0 && errno == EPERM &&
	       sched_setscheduler(1, SCHED_OTHER, &param) < 0 && errno == EPERM &&
	       sched_setscheduler(0, SCHED_OTHER, &param) == 0 &&
	       setpriority(PRIO_PROCESS, 0, getpriority(PRIO_PROCESS, 0)) == 0 &&
	       getrlimit(RLIMIT_NOFILE, &l) == 0 && setrlimit(RLIMIT_CORE, &none) < 0;
}

static bool the_same_a_hundred_times(void)
{
	bool good = true;

	for (int i = 0; i < 100; i++)
		good = good && socket(AF_UNIX, SOCK_STREAM, 0) < 0 && errno == EPERM;
	return good;
}

static bool the_daily_work(void)
{
	int fd = memfd_create("test", MFD_CLOEXEC);
	char *text = malloc(10 << 20);

	if (fd < 0 || !text || ftruncate(fd, 4096) < 0)
		return false;
	memset(text, 'x', 10 << 20);
	free(text);
	return write(fd, "x", 1) == 1 && close(fd) == 0;
}

/* It comes as the call ends, when the register of the results holds its 0. */
static bool sent_signal_changes_no_result(void)
{
	return syscall(SYS_tgkill, getpid(), getpid(), SIGSYS) == 0;
}

static bool dies_of_abort(void)
{
	abort();
}

TEST(what_a_service_never_does_fails)
{
	char text[1000];

	skip_under_sanitizers();
	assert_true(filtered(no_process_no_program_no_socket, text));
	/* A line for each but fork, which fails in silence. */
	assert_int_equal(lines(text), 3);
	assert_non_null(strstr(text, "does not allow system call"));
}

static bool opens_for_reading(void)
{
	return open("/dev/null", O_RDONLY | O_CLOEXEC) >= 0;
}

static bool opens_for_writing(void)
{
	return open("/dev/null", O_RDWR) >= 0 && open("/dev/null", O_WRONLY | O_TRUNC) >= 0;
}

static bool opens_for_reading_only(void)
{
	static const int flags[] = {
		O_WRONLY,	    O_RDWR,
		O_RDONLY | O_CREAT, O_RDONLY | O_TRUNC,
		O_RDWR | O_TMPFILE, O_WRONLY | O_NONBLOCK | O_CLOEXEC,
	};

	for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++)
		if (open("/dev/null", flags[i], 0600) >= 0 || errno != EPERM)
			return false;
	return opens_for_reading();
}

TEST(files_are_opened_for_writing_where_the_list_does_not_forbid_it)
{
	char text[1000];

	skip_under_sanitizers();
	assert_true(filtered(opens_for_writing, text));
	assert_true(filtered_by(&reads_only, opens_for_reading_only, text));
	assert_int_equal(lines(text), 1);
}

TEST(a_fork_fails_while_signals_are_blocked)
{
	char text[1000];

	skip_under_sanitizers();
	assert_true(filtered(no_process_with_signals_blocked, text));
}

TEST(no_memory_becomes_executable)
{
	char text[1000];

	skip_under_sanitizers();
	assert_true(filtered(no_memory_to_run, text));
}

TEST(priority_and_limits_of_ourselves_only)
{
	char text[1000];

	skip_under_sanitizers();
	assert_true(filtered(nobody_elses_priority, text));
}

TEST(each_call_is_told_once)
{
	char text[1000];

	skip_under_sanitizers();
	assert_true(filtered(the_same_a_hundred_times, text));
	assert_int_equal(lines(text), 1);
}

TEST(the_work_of_a_service_goes_on_in_silence)
{
	char text[1000];

	skip_under_sanitizers();
	assert_true(filtered(the_daily_work, text));
	assert_string_equal(text, "");
}

TEST(signal_that_was_sent_does_nothing)
{
	char text[1000];

	skip_under_sanitizers();
	assert_true(filtered(sent_signal_changes_no_result, text));
	assert_string_equal(text, "");
}

TEST(an_assertion_still_ends_it)
{
	char text[1000];

	skip_under_sanitizers();
	assert_false(filtered(dies_of_abort, text));
	assert_string_equal(text, "");
}
