/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/record/daemon_process.h"

#include <errno.h>
#include <event2/event.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/core/clock.h"
#include "base/core/mem.h"
#include "base/event_loop/event_free.h"
#include "base/system/fs.h"
#include "base/system/log.h"
#include "base/text/str.h"
#include "cli/terminal/programs.h"

/*
 *	this process                      child, own process group, dies with its parent
 *	notify  r <--------- pipe ------- w   $TRACED_NOTIFY_FD: the byte "1" when it listens
 *	stderr  r <--------- pipe ------- w   fd 2; also fd 1
 *
 * The child's messages carry their priority in front ("<4>sondad: ..."), as for the journal: the
 * environment claims that stderr is the journal. Warnings are passed on. The last warning is kept
 * as the reason if the child dies; it is no reason if SIGKILL ended the child.
 */

#define LOOK_AGAIN_MS 10 /* between two checks for its end */

struct daemon_process {
	const char *name; /* borrowed from the caller until free */
	const struct daemon_process_ops *ops; /* likewise */
	void *ctx;
	pid_t pid; /* -1 once it was waited for */
	int status;
	int notify_fd;
	int stderr_fd;
	struct event *notify_event;
	struct event *stderr_event;
	char line[DAEMON_MAX_LINE]; /* the incomplete line */
	size_t line_len;
	char last[DAEMON_MAX_LINE]; /* the last warning or error */
};

/* ---- the daemon's log ---- */

/* Returns the text of "<4>text" and sets its priority; without a prefix the priority is warning. */
static const char *parse_priority(const char *line, int *ret_priority)
{
	*ret_priority = LOG_LEVEL_WARN;
	if (line[0] != '<' || line[1] < '0' || line[1] > '7' || line[2] != '>')
		return line;
	*ret_priority = line[1] - '0';
	return line + 3;
}

static void daemon_process_take_line(struct daemon_process *d)
{
	const char *text;
	int priority;

	d->line[d->line_len] = '\0';
	d->line_len = 0;
	text = parse_priority(d->line, &priority);
	if (!*text)
		return;
	if (priority > LOG_LEVEL_WARN)
		return;
	snprintf(d->last, sizeof(d->last), "%s", text);
	d->ops->on_line(d->ctx, text);
}

static void take_bytes(struct daemon_process *d, const char *bytes, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (bytes[i] == '\n')
			daemon_process_take_line(d);
		else if (d->line_len < sizeof(d->line) - 1)
			d->line[d->line_len++] = bytes[i];
	}
}

/* Reads the available data. Returns false at EOF. */
static bool listen_once(struct daemon_process *d)
{
	char bytes[4096];
	ssize_t n;

	for (;;) {
		n = read(d->stderr_fd, bytes, sizeof(bytes));
		if (n > 0)
			take_bytes(d, bytes, (size_t)n);
		else if (n == 0)
			return false;
		else if (errno != EINTR)
			return errno == EAGAIN;
	}
}

static void on_stderr(evutil_socket_t fd, short what, void *ctx)
{
	struct daemon_process *d = ctx;

	(void)fd;
	(void)what;
	if (!listen_once(d))
		event_del(d->stderr_event);
}

static void on_notify(evutil_socket_t fd, short what, void *ctx)
{
	struct daemon_process *d = ctx;
	char byte = 0;
	ssize_t n = read(fd, &byte, 1);

	(void)what;
	if (n < 0 && (errno == EINTR || errno == EAGAIN))
		return;
	event_del(d->notify_event);
	if (n == 1 && byte == '1')
		d->ops->on_ready(d->ctx, d);
	else
		d->ops->on_not_ready(d->ctx, d);
}

/* ---- starting ---- */

static void set_journal_stream(int fd)
{
	char value[64];
	struct stat st;

	if (fstat(fd, &st))
		return;
	snprintf(value, sizeof(value), "%ju:%ju", (uintmax_t)st.st_dev, (uintmax_t)st.st_ino);
	setenv("JOURNAL_STREAM", value, 1);
}

/* Runs in the child. Reports errors on stderr, which the parent reads. */
static void daemon_process_run_child(const char *name, const char *path, const char *const *args,
				     const char *notify_env, const struct daemon_env *env,
				     int notify, int err, pid_t parent)
{
	char *argv[DAEMON_MAX_ARGS + 2] = {(char *)(strcmp(path, OURSELVES) ? path : name)};
	char number[16];
	sigset_t none;
	int null;

	setpgid(0, 0);
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (getppid() != parent) /* the parent died before prctl() */
		_exit(1);
	/* Restore the default handlers, also of signals that our own parent ignored. SIGKILL and
	 * SIGSTOP cannot be set, and need not be. */
	for (int s = 1; s < NSIG; s++)
		signal(s, SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);

	null = open("/dev/null", O_RDWR);
	dup2(null, STDIN_FILENO);
	dup2(err, STDOUT_FILENO);
	dup2(err, STDERR_FILENO);
	fcntl(notify, F_SETFD, 0);
	snprintf(number, sizeof(number), "%d", notify);
	setenv(notify_env, number, 1);
	set_journal_stream(err);
	for (; env->name; env++)
		setenv(env->name, env->value, 1);
	for (size_t i = 0; i < DAEMON_MAX_ARGS && args[i]; i++)
		argv[i + 1] = (char *)args[i];
	execv(path, argv);
	dprintf(STDERR_FILENO, "cannot run %s: %s\n", path, strerror(errno));
	_exit(127);
}

static int make_pipes(int notify[static 2], int err[static 2])
{
	if (pipe2(notify, O_CLOEXEC))
		return -errno;
	if (pipe2(err, O_CLOEXEC)) {
		int r = -errno;

		close(notify[0]);
		close(notify[1]);
		return r;
	}
	fcntl(notify[0], F_SETFL, O_NONBLOCK);
	fcntl(err[0], F_SETFL, O_NONBLOCK);
	return 0;
}

static int watch(struct daemon_process *d, struct event_base *loop)
{
	d->notify_event = event_new(loop, d->notify_fd, EV_READ | EV_PERSIST, on_notify, d);
	d->stderr_event = event_new(loop, d->stderr_fd, EV_READ | EV_PERSIST, on_stderr, d);
	if (!d->notify_event || !d->stderr_event || event_add(d->notify_event, NULL) ||
	    event_add(d->stderr_event, NULL))
		return -ENOMEM;
	return 0;
}

int daemon_process_start(struct event_base *loop, const char *name, const char *path,
			 const char *const args[static 1], const char *notify_env,
			 const struct daemon_env *env, const struct daemon_process_ops *ops,
			 void *ctx, struct err_text *e, struct daemon_process **ret)
{
	struct daemon_process *d = calloc(1, sizeof(*d));
	pid_t parent = getpid();
	int notify[2], err[2], r;

	if (!d)
		return err_set(e, -ENOMEM, "no memory");
	*d = (struct daemon_process){.name = name, .ops = ops, .ctx = ctx, .pid = -1};
	r = make_pipes(notify, err);
	if (r) {
		free(d);
		return err_set(e, r, "cannot start %s: %s", name, strerror(-r));
	}
	d->notify_fd = notify[0];
	d->stderr_fd = err[0];
	d->pid = fork();
	if (d->pid == 0)
		daemon_process_run_child(name, path, args, notify_env, env, notify[1], err[1],
					 parent);
	r = d->pid < 0 ? -errno : 0;
	close(notify[1]);
	close(err[1]);
	if (!r)
		r = watch(d, loop);
	if (r) {
		daemon_process_free(d, 0);
		return err_set(e, r, "cannot start %s: %s", name, strerror(-r));
	}
	*ret = d;
	return 0;
}

/* ---- ending ---- */

bool daemon_process_has_ended(struct daemon_process *d, struct err_text *why)
{
	const char *colon;

	if (d->pid > 0 && waitpid(d->pid, &d->status, WNOHANG) != d->pid)
		return false;
	d->pid = -1;
	listen_once(d); /* its last lines are already in the pipe */
	if (d->line_len)
		daemon_process_take_line(d);
	colon = d->last[0] ? ": " : "";
	if (WIFSIGNALED(d->status) && WTERMSIG(d->status) == SIGKILL)
		err_set(why, 0, "%s was killed by signal %d", d->name, SIGKILL);
	else if (WIFSIGNALED(d->status))
		err_set(why, 0, "%s was killed by signal %d%s%s", d->name, WTERMSIG(d->status),
			colon, d->last);
	else
		err_set(why, 0, "%s ended with exit code %d%s%s", d->name, WEXITSTATUS(d->status),
			colon, d->last);
	return true;
}

/*
 * Waits up to timeout_ms for the end of the child. Returns false if it still runs. Reads its output
 * meanwhile: a child that blocks on a full pipe would never end.
 */
static bool daemon_process_wait_for_end(struct daemon_process *d, int timeout_ms)
{
	uint64_t end_ns = clock_mono_ns() + (uint64_t)timeout_ms * NS_PER_MS;
	struct pollfd p = {.fd = d->stderr_fd, .events = POLLIN};

	while (waitpid(d->pid, &d->status, WNOHANG) != d->pid) {
		if (clock_mono_ns() >= end_ns)
			return false;
		poll(&p, 1, LOOK_AGAIN_MS);
		/* If the child has closed its stderr, poll only sleeps. */
		if (p.revents && !listen_once(d))
			p.fd = -1;
	}
	listen_once(d);
	return true;
}

static void end_child(struct daemon_process *d, int timeout_ms)
{
	if (d->pid <= 0)
		return;
	kill(d->pid, SIGTERM);
	if (!daemon_process_wait_for_end(d, timeout_ms)) {
		kill(d->pid, SIGKILL);
		waitpid(d->pid, &d->status, 0);
	}
	d->pid = -1;
}

void daemon_process_free(struct daemon_process *d, int timeout_ms)
{
	if (!d)
		return;
	end_child(d, timeout_ms);
	event_freep(&d->notify_event);
	event_freep(&d->stderr_event);
	closep(&d->notify_fd);
	closep(&d->stderr_fd);
	free(d);
}
