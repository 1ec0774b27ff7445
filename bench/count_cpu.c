/* SPDX-License-Identifier: Apache-2.0 */
/*
 * usage: count_cpu OUT COMMAND...
 *
 * Runs COMMAND, hands SIGTERM and SIGINT on to it, and writes to OUT when it has ended: "CPU-ns
 * WALL-ns", the CPU time of its process and of those that it waited for, and the time from the
 * first of these signals to its end.
 */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/core/clock.h"

static volatile pid_t child;
static volatile uint64_t told_ns;

static void hand_on(int sig)
{
	if (!told_ns)
		told_ns = clock_mono_ns();
	if (child > 0)
		kill(child, sig);
}

static uint64_t ns_of(struct timeval t)
{
	return (uint64_t)t.tv_sec * NS_PER_S + (uint64_t)t.tv_usec * 1000;
}

int main(int argc, char **argv)
{
	struct sigaction act = {.sa_handler = hand_on};
	struct rusage use;
	uint64_t end;
	int status;
	FILE *out;

	if (argc < 3)
		return 2;
	child = fork();
	if (child == 0) {
		execvp(argv[2], argv + 2);
		_exit(127);
	}
	sigaction(SIGTERM, &act, NULL);
	sigaction(SIGINT, &act, NULL);
	while (wait4(child, &status, 0, &use) < 0)
		if (errno != EINTR)
			return 1;
	end = clock_mono_ns();
	out = fopen(argv[1], "w");
	if (!out)
		return 1;
	fprintf(out, "%" PRIu64 " %" PRIu64 "\n", ns_of(use.ru_utime) + ns_of(use.ru_stime),
		told_ns ? end - told_ns : 0);
	fclose(out);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
