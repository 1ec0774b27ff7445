/* SPDX-License-Identifier: Apache-2.0 */
/*
 * usage: named_threads COUNT SECONDS
 *
 * A process of COUNT threads named sonda-t0, sonda-t1, ... that wake each other in a ring, so that
 * each of them is certain to be scheduled many times. Prints "PID TID..." first.
 */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define MAX_THREADS 32

struct thread {
	int in;
	int out;
	unsigned index;
};

static volatile pid_t tids[MAX_THREADS];
static pthread_barrier_t started;

static void *pass_on(void *arg)
{
	const struct thread *t = arg;
	const struct timespec pause = {.tv_nsec = 200000};
	char name[16], token;

	snprintf(name, sizeof(name), "sonda-t%u", t->index);
	prctl(PR_SET_NAME, name);
	tids[t->index] = (pid_t)syscall(SYS_gettid);
	pthread_barrier_wait(&started);
	while (read(t->in, &token, 1) == 1) {
		nanosleep(&pause, NULL);
		if (write(t->out, &token, 1) != 1)
			break;
	}
	return NULL;
}

int main(int argc, char **argv)
{
	unsigned n = argc > 1 ? (unsigned)atoi(argv[1]) : 4;
	unsigned seconds = argc > 2 ? (unsigned)atoi(argv[2]) : 3;
	struct thread threads[MAX_THREADS];
	int fds[MAX_THREADS][2];
	pthread_t ids[MAX_THREADS];

	if (n < 2 || n > MAX_THREADS)
		return 2;
	pthread_barrier_init(&started, NULL, n + 1);
	for (unsigned i = 0; i < n; i++)
		if (pipe(fds[i]))
			return 1;
	for (unsigned i = 0; i < n; i++) {
		threads[i] = (struct thread){fds[i][0], fds[(i + 1) % n][1], i};
		if (pthread_create(&ids[i], NULL, pass_on, &threads[i]))
			return 1;
	}
	pthread_barrier_wait(&started);
	printf("%d", (int)getpid());
	for (unsigned i = 0; i < n; i++)
		printf(" %d", (int)tids[i]);
	printf("\n");
	fflush(stdout);
	if (write(fds[0][1], "x", 1) != 1)
		return 1;
	sleep(seconds);
	return 0;
}
