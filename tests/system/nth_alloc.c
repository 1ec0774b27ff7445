/* SPDX-License-Identifier: Apache-2.0 */
/*
 * usage: nth_alloc FILE DAEMON_PID FACTOR -- COMMAND [ARGUMENT...]
 *
 * Runs COMMAND again and again, each time with the nth allocation of a process made to fail, for n
 * from 1 until COMMAND needs fewer than n. The process runs under preload/nth_alloc.c with FILE: it
 * is the daemon DAEMON_PID, or COMMAND itself if that is 0. n grows by one up to 8, then by
 * FACTOR percent of itself (0: always by one).
 *
 * COMMAND may fail, but must not be killed by a signal or take longer than a minute; the daemon
 * must live, and must not keep more blocks each time that the same allocation fails. Prints the
 * sum, and each n that is to blame. Exit code 1 if there is one.
 */
#include "system/nth_alloc.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MAX_SECONDS 60
#define N_WARM_UP 3
#define N_SINGLE 8
#define N_LEAKS 4 /* so often in a row it is one: caches and histories grow, too */

static volatile struct nth_alloc *numbers;
static pid_t daemon_pid;
static int n_bad;

static void pause_ms(long ms)
{
	const struct timespec t = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};

	nanosleep(&t, NULL);
}

/* What the daemon does after the command has ended is done when it allocates and frees no more. */
static void wait_until_idle(void)
{
	uint64_t n = numbers->n;
	int64_t live = numbers->live;

	for (int same = 0; daemon_pid && same < 3; same++) {
		pause_ms(10);
		if (numbers->n != n || numbers->live != live)
			same = 0;
		n = numbers->n;
		live = numbers->live;
	}
}

static int run(char **command)
{
	pid_t pid = fork();
	int status;

	if (pid < 0)
		exit(2);
	if (!pid) {
		alarm(MAX_SECONDS);
		execvp(command[0], command);
		_exit(127);
	}
	if (waitpid(pid, &status, 0) != pid)
		exit(2);
	return status;
}

/* Runs it with the nth allocation failing. Returns how many there were. */
static uint64_t run_with(uint64_t nth, char **command)
{
	int status;
	uint64_t n;

	numbers->n = 0;
	numbers->fail_at = nth;
	status = run(command);
	wait_until_idle();
	n = numbers->n;
	numbers->fail_at = 0;
	if (WIFSIGNALED(status)) {
		printf("with allocation %ju failing the command is killed by signal %d\n",
		       (uintmax_t)nth, WTERMSIG(status));
		n_bad++;
	}
	if (daemon_pid && kill(daemon_pid, 0)) {
		printf("with allocation %ju failing the daemon dies\n", (uintmax_t)nth);
		exit(1);
	}
	return n;
}

/* Does the daemon have more blocks each time? */
static bool leaks(uint64_t nth, char **command)
{
	int64_t before;

	for (int i = 0; daemon_pid && i < N_LEAKS; i++) {
		before = numbers->live;
		run_with(nth, command);
		if (numbers->live <= before)
			return false;
	}
	return daemon_pid != 0;
}

int main(int argc, char **argv)
{
	unsigned percent;
	uint64_t nth, n_runs = 0, n;
	int64_t before;
	int fd;

	if (argc < 6 || strcmp(argv[4], "--") != 0) {
		fprintf(stderr, "usage: %s FILE DAEMON_PID FACTOR -- COMMAND...\n", argv[0]);
		return 2;
	}
	fd = open(argv[1], O_RDWR | O_CLOEXEC);
	numbers = mmap(NULL, sizeof(*numbers), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (numbers == MAP_FAILED)
		return 2;
	daemon_pid = (pid_t)atoi(argv[2]);
	percent = (unsigned)atoi(argv[3]);
	argv += 5;

	for (int i = 0; i < N_WARM_UP; i++)
		run_with(0, argv);
	for (nth = 1;; nth += nth < N_SINGLE || nth * percent < 100 ? 1 : nth * percent / 100) {
		before = numbers->live;
		n = run_with(nth, argv);
		n_runs++;
		if (n < nth)
			break;
		if (numbers->live > before && leaks(nth, argv)) {
			printf("with allocation %ju failing memory leaks\n", (uintmax_t)nth);
			n_bad++;
		}
	}
	printf("%ju runs up to allocation %ju\n", (uintmax_t)n_runs, (uintmax_t)nth);
	return n_bad != 0;
}
