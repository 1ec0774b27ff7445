/* SPDX-License-Identifier: Apache-2.0 */
/*
 * known_locks TIMES MS: a thread "reader" waits TIMES for each of several locks, which the thread
 * "holder" has for MS or more meanwhile, and then releases. It sleeps in sleep_with_lock() for half
 * of that time, and runs in run_with_lock() for the other half. Prints "reader TID", "holder TID",
 * "pid PID".
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline, noclone, used))

/* Variables of .data and .bss, and a member of a variable. */
pthread_mutex_t lock_of_data = PTHREAD_MUTEX_INITIALIZER;
pthread_mutex_t lock_of_bss;
struct {
	long first[8];
	pthread_mutex_t lock;
} table_of_locks = {{1}, PTHREAD_MUTEX_INITIALIZER};
pthread_mutex_t lock_with_priority;

static pthread_mutex_t *locks[5];
static const int n_locks = 5;
static _Atomic int turn = -1; /* the lock that the holder has; -1: none */
static long ms;
static volatile unsigned long sum;

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

NOINLINE static void sleep_with_lock(void)
{
	struct timespec t = {0, ms * 500000};

	nanosleep(&t, NULL);
	sum++;
}

NOINLINE static void run_with_lock(void)
{
	uint64_t until = now_ns() + (uint64_t)ms * 500000;

	while (now_ns() < until)
		sum++;
}

NOINLINE static void wait_for_lock(pthread_mutex_t *lock)
{
	pthread_mutex_lock(lock);
	pthread_mutex_unlock(lock);
	sum++;
}

NOINLINE static void release_lock(pthread_mutex_t *lock)
{
	pthread_mutex_unlock(lock);
	sum++;
}

static void *hold(void *ctx)
{
	int times = *(int *)ctx;
	struct timespec t = {0, 2000000};

	prctl(PR_SET_NAME, "holder");
	printf("holder %ld\n", syscall(SYS_gettid));
	for (int i = 0; i < times * n_locks; i++) {
		pthread_mutex_t *lock = locks[i % n_locks];

		pthread_mutex_lock(lock);
		turn = i;
		nanosleep(&t, NULL); /* the reader waits by now */
		sleep_with_lock();
		run_with_lock();
		release_lock(lock);
		while (turn == i)
			nanosleep(&t, NULL);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_mutexattr_t attr;
	pthread_t holder;
	int times;

	if (argc != 3)
		return 2;
	times = atoi(argv[1]);
	ms = atol(argv[2]);
	locks[0] = &lock_of_data;
	locks[1] = &lock_of_bss;
	locks[2] = &table_of_locks.lock;
	locks[3] = &lock_with_priority;
	locks[4] = calloc(1, sizeof(*locks[4]));
	pthread_mutexattr_init(&attr);
	pthread_mutexattr_setprotocol(&attr, PTHREAD_PRIO_INHERIT);
	if (!locks[4] || pthread_mutex_init(&lock_with_priority, &attr) != 0)
		return 1;
	prctl(PR_SET_NAME, "reader");
	printf("pid %d\nreader %ld\n", (int)getpid(), syscall(SYS_gettid));
	/* Until then, the recorder reads the files of this process, and unwinds its stacks. */
	for (int i = 0; i < 20; i++)
		nanosleep(&(struct timespec){0, 10000000}, NULL);
	if (pthread_create(&holder, NULL, hold, &times) != 0)
		return 1;
	for (int i = 0; i < times * n_locks; i++) {
		struct timespec t = {0, 100000};

		while (turn != i)
			nanosleep(&t, NULL);
		wait_for_lock(locks[i % n_locks]);
		turn = -1;
	}
	pthread_join(holder, NULL);
	return 0;
}
