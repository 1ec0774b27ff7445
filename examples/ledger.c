/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program that responds late: "writer" saves the ledger with fsync() while it holds the mutex that "reader" needs for a balance.
 *
 *	cc -O2 -o ledger ledger.c -pthread
 *	sonda record off-cpu -o ledger.pftrace -- ./ledger
 *	sonda report why reader ledger.pftrace
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#define SAVES 12
#define ENTRIES 2000000

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static long entries[ENTRIES];
static int file = -1;
static atomic_bool ended;

static void pause_ms(long ms)
{
	nanosleep(&(struct timespec){.tv_nsec = ms * 1000000}, NULL);
}

/* Returns false when the disk is full. */
static __attribute__((noinline)) bool save_entries(void)
{
	bool saved;

	pthread_mutex_lock(&lock);
	saved = pwrite(file, entries, sizeof(entries), 0) == sizeof(entries) && fsync(file) == 0; /* the disk's time, with the mutex held */
	pthread_mutex_unlock(&lock);
	return saved;
}

static __attribute__((noinline)) long read_balance(void)
{
	long balance;

	pthread_mutex_lock(&lock);
	balance = entries[0];
	pthread_mutex_unlock(&lock);
	return balance;
}

static void *run_writer(void *arg)
{
	(void)arg;
	prctl(PR_SET_NAME, "writer");
	for (int i = 0; i < SAVES && save_entries(); i++)
		pause_ms(100);
	ended = true;
	return NULL;
}

static void *run_reader(void *arg)
{
	long *last = arg;

	prctl(PR_SET_NAME, "reader");
	while (!ended) {
		*last = read_balance();
		pause_ms(5);
	}
	return NULL;
}

int main(void)
{
	pthread_t writer, reader;
	long last = 0;

	file = open("ledger.data", O_WRONLY | O_CREAT | O_TRUNC, 0644);
	if (file < 0 || pthread_create(&writer, NULL, run_writer, NULL) || pthread_create(&reader, NULL, run_reader, &last)) {
		perror("ledger");
		return 1;
	}
	pthread_join(writer, NULL);
	pthread_join(reader, NULL);
	printf("%ld\n", last);
	return close(file) ? 1 : 0;
}
