/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/terminal/pager.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/core/mem.h"

#define NOT_FOUND 127 /* exit code of sh if there is no such command */

/* Returns the user's pager, or NULL for none. */
static const char *pager_command(void)
{
	const char *command = getenv("SONDA_PAGER") ?: getenv("PAGER") ?: "less";

	return *command && strcmp(command, "cat") != 0 ? command : NULL;
}

/* Runs in the child, with the text as standard input. */
__attribute__((noreturn)) static void run_pager(const char *command, int text)
{
	dup2(text, STDIN_FILENO);
	setenv("LESS", "FRX", 0);
	setenv("LV", "-c", 0);
	if (getenv("SUDO_UID"))
		setenv("LESSSECURE", "1", 0); /* a pager of root starts no shell */
	execl("/bin/sh", "sh", "-c", command, (char *)NULL);
	_exit(NOT_FOUND);
}

/* A pager that ends before it has read everything is no error. */
static void feed(int fd, const char *text, size_t len)
{
	while (len > 0) {
		ssize_t n = write(fd, text, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return;
		text += n;
		len -= (size_t)n;
	}
}

/* Signals that are for the pager only while it runs. */
static const int pager_signals[] = {SIGINT, SIGQUIT, SIGPIPE};

static void ignore_signals(struct sigaction old[static ARRAY_SIZE(pager_signals)])
{
	static const struct sigaction ignore = {.sa_handler = SIG_IGN};

	for (size_t i = 0; i < ARRAY_SIZE(pager_signals); i++)
		sigaction(pager_signals[i], &ignore, &old[i]);
}

static void restore_signals(const struct sigaction old[static ARRAY_SIZE(pager_signals)])
{
	for (size_t i = 0; i < ARRAY_SIZE(pager_signals); i++)
		sigaction(pager_signals[i], &old[i], NULL);
}

void pager_show(const char *text, size_t len)
{
	struct sigaction old[ARRAY_SIZE(pager_signals)];
	const char *command = pager_command();
	int ends[2], status = 0;
	pid_t pid;

	if (!command || pipe2(ends, O_CLOEXEC) < 0) {
		fwrite(text, 1, len, stdout);
		return;
	}
	fflush(stdout);
	pid = fork();
	if (pid == 0)
		run_pager(command, ends[0]);
	close(ends[0]);
	if (pid > 0) {
		ignore_signals(old);
		feed(ends[1], text, len);
	}
	close(ends[1]);
	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (pid > 0)
		restore_signals(old);
	if (pid < 0 || (WIFEXITED(status) && WEXITSTATUS(status) == NOT_FOUND))
		fwrite(text, 1, len, stdout);
}
