/* SPDX-License-Identifier: Apache-2.0 */
#include <sched.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include "base/system/sanitizer.h"
#include "base/system/syscall_filter.h"
#include "unit/test.h"

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

static int lines(const char *text)
{
	int n = 0;

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

/* Like fork() of a newer libc does. */
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

static bool priority_of_own_process_only(void)
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

/* As libbpf does on kernels before 5.11. */
static bool locked_memory_is_not_raised(void)
{
	const struct rlimit any = {RLIM_INFINITY, RLIM_INFINITY};

	return setrlimit(RLIMIT_MEMLOCK, &any) < 0 && errno == EPERM;
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

TEST(filtered_processes_do_what_the_list_allows)
{
	static const struct {
		const char *what;
		const struct syscall_list *list;
		bool (*run)(void);
		bool succeeds;
		int lines; /* on stderr: one a refused system call; -1: not compared */
	} rows[] = {
		/* fork fails without a message */
		{"no process, program, socket", &list, no_process_no_program_no_socket, true, 3},
		{"opening files for writing", &list, opens_for_writing, true, 0},
		{"opening files to read only", &reads_only, opens_for_reading_only, true, 1},
		{"no fork, signals blocked", &list, no_process_with_signals_blocked, true, -1},
		{"no executable memory", &list, no_memory_to_run, true, -1},
		{"its own priority and limits only", &list, priority_of_own_process_only, true, -1},
		{"no limit of locked memory, silently", &list, locked_memory_is_not_raised, true,
		 0},
		{"each call is logged once", &list, the_same_a_hundred_times, true, 1},
		{"the work of a service", &list, the_daily_work, true, 0},
		{"a signal that was sent", &list, sent_signal_changes_no_result, true, 0},
		{"an assertion still ends it", &list, dies_of_abort, false, 0},
	};
	char text[1000];

	if (BUILT_WITH_SANITIZER)
		skip(); /* even the end of a process makes calls that the service does not */
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		bool success = filtered_by(rows[i].list, rows[i].run, text);

		if (success != rows[i].succeeds ||
		    (rows[i].lines >= 0 && lines(text) != rows[i].lines))
			fail_msg("%s: %d, %d lines: %s", rows[i].what, success, lines(text), text);
		if (rows[i].lines > 0)
			assert_non_null(strstr(text, "blocked system call"));
	}
}
