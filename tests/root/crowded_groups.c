/* SPDX-License-Identifier: Apache-2.0 */
/*
 * usage: crowded_groups DIR GROUPS THREADS
 *
 * Makes GROUPS control groups below DIR; in each, a process starts THREADS threads one after the
 * other and ends. Up to LIVE such processes run at a time. Removes the groups at the end, and
 * prints how many processes and threads there were. Ends with 1 if anything fails.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define LIVE 64

static _Noreturn void fail(const char *what)
{
	perror(what);
	_exit(1);
}

static void *end_at_once(void *arg)
{
	sched_yield();
	return arg;
}

static _Noreturn void run_in(const char *group, int threads)
{
	char path[512];
	pthread_t t;
	int fd;

	snprintf(path, sizeof(path), "%s/cgroup.procs", group);
	fd = open(path, O_WRONLY);
	if (fd < 0 || write(fd, "0", 1) != 1)
		fail(path);
	close(fd);
	for (int i = 0; i < threads; i++)
		if (pthread_create(&t, NULL, end_at_once, NULL) || pthread_join(t, NULL))
			fail("pthread_create");
	_exit(0);
}

/* Waits for a process. Returns false if it failed. */
static int wait_for_one(void)
{
	int status;

	return wait(&status) > 0 && status == 0;
}

int main(int argc, char **argv)
{
	int groups = argc == 4 ? atoi(argv[2]) : 0, threads = argc == 4 ? atoi(argv[3]) : 0;
	int live = 0, good = 1;
	char group[256];

	if (groups <= 0 || threads < 0)
		return 2;
	for (int i = 0; i < groups && good; i++) {
		snprintf(group, sizeof(group), "%s/%d", argv[1], i);
		if (mkdir(group, 0755) < 0)
			fail(group);
		if (live == LIVE)
			good = wait_for_one();
		else
			live++;
		switch (fork()) {
		case -1:
			fail("fork");
		case 0:
			run_in(group, threads);
		}
	}
	while (live--)
		good &= wait_for_one();
	for (int i = 0; i < groups; i++) {
		snprintf(group, sizeof(group), "%s/%d", argv[1], i);
		while (rmdir(group) < 0 && errno == EBUSY)
			usleep(1000);
	}
	printf("%d %d\n", groups, groups * threads);
	return !good;
}
