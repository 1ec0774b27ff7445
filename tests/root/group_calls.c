/* SPDX-License-Identifier: Apache-2.0 */
/*
 * usage: group_calls DIR N HOW     starts N processes in a control group, one after the other
 *
 * HOW: "clone" puts a process there when it is made (CLONE_INTO_CGROUP), "move" lets it move
 * itself, "stay" leaves it where this one is, and "pid=PID" does so and gives it that pid. Each
 * executes this program again under the name "member", which makes 100 calls of getppid(2); with
 * the variable BUSY_MS it also uses so much CPU time, and sleeps twice. Prints their pids.
 */
#include <fcntl.h>
#include <linux/sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define CALLS 100

#ifndef CLONE_INTO_CGROUP
#define CLONE_INTO_CGROUP 0x200000000ull
#endif

/* clone_args(2) as of Linux 5.7; older headers lack the last field. */
struct clone_call {
	unsigned long long flags, pidfd, child_tid, parent_tid, exit_signal, stack, stack_size, tls;
	unsigned long long set_tid, set_tid_size, cgroup;
};

static pid_t start(int dir, const char *how)
{
	struct clone_call c = {.flags = CLONE_INTO_CGROUP,
			       .exit_signal = SIGCHLD,
			       .cgroup = (unsigned long long)dir};

	pid_t pid;

	if (strcmp(how, "clone") == 0)
		return (pid_t)syscall(SYS_clone3, &c, sizeof(c));
	if (sscanf(how, "pid=%d", &pid) != 1)
		return fork();
	c.flags = c.cgroup = 0;
	c.set_tid = (uintptr_t)&pid;
	c.set_tid_size = 1;
	return (pid_t)syscall(SYS_clone3, &c, sizeof(c));
}

static void be_member(int dir, const char *how)
{
	if (strcmp(how, "move") == 0) {
		int fd = openat(dir, "cgroup.procs", O_WRONLY | O_CLOEXEC);

		if (fd < 0 || write(fd, "0", 1) != 1)
			_exit(3);
	}
	execl("/proc/self/exe", "member", NULL);
	_exit(4);
}

static double cpu_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static void be_busy(double ms)
{
	for (int i = 0; i < 2; i++) {
		double until = cpu_ms() + ms / 2;

		while (cpu_ms() < until)
			;
		usleep(1000);
	}
}

int main(int argc, char **argv)
{
	int dir, status;

	if (argc < 4) {
		for (int i = 0; i < CALLS; i++)
			syscall(SYS_getppid);
		if (getenv("BUSY_MS"))
			be_busy(atof(getenv("BUSY_MS")));
		return 0;
	}
	dir = open(argv[1], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	for (int i = 0; i < atoi(argv[2]); i++) {
		pid_t pid = start(dir, argv[3]);

		if (pid == 0)
			be_member(dir, argv[3]);
		if (pid < 0 || waitpid(pid, &status, 0) != pid || status) {
			perror("group_calls");
			return 1;
		}
		printf("%d\n", pid);
	}
	return 0;
}
