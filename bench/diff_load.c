/* SPDX-License-Identifier: Apache-2.0 */
/*
 * usage: diff_load FILE [slow|lock|fsync]
 *
 * A program with a known amount of work for diff.sh: two threads handle items. An item is parsed, hashed and appended to FILE;
 * every 50th one is followed by fsync(2). A word plants one change:
 *
 *	slow	hash_block() works 5 % longer
 *	lock	the threads hash under one mutex
 *	fsync	a second fsync(2), behind 512 more bytes
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define THREADS 2
#define ITEMS 500
#define ITEMS_A_SYNC 50
#define ROUNDS 200000

static unsigned hash_rounds = ROUNDS;
static bool has_lock, has_second_sync;
static int fd;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static __attribute__((noinline)) uint64_t parse_item(uint64_t v)
{
	v += 1;
	for (unsigned i = 0; i < ROUNDS / 2; i++)
		v = (v ^ (v >> 31)) * UINT64_C(0x94d049bb133111eb) + i;
	return v;
}

static __attribute__((noinline)) uint64_t hash_block(uint64_t v)
{
	for (unsigned i = 0; i < hash_rounds; i++)
		v = (v ^ (v >> 29)) * UINT64_C(0xbf58476d1ce4e5b9) + i;
	return v;
}

static __attribute__((noinline)) void store_item(uint64_t v, unsigned n)
{
	char block[512];

	memset(block, (int)v, sizeof(block));
	if (write(fd, block, sizeof(block)) < 0)
		abort();
	if (n % ITEMS_A_SYNC)
		return;
	if (fsync(fd))
		abort();
	if (has_second_sync && (write(fd, block, sizeof(block)) < 0 || fsync(fd)))
		abort();
}

static void *handle_items(void *arg)
{
	uint64_t v = (uint64_t)(uintptr_t)arg;

	pthread_setname_np(pthread_self(), "worker");
	for (unsigned i = 1; i <= ITEMS; i++) {
		v = parse_item(v);
		if (has_lock)
			pthread_mutex_lock(&lock);
		v = hash_block(v);
		if (has_lock)
			pthread_mutex_unlock(&lock);
		store_item(v, i);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	const char *change = argc > 2 ? argv[2] : "";
	pthread_t threads[THREADS];

	if (argc < 2) {
		fputs("usage: diff_load FILE [slow|lock|fsync]\n", stderr);
		return 2;
	}
	fd = open(argv[1], O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0600);
	if (fd < 0) {
		perror(argv[1]);
		return 1;
	}
	if (!strcmp(change, "slow"))
		hash_rounds += ROUNDS / 20;
	has_lock = !strcmp(change, "lock");
	has_second_sync = !strcmp(change, "fsync");
	for (uintptr_t i = 0; i < THREADS; i++)
		if (pthread_create(&threads[i], NULL, handle_items, (void *)(i + 1)))
			return 1;
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	unlink(argv[1]);
	return 0;
}
