/* SPDX-License-Identifier: Apache-2.0 */
/*
 * usage: short_lived DIR LOG COUNT PARALLEL [storm]
 *
 * Runs COUNT jobs, PARALLEL at a time, each of a few tasks that live 1 to 5 ms: processes and
 * threads that take names, change them, run other programs (this one, by the names x0 ... x31 in
 * DIR), and lose their parents. Each task writes a line to LOG, while it runs:
 *
 *	KIND TID PID PPID TIME NAME PROGRAM        TIME of CLOCK_BOOTTIME in ns; PROGRAM: what it
 *	executed, or "-"
 *
 * NAME is its last one, PPID who made it. In a storm all are processes that end at once. With
 * DIR alone it makes the x0 ... x31.
 */
#include <fcntl.h>
#include <pthread.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PROGRAMS 32

extern char **environ;

static int log_fd;
static const char *dir;
static bool storm;
static unsigned job; /* of this process */

static void nap(unsigned ms)
{
	const struct timespec pause = {.tv_nsec = ms * 1000000};

	nanosleep(&pause, NULL);
}

static void note(const char *kind, int ppid, const char *program)
{
	struct timespec now;
	char name[17] = "", line[512];
	int n;

	prctl(PR_GET_NAME, name);
	clock_gettime(CLOCK_BOOTTIME, &now);
	n = snprintf(line, sizeof(line), "%s %ld %d %d %llu %s %s\n", kind, syscall(SYS_gettid),
		     getpid(), ppid, now.tv_sec * 1000000000ull + (unsigned long long)now.tv_nsec,
		     name, program);
	if (write(log_fd, line, (size_t)n) != n)
		abort();
}

static void take_name(const char *prefix)
{
	char name[16];

	snprintf(name, sizeof(name), "%s%u", prefix, job);
	prctl(PR_SET_NAME, name);
}

static const char *program(void)
{
	static char path[256];

	snprintf(path, sizeof(path), "%s/x%u", dir, job % PROGRAMS);
	return path;
}

/* The environment tells the new program what it is. */
static void execute(const char *kind, int ppid)
{
	char value[64], *argv[] = {(char *)program(), NULL};

	snprintf(value, sizeof(value), "%s %d %u %d", kind, log_fd, job, ppid);
	setenv("SHORT_LIVED", value, 1);
	execv(argv[0], argv);
	abort();
}

/* ---- the jobs: each runs in a process of its own ---- */

static void plain(int ppid)
{
	nap(1 + job % 5);
	note("plain", ppid, "-");
}

static void named(int ppid)
{
	take_name("named");
	if (!storm)
		nap(1 + job % 5);
	note("named", ppid, "-");
}

static void renamed(int ppid)
{
	take_name("first");
	nap(1 + job % 3);
	take_name("second");
	nap(1);
	take_name("third");
	note("renamed", ppid, "-");
}

/* Its last breath: the new name may come with the end only. */
static void renamed_late(int ppid)
{
	nap(2 + job % 3);
	take_name("late");
	note("late", ppid, "-");
}

static void executed(int ppid)
{
	execute("exec", ppid);
}

static void *work(void *ctx)
{
	take_name(ctx);
	nap(1 + job % 3);
	note("thread", 0, "-");
	return NULL;
}

static void threaded(int ppid)
{
	pthread_t threads[3];

	take_name("boss");
	for (int i = 0; i < 3; i++)
		pthread_create(&threads[i], NULL, work, i ? "worker" : "helper");
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	note("boss", ppid, "-");
}

static void *execute_here(void *ctx)
{
	nap(1);
	execute("threadexec", *(int *)ctx);
	return NULL;
}

/* A thread runs a program: it takes over the number of its process, and the others end. */
static void executed_by_a_thread(int ppid)
{
	pthread_t thread;

	pthread_create(&thread, NULL, execute_here, &ppid);
	pause();
}

/* Its parent is gone before anybody could look. */
static void orphan(int ppid)
{
	int me = getpid();

	(void)ppid;
	take_name("parent");
	note("parent", ppid, "-");
	if (fork() == 0) {
		nap(2);
		take_name("orphan");
		nap(1 + job % 3);
		note("orphan", me, "-");
		_exit(0);
	}
}

/* A clone that shares memory with its parent until the exec. */
static void spawner(int ppid)
{
	char value[64], *argv[] = {(char *)program(), NULL};
	pid_t child;

	take_name("spawner");
	snprintf(value, sizeof(value), "spawn %d %u %d", log_fd, job, getpid());
	setenv("SHORT_LIVED", value, 1);
	if (posix_spawn(&child, argv[0], NULL, NULL, argv, environ))
		abort();
	waitpid(child, NULL, 0);
	note("spawner", ppid, "-");
}

static void (*const jobs[])(int ppid) = {
	plain,	named,	 renamed, renamed_late, executed, threaded, executed_by_a_thread,
	orphan, spawner,
};
#define JOBS (sizeof(jobs) / sizeof(*jobs))

/* ---- */

/* The other program: some take a name of their own, too. */
static int run_as_program(char **argv, const char *how)
{
	char kind[32], path[256];
	int ppid;

	snprintf(path, sizeof(path), "%s", argv[0]);
	if (sscanf(how, "%31s %d %u %d", kind, &log_fd, &job, &ppid) != 4)
		return 2;
	nap(1 + job % 4);
	if (job % 4 == 3)
		take_name("image");
	note(kind, ppid, path);
	return 0;
}

static int make_programs(void)
{
	char path[256];

	for (job = 0; job < PROGRAMS; job++) {
		snprintf(path, sizeof(path), "%s", program());
		unlink(path);
		if (symlink("/proc/self/exe", path) < 0)
			return 1;
	}
	return 0;
}

int main(int argc, char **argv)
{
	const char *how = getenv("SHORT_LIVED");
	unsigned count, parallel, running = 0;

	if (how)
		return run_as_program(argv, how);
	if (argc != 2 && argc != 5 && argc != 6)
		return 2;
	storm = argc == 6;
	dir = argv[1];
	if (argc == 2)
		return make_programs();
	log_fd = open(argv[2], O_WRONLY | O_CREAT | O_APPEND, 0600);
	if (log_fd < 0)
		return 1;
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	count = (unsigned)atoi(argv[3]);
	parallel = (unsigned)atoi(argv[4]);
	for (job = 0; job < count; job++) {
		int me = getpid();

		if (running++ >= parallel)
			wait(NULL);
		if (fork() == 0) {
			(storm ? named : jobs[job % JOBS])(me);
			_exit(0);
		}
	}
	while (wait(NULL) > 0)
		;
	return 0;
}
