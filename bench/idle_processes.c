/* SPDX-License-Identifier: Apache-2.0 */
/*
 * usage: idle_processes PROCESSES THREADS
 *
 * So many processes of so many threads each, which sleep. Prints "ready" when all are there. SIGTERM
 * ends all of them, and then this process. The processes also end if this process is killed.
 */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define STACK_BYTES (64u << 10)

static void *sleeper(void *arg)
{
	pause();
	return arg;
}

static int be_process(int threads)
{
	pthread_attr_t attr;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, STACK_BYTES);
	for (int i = 1; i < threads; i++) {
		pthread_t t;

		if (pthread_create(&t, &attr, sleeper, NULL) != 0)
			return 1;
	}
	return 0;
}

static void on_signal(int number)
{
	(void)number;
}

/* Each tells by one byte that its threads are there. Returns its pid, or -1. */
static pid_t start_process(int threads, const int pipe_fds[2])
{
	pid_t pid = fork();
	int r;
	char c;

	if (pid == 0) {
		r = be_process(threads);
		if (write(pipe_fds[1], r ? "!" : ".", 1) != 1 || r)
			_exit(1);
		pause();
		_exit(0);
	}
	return pid > 0 && read(pipe_fds[0], &c, 1) == 1 && c == '.' ? pid : -1;
}

int main(int argc, char **argv)
{
	int n = argc > 2 ? atoi(argv[1]) : 0, threads = argc > 2 ? atoi(argv[2]) : 0;
	pid_t *pids = n > 0 ? calloc((size_t)n, sizeof(*pids)) : NULL;
	sigset_t term, before;
	int pipe_fds[2];

	if (!pids || threads <= 0 || pipe(pipe_fds) < 0)
		return 2;
	for (int i = 0; i < n; i++) {
		pids[i] = start_process(threads, pipe_fds);
		if (pids[i] < 0) {
			fprintf(stderr, "only %d processes could be started\n", i);
			return 1;
		}
	}
	sigemptyset(&term);
	sigaddset(&term, SIGTERM);
	sigprocmask(SIG_BLOCK, &term, &before);
	signal(SIGTERM, on_signal);
	printf("ready\n");
	fclose(stdout);
	sigsuspend(&before);
	for (int i = 0; i < n; i++)
		kill(pids[i], SIGKILL);
	while (wait(NULL) > 0)
		;
	free(pids);
	return 0;
}
