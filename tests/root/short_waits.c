/* SPDX-License-Identifier: Apache-2.0 */
/*
 * usage: short_waits BATCHES THREADS WAITS
 *
 * Starts threads one batch after the other, all on one CPU, where no wakeup can come before the
 * thread has left it. Each waits so often for a fifth of a millisecond. With WAITS 0 each waits once,
 * until all have begun. Then it writes its id and how often it has left its CPU blocked, which is the
 * number of its waits.
 */
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define THREADS_MAX 30000
#define STACK_BYTES (64 << 10)

static unsigned long waits;
static pthread_barrier_t all_have_begun;
static struct result {
	long tid, blocked;
} results[THREADS_MAX];

static void *run(void *arg)
{
	const struct timespec pause = {.tv_nsec = 200000};
	struct result *r = arg;
	struct rusage use;

	for (unsigned long i = 0; i < waits; i++)
		nanosleep(&pause, NULL);
	if (!waits)
		pthread_barrier_wait(&all_have_begun);
	getrusage(RUSAGE_THREAD, &use);
	r->tid = syscall(SYS_gettid);
	r->blocked = use.ru_nvcsw;
	return NULL;
}

int main(int argc, char **argv)
{
	unsigned long batches = argc == 4 ? strtoul(argv[1], NULL, 10) : 0;
	unsigned long n = argc == 4 ? strtoul(argv[2], NULL, 10) : 0;
	static pthread_t threads[THREADS_MAX];
	pthread_attr_t attr;
	cpu_set_t first;

	CPU_ZERO(&first);
	CPU_SET(0, &first);
	if (!batches || !n || n > THREADS_MAX || sched_setaffinity(0, sizeof(first), &first) < 0)
		return 2;
	waits = strtoul(argv[3], NULL, 10);
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, STACK_BYTES);
	pthread_barrier_init(&all_have_begun, NULL, (unsigned)n);
	for (; batches; batches--) {
		for (unsigned long i = 0; i < n; i++)
			if (pthread_create(&threads[i], &attr, run, &results[i]) != 0)
				return 1;
		for (unsigned long i = 0; i < n; i++)
			pthread_join(threads[i], NULL);
		for (unsigned long i = 0; i < n; i++)
			printf("%ld %ld\n", results[i].tid, results[i].blocked);
	}
	return 0;
}
