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

/* Exits with NOT_FOUND, without a message of sh, if there is no less: the text is then printed. */
static const char default_pager[] = "command -v less >/dev/null || exit 127; exec less";

/* Signals that this process ignores while the pager runs. */
static const int pager_signals[] = {SIGINT, SIGQUIT, SIGPIPE};

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

/* Writes the text to the pager. A pager that ends before it has read everything is not an error. */
static void write_to_pager(int fd, const char *text, size_t len)
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

void pager_show(const char *text, size_t len)
{
	static const struct sigaction ignore = {.sa_handler = SIG_IGN};
	struct sigaction old[ARRAY_SIZE(pager_signals)];
	const char *command = getenv("SONDA_PAGER") ?: getenv("PAGER") ?: default_pager;
	int ends[2], status = 0;
	pid_t pid;

	if (!*command || !strcmp(command, "cat") || pipe2(ends, O_CLOEXEC) < 0) {
		fwrite(text, 1, len, stdout);
		return;
	}
	fflush(stdout);
	pid = fork();
	if (pid == 0)
		run_pager(command, ends[0]);
	close(ends[0]);
	if (pid > 0) {
		for (size_t i = 0; i < ARRAY_SIZE(pager_signals); i++)
			sigaction(pager_signals[i], &ignore, &old[i]);
		write_to_pager(ends[1], text, len);
	}
	close(ends[1]);
	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	for (size_t i = 0; pid > 0 && i < ARRAY_SIZE(pager_signals); i++)
		sigaction(pager_signals[i], &old[i], NULL);
	if (pid < 0 || (WIFEXITED(status) && WEXITSTATUS(status) == NOT_FOUND))
		fwrite(text, 1, len, stdout);
}
