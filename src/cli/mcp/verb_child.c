/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/mcp/verb_child.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/core/clock.h"
#include "base/core/mem.h"
#include "cli/terminal/programs.h"

#define FINISH_SECONDS 15 /* after SIGINT */

void verb_output_deinit(struct verb_output *o)
{
	strbuf_deinit(&o->out);
	strbuf_deinit(&o->errors);
}

/* Runs the verb in the child after fork(2). */
static void exec_verb(const struct verb_child *c, int out, int errors, pid_t parent)
{
	const struct rlimit no_core = {0};
	struct rlimit cpu = {.rlim_cur = c->seconds + 1, .rlim_max = c->seconds + 2};
	int null = open("/dev/null", O_RDWR);
	sigset_t none;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(127);
	setpgid(0, 0);
	setrlimit(RLIMIT_CORE, &no_core);
	if (!c->ends_on_interrupt)
		setrlimit(RLIMIT_CPU, &cpu);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	signal(SIGPIPE, SIG_DFL);
	if (null < 0 || dup2(null, STDIN_FILENO) < 0 || dup2(out, STDOUT_FILENO) < 0 ||
	    dup2(errors, STDERR_FILENO) < 0)
		_exit(127);
	for (size_t i = 0; i < c->n_fds; i++)
		fcntl(c->fds[i], F_SETFD, 0);
	if (c->dir >= 0 && fchdir(c->dir) < 0)
		_exit(127);
	execv(OURSELVES, c->argv);
	_exit(127);
}

/* Reads once. Returns false at the end of the pipe. *ret_full: b has reached max bytes, and further
 * bytes are dropped. */
static bool read_available(int fd, size_t max, struct strbuf *b, bool *ret_full)
{
	char buf[16384];
	ssize_t n = read(fd, buf, sizeof(buf));

	if (n < 0)
		return errno == EINTR || errno == EAGAIN;
	strbuf_add(b, buf, MIN((size_t)n, max - MIN(b->len, max)));
	*ret_full = n > 0 && b->len >= max;
	return n > 0;
}

/* Reads both pipes until they end or the output is too long, which sets ret->cut. Returns 0, -ETIME
 * if the verb takes too long, or -errno. */
static int read_output(const struct verb_child *c, pid_t pid, int out, int errors,
		       struct verb_output *ret)
{
	struct pollfd fds[] = {{.fd = out, .events = POLLIN}, {.fd = errors, .events = POLLIN}};
	uint64_t end = clock_mono_ns() + c->seconds * NS_PER_S;
	bool interrupted = false, full = false, ignored;

	while (fds[0].fd >= 0 || fds[1].fd >= 0) {
		uint64_t now = clock_mono_ns();

		if (now >= end && c->ends_on_interrupt && !interrupted) {
			interrupted = true;
			kill(pid, SIGINT);
			end = now + FINISH_SECONDS * NS_PER_S;
		}
		if (now >= end)
			return -ETIME;
		if (poll(fds, 2, (int)((end - now) / NS_PER_MS) + 1) < 0 && errno != EINTR)
			return -errno;
		if (fds[0].revents && !read_available(out, VERB_CHILD_OUT_MAX, &ret->out, &full))
			fds[0].fd = -1;
		if (fds[1].revents &&
		    !read_available(errors, VERB_CHILD_ERRORS_MAX, &ret->errors, &ignored))
			fds[1].fd = -1;
		fds[0].revents = fds[1].revents = 0;
		if (full) {
			ret->cut = true;
			return 0;
		}
	}
	return 0;
}

int verb_child_run(const struct verb_child *c, struct verb_output *ret, struct err_text *e)
{
	_cleanup_(closep) int out_read = -1, errors_read = -1;
	int out[2], errors[2], r, status = 0;
	pid_t parent = getpid(), pid;

	if (pipe2(out, O_CLOEXEC) < 0)
		return err_set(e, -errno, "cannot create a pipe: %s", strerror(errno));
	if (pipe2(errors, O_CLOEXEC) < 0) {
		r = -errno;
		close(out[0]);
		close(out[1]);
		return err_set(e, r, "cannot create a pipe: %s", strerror(-r));
	}
	pid = fork();
	if (pid == 0)
		exec_verb(c, out[1], errors[1], parent);
	r = pid < 0 ? -errno : 0;
	close(out[1]);
	close(errors[1]);
	out_read = out[0];
	errors_read = errors[0];
	if (r < 0)
		return err_set(e, r, "cannot start a process: %s", strerror(-r));
	r = read_output(c, pid, out_read, errors_read, ret);
	if (r < 0 || ret->cut)
		kill(-pid, SIGKILL);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (r == -ETIME)
		return err_set(e, r,
			       "the call took longer than %u s and was stopped; narrow it with "
			       "top, from and to",
			       c->seconds);
	if (r < 0)
		return err_set(e, r, "cannot read the output: %s", strerror(-r));
	if (ret->cut)
		return 0;
	if (WIFSIGNALED(status))
		return WTERMSIG(status) == SIGXCPU
			       ? err_set(e, -EIO, "the call exceeded its CPU time limit")
			       : err_set(e, -EIO, "the call's process was killed by signal %d",
					 WTERMSIG(status));
	ret->code = WEXITSTATUS(status);
	return 0;
}
