/* SPDX-License-Identifier: Apache-2.0 */
/*
 * usage: naps DIR PROCESSES
 *
 * Joins a control group. Its PROCESSES processes sleep for a millisecond, use the CPU for a few
 * microseconds, and so on, until they are killed, at most for a minute.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void nap(int i)
{
	struct timespec pause = {.tv_nsec = 1000000 + i * 7919};

	for (alarm(60);;) {
		nanosleep(&pause, NULL);
		for (volatile int k = 0; k < 2000; k++)
			;
	}
}

int main(int argc, char **argv)
{
	char path[512];
	int fd;

	snprintf(path, sizeof(path), "%s/cgroup.procs", argc == 3 ? argv[1] : "");
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0 || write(fd, "0", 1) != 1) {
		perror(path);
		return 1;
	}
	close(fd);
	for (int i = 1; i < atoi(argv[2]); i++)
		if (fork() == 0)
			nap(i);
	nap(0);
}
