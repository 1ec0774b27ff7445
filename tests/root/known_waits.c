/* SPDX-License-Identifier: Apache-2.0 */
/*
 * known_waits TIMES MS DIR: waits of known number and code, each called through chains of 1, 20
 * and 200 functions. Compiled with frame pointers (Makefile). A second thread, "waker", ends the
 * waits for a futex and a pipe after MS or more, in functions of its own. Prints a line for each
 * kind of wait: FUNCTION CALLS NS, where NS is the time of the calls by CLOCK_MONOTONIC, and "tid
 * TID" of the waiting thread.
 */
#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline, noclone, used))
#define FILE_BYTES (1 << 20)

enum request { NONE, FUTEX, PIPE, END };

static _Atomic int request; /* of the waiting thread to the waker */
static _Atomic uint32_t word;
static int fds[2], file;
static long ms;
static volatile unsigned long sum;

/* The functions of the C library have no frame pointers, so that a walk by frame pointers misses
 * their callers: those are the functions below. */
NOINLINE static void sleep_ms(long n)
{
	struct timespec t = {n / 1000, n % 1000 * 1000000};

	nanosleep(&t, NULL);
	sum++;
}

NOINLINE static long call_futex(int operation, uint32_t value)
{
	long r = syscall(SYS_futex, &word, operation, value, NULL, NULL, 0);

	sum++;
	return r;
}

NOINLINE static void move_byte(ssize_t (*fn)(int fd), int fd)
{
	if (fn(fd) != 1)
		exit(1);
	sum++;
}

NOINLINE static ssize_t read_byte(int fd)
{
	char c;
	ssize_t n = read(fd, &c, 1);

	sum++;
	return n;
}

NOINLINE static ssize_t write_byte(int fd)
{
	ssize_t n = write(fd, "", 1);

	sum++;
	return n;
}

NOINLINE static void sync_file(void)
{
	if (fsync(file) < 0)
		exit(1);
	sum++;
}

NOINLINE static void wait_futex(void)
{
	word = 0;
	request = FUTEX;
	while (word == 0)
		call_futex(FUTEX_WAIT_PRIVATE, 0);
	sum++;
}

NOINLINE static void wait_pipe(void)
{
	request = PIPE;
	move_byte(read_byte, fds[0]);
	sum++;
}

NOINLINE static void wait_sleep(void)
{
	sleep_ms(ms);
	sum++;
}

NOINLINE static void wait_fsync(void)
{
	char bytes[4096] = "x";

	if (pwrite(file, bytes, sizeof(bytes), 0) != sizeof(bytes))
		exit(1);
	sync_file();
	sum++;
}

NOINLINE static void wait_page_fault(void)
{
	char *p;

	posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED);
	p = mmap(NULL, FILE_BYTES, PROT_READ, MAP_SHARED, file, 0);
	if (p == MAP_FAILED)
		exit(1);
	for (int i = 0; i < FILE_BYTES; i += 4096)
		sum += (unsigned char)p[i];
	munmap(p, FILE_BYTES);
	sum++;
}

NOINLINE static void wake_futex(void)
{
	word = 1;
	call_futex(FUTEX_WAKE_PRIVATE, 1);
	sum++;
}

NOINLINE static void wake_pipe(void)
{
	move_byte(write_byte, fds[1]);
	sum++;
}

/* A wait that is ended before it began would be none. */
static void await_sleep_of_main(void)
{
	char path[64], stat[512], *state;
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", (int)getpid());
	do {
		sleep_ms(ms);
		fd = open(path, O_RDONLY | O_CLOEXEC);
		n = read(fd, stat, sizeof(stat) - 1);
		close(fd);
		if (n <= 0)
			exit(1);
		stat[n] = '\0';
		state = strrchr(stat, ')');
	} while (!state || state[2] != 'S');
}

static void *run_waker(void *ctx)
{
	int r;

	(void)ctx;
	prctl(PR_SET_NAME, "waker");
	while ((r = request) != END) {
		if (r == NONE) {
			sleep_ms(ms);
			continue;
		}
		await_sleep_of_main();
		request = NONE;
		if (r == FUTEX)
			wake_futex();
		else
			wake_pipe();
	}
	return NULL;
}

NOINLINE static void chain(int depth, void (*fn)(void))
{
	if (depth > 1)
		chain(depth - 1, fn);
	else
		fn();
	sum++;
}

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void measure(const char *name, void (*fn)(void), int times)
{
	static const int depths[] = {1, 20, 200};
	uint64_t ns = 0, began;

	for (int d = 0; d < 3; d++)
		for (int i = 0; i < times; i++) {
			began = now_ns();
			chain(depths[d], fn);
			ns += now_ns() - began;
		}
	printf("%s %d %llu\n", name, 3 * times, (unsigned long long)ns);
}

int main(int argc, char **argv)
{
	static char bytes[FILE_BYTES];
	char path[4096];
	pthread_t waker;
	int times;

	if (argc != 4)
		return 2;
	times = atoi(argv[1]);
	ms = atol(argv[2]);
	snprintf(path, sizeof(path), "%s/known_waits.file", argv[3]);
	file = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (file < 0 || write(file, bytes, FILE_BYTES) != FILE_BYTES || fsync(file) < 0 ||
	    pipe(fds) < 0 || pthread_create(&waker, NULL, run_waker, NULL) != 0)
		return 1;
	printf("tid %d\n", (int)getpid());
	measure("wait_futex", wait_futex, times);
	measure("wait_pipe", wait_pipe, times);
	measure("wait_sleep", wait_sleep, times);
	measure("wait_fsync", wait_fsync, times);
	measure("wait_page_fault", wait_page_fault, times);
	fflush(stdout);
	request = END;
	pthread_join(waker, NULL);
	unlink(path);
	return 0;
}
