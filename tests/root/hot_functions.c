/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hot_functions MS [FILE]: a load with known hot functions, for MS milliseconds of CPU time. With
 * FILE it makes this file then, and waits to be killed. Compiled with frame pointers (Makefile).
 * hot_three() calls hot_leaf() for three times as many additions as hot_one(), which on most
 * machines takes three times as long; hot_kernel() is in the kernel, in write() and read() of a
 * pipe. Each cycle has another length: a period near that of the samples would find the same
 * function again and again.
 *
 * With HOT_TIMES in the environment it writes its CPU time into this file: "THREE ONE", in ns.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline, noclone, used))

static volatile unsigned long sum;

NOINLINE static void hot_leaf(int n)
{
	/* A function that calls no other one has a frame only if its address is used. */
	sum += (unsigned long)__builtin_frame_address(0) & 1;
	for (int i = 0; i < n; i++)
		sum += (unsigned long)i;
}

/* The addition after the call keeps the caller on the stack: it is no tail call. */
NOINLINE static void hot_three(int n)
{
	hot_leaf(3 * n);
	sum++;
}

NOINLINE static void hot_one(int n)
{
	hot_leaf(n);
	sum++;
}

NOINLINE static void hot_kernel(const int *fds)
{
	static char bytes[32768];

	for (int i = 0; i < 20; i++)
		if (write(fds[1], bytes, sizeof(bytes)) != sizeof(bytes) ||
		    read(fds[0], bytes, sizeof(bytes)) != sizeof(bytes))
			exit(1);
	sum++;
}

static uint64_t cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void write_times(uint64_t three, uint64_t one)
{
	const char *path = getenv("HOT_TIMES");
	FILE *f = path ? fopen(path, "w") : NULL;

	if (!f)
		return;
	fprintf(f, "%llu %llu\n", (unsigned long long)three, (unsigned long long)one);
	fclose(f);
}

int main(int argc, char **argv)
{
	clock_t end = argc > 1 ? atol(argv[1]) * (CLOCKS_PER_SEC / 1000) : 0;
	uint64_t three = 0, one = 0;
	int fds[2];

	if (pipe(fds) < 0)
		return 1;
	while (clock() < end) {
		int n = 50000 + rand() % 100000;

		uint64_t began = cpu_ns(), between;

		hot_three(n);
		between = cpu_ns();
		hot_one(n);
		three += between - began;
		one += cpu_ns() - between;
		hot_kernel(fds);
	}
	write_times(three, one);
	if (argc > 2 && open(argv[2], O_CREAT | O_WRONLY, 0600) >= 0)
		pause();
	return 0;
}
