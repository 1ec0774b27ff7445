/* SPDX-License-Identifier: Apache-2.0 */
/* usage: forks RATE SECONDS     starts RATE processes a second, which end at once: the load of bench/cgroup_members.sh. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define NS_PER_S 1000000000ll

static long long now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * NS_PER_S + t.tv_nsec;
}

int main(int argc, char **argv)
{
	long rate = argc == 3 ? atol(argv[1]) : 0, seconds = argc == 3 ? atol(argv[2]) : 0, n = 0;
	long long begin = now();

	if (rate <= 0 || seconds <= 0)
		return 2;
	for (; n < rate * seconds && now() < begin + 2 * seconds * NS_PER_S; n++) {
		long long due = begin + n * NS_PER_S / rate, wait = due - now();
		pid_t pid;

		if (wait > 0)
			nanosleep(&(struct timespec){.tv_nsec = (long)(wait % NS_PER_S)}, NULL);
		pid = fork();
		if (pid == 0)
			_exit(0);
		if (pid < 0 || waitpid(pid, NULL, 0) != pid)
			return 1;
	}
	printf("%ld %.2f\n", n, (double)(now() - begin) / NS_PER_S);
	return 0;
}
