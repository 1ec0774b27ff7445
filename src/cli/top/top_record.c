/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/top/top_record.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/core/mem.h"
#include "base/system/fs.h"
#include "cli/terminal/programs.h"

#define SECONDS "5s"

/* $0: sonda; $1: pid; $2: the trace; $3: the address of the service, or empty; $4: the thread.
 * Ctrl-C ends the recording early, not the shell. */
static const char script[] =
	"trap : INT\n"
	"echo \"Recording process $1 for " SECONDS " into $2; Ctrl-C ends it earlier.\"\n"
	"wait_for_enter() { echo 'Press Enter to return to sonda top.'; read -r _ </dev/tty; }\n"
	"\"$0\" record -t " SECONDS " -p \"$1\" -o \"$2\" ${3:+--socket \"$3\"} off-cpu || {\n"
	"	wait_for_enter; exit\n"
	"}\n"
	"{\n"
	"	\"$0\" report why \"$4\" \"$2\" 2>&1 || echo \"Thread $4 did not run during this "
	"time.\"\n"
	"	printf '\\nThe trace: %s\\n' \"$2\"\n"
	"} | if [ \"$PAGER\" ] || command -v less >/dev/null; then\n"
	"	${PAGER:-less -S}\n"
	"else\n"
	"	cat; wait_for_enter\n"
	"fi\n";

extern char **environ;

/* Runs a program in a process group of its own, in the foreground, with the default signal
 * handling, and waits until it ends. Returns 0 or -errno; the exit status is ignored. */
static int run_in_foreground(char **argv)
{
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	sigset_t all, none, before;
	pid_t child;
	int r;

	sigfillset(&all);
	sigemptyset(&none);
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_addtcsetpgrp_np(&actions, STDIN_FILENO);
	posix_spawnattr_init(&attributes);
	posix_spawnattr_setpgroup(&attributes, 0);
	posix_spawnattr_setsigmask(&attributes, &none);
	posix_spawnattr_setsigdefault(&attributes, &all);
	posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK |
						      POSIX_SPAWN_SETSIGDEF);
	r = -posix_spawn(&child, "/bin/sh", &actions, &attributes, argv, environ);
	posix_spawnattr_destroy(&attributes);
	posix_spawn_file_actions_destroy(&actions);
	while (!r && waitpid(child, NULL, 0) < 0 && errno == EINTR)
		;
	/* A process in the background that takes the terminal back gets SIGTTOU. */
	sigprocmask(SIG_BLOCK, &all, &before);
	tcsetpgrp(STDIN_FILENO, getpgrp());
	sigprocmask(SIG_SETMASK, &before, NULL);
	return r;
}

int top_record_process(int32_t pid, int32_t tid, const char *socket)
{
	char dir[PATH_MAX], trace[PATH_MAX + 32], number[16], thread[16], self[PATH_MAX];
	ssize_t n = readlink(OURSELVES, self, sizeof(self) - 1);

	if (n < 0)
		return -errno;
	self[n] = '\0';
	snprintf(dir, sizeof(dir), "%s/sonda-top.XXXXXX", fs_temp_dir());
	if (!mkdtemp(dir))
		return -errno;
	snprintf(trace, sizeof(trace), "%s/%d.pftrace", dir, (int)pid);
	snprintf(number, sizeof(number), "%d", (int)pid);
	snprintf(thread, sizeof(thread), "%d", (int)tid);
	return run_in_foreground((char *[]){"sh", "-c", (char *)script, self, number, trace,
					    (char *)(socket ? socket : ""), thread, NULL});
}
