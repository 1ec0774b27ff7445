/* SPDX-License-Identifier: Apache-2.0 */
/*
 * usage: cgroup_steps GROUP
 *
 * Makes control groups below the directory GROUP and moves processes and threads through them. Prints
 * for each of them its tid and the groups it was in, below GROUP and in their order; "-" is that of
 * this process. Removes the groups.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define STEP_US 3000 /* between two moves */
#define DEPTH 40

static int root; /* of GROUP */

static void fail(const char *what)
{
	perror(what);
	exit(1);
}

static void make(const char *group)
{
	if (mkdirat(root, group, 0755) < 0)
		fail(group);
}

static void drop(const char *group)
{
	for (int i = 0; i < 100; i++) {
		if (unlinkat(root, group, AT_REMOVEDIR) == 0)
			return;
		usleep(1000); /* an exiting thread is still in it */
	}
	fail(group);
}

static void put(const char *group, const char *file, const char *text)
{
	char path[4096];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", group, file);
	fd = openat(root, path, O_WRONLY | O_CLOEXEC);
	if (fd < 0 || write(fd, text, strlen(text)) < 0)
		fail(path);
	close(fd);
}

static void move(const char *group, const char *file, pid_t task)
{
	char number[16];

	snprintf(number, sizeof(number), "%d", task);
	put(group, file, number);
	usleep(STEP_US);
}

/* A child; in the group from its first instruction if there is one. */
static pid_t child(const char *group)
{
	struct clone_args a = {.exit_signal = SIGCHLD};
	pid_t pid;

	if (group) {
		int fd = openat(root, group, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

		if (fd < 0)
			fail(group);
		a.flags = CLONE_INTO_CGROUP;
		a.cgroup = (uint64_t)fd;
	}
	pid = (pid_t)syscall(SYS_clone3, &a, sizeof(a));
	if (pid < 0)
		fail("clone3");
	if (pid == 0)
		for (;;)
			pause();
	if (group)
		close((int)a.cgroup);
	usleep(STEP_US);
	return pid;
}

static void end(pid_t pid, const char *groups)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	printf("%d %s\n", pid, groups);
}

static void *sleeper(void *tid)
{
	*(volatile pid_t *)tid = (pid_t)syscall(SYS_gettid);
	for (;;)
		pause();
	return NULL;
}

static void start_threads(pid_t *tids, int n)
{
	for (int i = 0; i < n; i++) {
		pthread_t t;

		pthread_create(&t, NULL, sleeper, &tids[i]);
		while (!((volatile pid_t *)tids)[i])
			usleep(100);
	}
}

/* A process of three threads moves as a whole. */
static void move_process(void)
{
	pid_t tids[2] = {0}, pid = fork();

	if (pid == 0) {
		start_threads(tids, 2);
		move("a", "cgroup.procs", getpid());
		move("b", "cgroup.procs", getpid());
		printf("%d -,a,b\n%d -,a,b\n%d -,a,b\n", getpid(), tids[0], tids[1]);
		fflush(stdout);
		_exit(0);
	}
	waitpid(pid, NULL, 0);
}

/* Two threads of a process move to different groups of a threaded subtree, one of them back. */
static void move_threads(void)
{
	pid_t tids[2] = {0}, pid;

	make("t");
	make("t/x");
	make("t/y");
	put("t/x", "cgroup.type", "threaded");
	put("t/y", "cgroup.type", "threaded");
	pid = fork();
	if (pid == 0) {
		move("t", "cgroup.procs", getpid());
		start_threads(tids, 2);
		move("t/x", "cgroup.threads", tids[0]);
		move("t/y", "cgroup.threads", tids[1]);
		move("t", "cgroup.threads", tids[1]);
		printf("%d -,t\n%d t,t/x\n%d t,t/y,t\n", getpid(), tids[0], tids[1]);
		fflush(stdout);
		_exit(0);
	}
	waitpid(pid, NULL, 0);
	drop("t/x");
	drop("t/y");
	drop("t");
}

static void go_deep(void)
{
	char path[2 * DEPTH + 1] = "d";
	pid_t pid;

	for (int i = 0; i < DEPTH; i++) {
		if (i)
			strcat(path, "/d");
		make(path);
	}
	pid = child(path);
	end(pid, path);
	for (int i = DEPTH - 1; i >= 0; i--) {
		path[2 * i + 1] = '\0';
		drop(path);
	}
}

int main(int argc, char **argv)
{
	const char *odd = "odd \n\\x2d\x80";
	pid_t pid;

	root = argc == 2 ? open(argv[1], O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
	if (root < 0)
		fail("usage: cgroup_steps GROUP");
	setvbuf(stdout, NULL, _IOLBF, 0);
	make("a");
	make("b");
	make("b/sub");
	pid = child(NULL);
	move("a", "cgroup.procs", pid);
	end(pid, "-,a");
	pid = child("b");
	end(pid, "b");
	pid = child("b/sub");
	end(pid, "b/sub");
	pid = child("a");
	move("b", "cgroup.procs", pid);
	move("a", "cgroup.procs", pid);
	end(pid, "a,b,a");
	for (int i = 0; i < 2; i++) {
		make("again");
		pid = child("again");
		end(pid, "again");
		drop("again");
	}
	make(odd);
	pid = child(odd);
	end(pid, "odd ?\\x2d?");
	drop(odd);
	move_process();
	move_threads();
	go_deep();
	drop("b/sub");
	drop("a");
	drop("b");
	return 0;
}
