/* SPDX-License-Identifier: Apache-2.0 */
/*
 * usage: process_load [STEP...]
 *
 * A process that does a known amount of what is counted by process. Prints its pid, then takes the steps:
 *
 *	cpu=N          runs on that CPU alone
 *	spin=MS        computes so long, by the clock
 *	sleep=N        sleeps N times for 5 ms
 *	block=MS       is blocked (D): a child that has its memory sleeps so long
 */
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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

static const struct step {
	const char *name;
	void (*take)(long n);
} steps[] = {
	{"cpu", run_on},
	{"spin", spin},
	{"sleep", sleep_often},
	{"block", block},
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
	printf("%d\n", getpid());
	fflush(stdout);
	for (int i = 1; i < argc; i++)
		take(argv[i]);
	/* No calls of a sanitizer's at the end. */
	_exit(0);
}
