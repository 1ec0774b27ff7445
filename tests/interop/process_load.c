/* SPDX-License-Identifier: Apache-2.0 */
/*
 * usage: process_load [STEP...]
 *
 * A process that does a known amount of what is counted by process. Takes the steps, and prints its
 * pid and its page faults, all and major ones:
 *
 *	cpu=N          runs on that CPU alone
 *	spin=MS        computes so long, by the clock
 *	sleep=N        sleeps N times for 5 ms
 *	touch=N        N minor page faults: pages that were never touched
 *	fetch=N        N major ones: pages of a file (in this directory) that are not in memory
 *	getppid=N      that system call, N times
 *	fail=N         N calls of close that fail
 *	numbers=N      N calls by numbers that no call has
 *	futex=N        N waits for a futex, of 5 ms, and as many that do not wait
 *	block=MS       is blocked (D): a child that has its memory sleeps so long
 */
#include <fcntl.h>
#include <linux/futex.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static long now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static void rest(long ms)
{
	struct timespec t = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};

	nanosleep(&t, NULL);
}

static void run_on(long cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET((size_t)cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set))
		perror("cpu");
}

static void spin(long ms)
{
	long end = now_ms() + ms;

	while (now_ms() < end)
		;
}

static void sleep_often(long n)
{
	while (n-- > 0)
		rest(5);
}

static void block(long ms)
{
	pid_t child = vfork();

	if (!child) {
		rest(ms);
		_exit(0);
	}
	waitpid(child, NULL, 0);
}

static void touch(long n)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE), len = (size_t)n * page;
	char *m = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (m == MAP_FAILED)
		return;
	madvise(m, len, MADV_NOHUGEPAGE);
	for (size_t i = 0; i < len; i += page)
		m[i] = 1;
	munmap(m, len);
}

static void fetch(long n)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE), len = (size_t)n * page;
	int fd = open(".", O_TMPFILE | O_RDWR, 0600);
	volatile char *m;
	char *buf = calloc(1, len);

	if (fd < 0 || !buf || write(fd, buf, len) != (ssize_t)len || fsync(fd)) {
		perror("fetch");
		return;
	}
	posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
	m = mmap(NULL, len, PROT_READ, MAP_SHARED, fd, 0);
	if (m == MAP_FAILED)
		return;
	/* Each page alone: nothing is read ahead, or around. */
	madvise((void *)m, len, MADV_RANDOM);
	for (size_t i = 0; i < len; i += page)
		(void)m[i];
}

static void call_getppid(long n)
{
	while (n-- > 0)
		syscall(SYS_getppid);
}

static void fail(long n)
{
	while (n-- > 0)
		syscall(SYS_close, -1);
}

static void call_numbers(long n)
{
	while (n-- > 0)
		syscall(10000 + n);
}

static void wait_for_futex(long n)
{
	const struct timespec t = {.tv_nsec = 5000000};
	int word = 7;

	while (n-- > 0) {
		syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, word, &t, NULL, 0);
		syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, word + 1, &t, NULL, 0);
		syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
	}
}

static const struct step {
	const char *name;
	void (*take)(long n);
} steps[] = {
	{"cpu", run_on},	   {"spin", spin},   {"sleep", sleep_often},
	{"block", block},	   {"touch", touch}, {"fetch", fetch},
	{"getppid", call_getppid}, {"fail", fail},   {"numbers", call_numbers},
	{"futex", wait_for_futex},
};

static void take(const char *word)
{
	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		size_t len = strlen(steps[i].name);

		if (!strncmp(word, steps[i].name, len) && word[len] == '=') {
			steps[i].take(atol(word + len + 1));
			return;
		}
	}
	fprintf(stderr, "process_load: %s?\n", word);
}

int main(int argc, char **argv)
{
	struct rusage usage;

	for (int i = 1; i < argc; i++)
		take(argv[i]);
	getrusage(RUSAGE_SELF, &usage);
	printf("%d %ld %ld\n", getpid(), usage.ru_minflt + usage.ru_majflt, usage.ru_majflt);
	fflush(stdout);
	/* No calls of a sanitizer's at the end. */
	_exit(0);
}
