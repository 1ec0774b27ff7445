/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <signal.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/core/mem.h"
#include "base/system/caps.h"
#include "base/system/helper_process.h"
#include "base/system/sanitizer.h"

/* For tests of code that runs in a helper process (base/system/helper_process.h). Include it once in
 * a test program. In a build with --coverage gcov's runtime writes what a process has executed when
 * it calls exit(3), into files that it opens then. So in such a build, and only there, helper
 * processes write their counts before _exit(2), have no filter of system calls, and end when their
 * socket is closed instead of by SIGKILL. */
extern void __gcov_exit(void) __attribute__((weak));

void _exit(int status)
{
	if (__gcov_exit)
		__gcov_exit();
	for (;;)
		syscall(SYS_exit_group, status);
}

int kill(pid_t pid, int sig)
{
	return __gcov_exit && sig == SIGKILL ? 0 : (int)syscall(SYS_kill, pid, sig);
}

int helper_confine(const unsigned *caps, size_t n_caps, const struct syscall_list *calls)
{
	int r = caps_keep_only(caps, n_caps);

	return __gcov_exit || BUILT_WITH_SANITIZER ? r : r ?: syscall_filter_install(calls);
}

/* A child that serves requests on one socket and answers on another, for setup and teardown. */
static struct {
	pid_t pid;
	int requests, answers;
} child __attribute__((unused));

static inline int child_start(void (*serve)(int requests, int answers))
{
	int ask[2], answer[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ask) < 0 ||
	    socketpair(AF_UNIX, SOCK_SEQPACKET, 0, answer) < 0)
		return -1;
	child.pid = fork();
	if (child.pid == 0) {
		close(ask[0]);
		close(answer[0]);
		serve(ask[1], answer[1]);
		_exit(0);
	}
	close(ask[1]);
	close(answer[1]);
	child.requests = ask[0];
	child.answers = answer[0];
	return child.pid < 0 ? -1 : 0;
}

static inline int child_end(void **state)
{
	int status;

	close(child.requests);
	close(child.answers);
	return waitpid(child.pid, &status, 0) == child.pid && WIFEXITED(status) ? 0 : -1;
}
