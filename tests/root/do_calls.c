/* SPDX-License-Identifier: Apache-2.0 */
/*
 * usage: do_calls [STEP...]
 *
 * A process that does just what a test wants to find in a trace. Prints its pid, and then takes the
 * steps:
 *
 *	wait           until a line or the end of standard input
 *	name=NAME      takes a name
 *	cpu=N          runs on that CPU alone
 *	getppid=N uname=N sched_yield=N     that system call, N times
 *	paced=N        getppid, N times, 1,000,000 a second
 *	call=NR        that system call, once, with arguments that are none
 *	compat=N       system call 20 (getpid) of 32-bit programs, N times, where the machine has them
 *	fork=N         N children, one after the other; each prints "child PID", does getppid 7 times, and ends
 *	thread=N       N threads, likewise: "thread TID"
 *	relay          from here on a thread runs that makes another and ends, and so does that one
 *	laps=N         N threads more of that relay, each with a getppid; then it ends
 *	mark=TEXT      writes it to top level's trace_marker
 *	sign=TEXT      likewise, but a child does it
 *	raw=TEXT       writes it to trace_marker_raw, for which the first 4 characters are a number
 *	rawsign=TEXT   likewise, but a child does it
 */
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define CHILDS_CALLS 7

static void repeat(long nr, unsigned n)
{
	struct utsname u;

	while (n--)
		syscall(nr, &u);
}

/* 5,000 calls every 5 ms; a process that is late makes up for it. */
static void repeat_paced(long nr, unsigned n)
{
	struct timespec next;

	clock_gettime(CLOCK_MONOTONIC, &next);
	while (n) {
		unsigned part = n < 5000 ? n : 5000;

		repeat(nr, part);
		n -= part;
		next.tv_nsec += 5000000;
		if (next.tv_nsec >= 1000000000) {
			next.tv_nsec -= 1000000000;
			next.tv_sec++;
		}
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &next, NULL);
	}
}

static void compat(unsigned n)
{
	while (n--) {
#ifdef __x86_64__
		long nr = 20;

		__asm__ volatile("int $0x80" : "+a"(nr)::"memory", "r8", "r9", "r10", "r11");
#endif
	}
}

static void *run_thread(void *unused)
{
	printf("thread %ld\n", syscall(SYS_gettid));
	fflush(stdout);
	repeat(SYS_getppid, CHILDS_CALLS);
	return unused;
}

static void run_child(void)
{
	pid_t pid = fork();

	if (!pid) {
		printf("child %d\n", getpid());
		fflush(stdout);
		repeat(SYS_getppid, CHILDS_CALLS);
		_exit(0);
	}
	waitpid(pid, NULL, 0);
}

static atomic_int laps = -1; /* still to do; -1: runs on and counts nothing */

static void *run_lap(void *unused)
{
	struct timespec a_while = {.tv_nsec = 5000000};
	pthread_t next;

	pthread_detach(pthread_self());
	nanosleep(&a_while, NULL);
	if (laps > 0) {
		repeat(SYS_getppid, 1);
		laps--;
	}
	if (laps && pthread_create(&next, NULL, run_lap, NULL))
		perror("relay");
	return unused;
}

static void relay(unsigned n)
{
	struct timespec a_while = {.tv_nsec = 1000000};
	pthread_t first;

	if (!n) {
		pthread_create(&first, NULL, run_lap, NULL);
		return;
	}
	laps = (int)n;
	while (laps)
		nanosleep(&a_while, NULL);
}

static void mark(const char *file, const char *text)
{
	static const char *const places[] = {"/sys/kernel/tracing", "/sys/kernel/debug/tracing"};
	char path[64];
	int fd = -1;

	for (unsigned i = 0; fd < 0 && i < 2; i++) {
		snprintf(path, sizeof(path), "%s/%s", places[i], file);
		fd = open(path, O_WRONLY | O_CLOEXEC);
	}
	if (fd < 0 || write(fd, text, strlen(text)) < 0)
		perror(file);
	close(fd);
}

static void mark_as_child(const char *file, const char *text)
{
	pid_t pid = fork();

	if (!pid) {
		mark(file, text);
		_exit(0);
	}
	waitpid(pid, NULL, 0);
}

static void run_on(unsigned cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set))
		perror("cpu");
}

static void take_step(const char *word, const char *value)
{
	unsigned n = (unsigned)strtoul(value, NULL, 10);
	pthread_t thread;

	if (!strcmp(word, "wait"))
		while (getchar() != '\n' && !feof(stdin))
			;
	else if (!strcmp(word, "name"))
		prctl(PR_SET_NAME, value);
	else if (!strcmp(word, "cpu"))
		run_on(n);
	else if (!strcmp(word, "getppid"))
		repeat(SYS_getppid, n);
	else if (!strcmp(word, "paced"))
		repeat_paced(SYS_getppid, n);
	else if (!strcmp(word, "uname"))
		repeat(SYS_uname, n);
	else if (!strcmp(word, "sched_yield"))
		repeat(SYS_sched_yield, n);
	else if (!strcmp(word, "call"))
		syscall(n, -1, -1, -1, -1, -1, -1);
	else if (!strcmp(word, "compat"))
		compat(n);
	else if (!strcmp(word, "relay"))
		relay(0);
	else if (!strcmp(word, "laps"))
		relay(n);
	else if (!strcmp(word, "mark"))
		mark("trace_marker", value);
	else if (!strcmp(word, "sign"))
		mark_as_child("trace_marker", value);
	else if (!strcmp(word, "raw"))
		mark("trace_marker_raw", value);
	else if (!strcmp(word, "rawsign"))
		mark_as_child("trace_marker_raw", value);
	else if (!strcmp(word, "fork"))
		while (n--)
			run_child();
	else if (!strcmp(word, "thread"))
		while (n--) {
			if (!pthread_create(&thread, NULL, run_thread, NULL))
				pthread_join(thread, NULL);
		}
	else
		fprintf(stderr, "do_calls: %s?\n", word);
}

int main(int argc, char **argv)
{
	printf("%d\n", getpid());
	fflush(stdout);
	for (int i = 1; i < argc; i++) {
		char *value = strchr(argv[i], '=');

		if (value)
			*value++ = '\0';
		take_step(argv[i], value ? value : "");
	}
	/* No calls of a sanitizer's at the end. */
	_exit(0);
}
