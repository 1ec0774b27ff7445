/* SPDX-License-Identifier: Apache-2.0 */
/*
 * usage: crowd GROUPS MESSAGES
 *
 * A machine with more to do than it has CPUs for: GROUPS of 20 processes that send and 20 that
 * receive, each sender MESSAGES of 100 bytes to each receiver of its group. When all are through,
 * all begin again as new processes, until a signal ends this one, and them with it. Four more
 * processes only use the CPU.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define SIDE 20
#define BUSY 4
#define MESSAGE 100

static pid_t start(void)
{
	pid_t parent = getpid(), child = fork();

	if (child < 0) {
		perror("fork");
		exit(1);
	}
	if (child == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() != parent)
			_exit(0);
	}
	return child;
}

static void transfer(int fd, size_t bytes, ssize_t (*move)(int fd, char *buf, size_t size))
{
	char message[MESSAGE] = {0};

	while (bytes > 0) {
		ssize_t n = move(fd, message, bytes < sizeof(message) ? bytes : sizeof(message));

		if (n <= 0)
			_exit(1);
		bytes -= (size_t)n;
	}
}

static ssize_t put(int fd, char *buf, size_t size)
{
	return write(fd, buf, size);
}

static ssize_t get(int fd, char *buf, size_t size)
{
	return read(fd, buf, size);
}

static void start_group(size_t messages)
{
	int pairs[SIDE][2];

	for (unsigned i = 0; i < SIDE; i++) {
		if (socketpair(AF_UNIX, SOCK_STREAM, 0, pairs[i]) < 0) {
			perror("socketpair");
			exit(1);
		}
		if (start() == 0) {
			transfer(pairs[i][0], SIDE * messages * MESSAGE, get);
			_exit(0);
		}
	}
	for (unsigned i = 0; i < SIDE; i++) {
		if (start() != 0)
			continue;
		for (size_t m = 0; m < messages; m++)
			for (unsigned to = 0; to < SIDE; to++)
				transfer(pairs[to][1], MESSAGE, put);
		_exit(0);
	}
	for (unsigned i = 0; i < SIDE; i++) {
		close(pairs[i][0]);
		close(pairs[i][1]);
	}
}

int main(int argc, char **argv)
{
	unsigned long groups = argc > 1 ? strtoul(argv[1], NULL, 10) : 0;
	unsigned long messages = argc > 2 ? strtoul(argv[2], NULL, 10) : 0;

	if (!groups || !messages) {
		fprintf(stderr, "usage: crowd GROUPS MESSAGES\n");
		return 2;
	}
	for (unsigned i = 0; i < BUSY; i++)
		if (start() == 0)
			for (;;)
				;
	for (;;) {
		for (unsigned long g = 0; g < groups; g++)
			start_group(messages);
		for (unsigned long n = 0; n < groups * 2 * SIDE; n++)
			wait(NULL);
	}
}
