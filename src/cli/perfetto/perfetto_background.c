/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/perfetto/perfetto_background.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/core/mem.h"
#include "base/system/fs.h"

/* Returns the byte that the child writes; PERFETTO_TIMEOUT or PERFETTO_FAILED without one. */
static int await_child(int fd)
{
	/* The child waits for the start with a shorter limit. */
	struct pollfd p = {.fd = fd, .events = POLLIN};
	uint8_t byte;
	int r;

	do
		r = poll(&p, 1, PERFETTO_START_TIMEOUT_MS + 5000);
	while (r < 0 && errno == EINTR);
	if (r == 0)
		return PERFETTO_TIMEOUT;
	return read(fd, &byte, 1) == 1 ? byte : PERFETTO_FAILED;
}

static void leave_terminal(void)
{
	int null = open("/dev/null", O_RDWR);

	setsid();
	if (chdir("/")) {
		/* The child keeps its directory. */
	}
	for (int fd = STDIN_FILENO; null >= 0 && fd <= STDERR_FILENO; fd++)
		dup2(null, fd);
	if (null > STDERR_FILENO)
		close(null);
}

int perfetto_background(bool wait, bool hold_signals)
{
	int pipe_fds[2] = {-1, -1};
	sigset_t ends, before;
	pid_t pid;

	if (wait && pipe2(pipe_fds, O_CLOEXEC))
		return -errno - 1;
	fflush(NULL);
	sigemptyset(&ends);
	sigaddset(&ends, SIGINT);
	sigaddset(&ends, SIGTERM);
	sigprocmask(SIG_BLOCK, &ends, &before);
	pid = fork();
	if (pid || !hold_signals)
		sigprocmask(SIG_SETMASK, &before, NULL);
	if (pid < 0)
		return -errno - 1;
	if (pid == 0) {
		closep(&pipe_fds[0]);
		leave_terminal();
		return pipe_fds[1];
	}
	closep(&pipe_fds[1]);
	if (wait) {
		int code = await_child(pipe_fds[0]);

		if (code != PERFETTO_STARTED)
			fprintf(stderr, "Background process failed, WaitStatus=%d\n", code);
		printf("%d\n", (int)pid);
		exit(code);
	}
	printf("%d\n", (int)pid);
	exit(0);
}

void perfetto_notify(int *fd, enum perfetto_started how)
{
	uint8_t byte = (uint8_t)how;

	if (*fd < 0)
		return;
	fs_write_all(*fd, &byte, 1);
	closep(fd);
}
