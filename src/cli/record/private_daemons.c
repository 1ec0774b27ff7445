/* SPDX-License-Identifier: Apache-2.0 */
/*
 *	start --> sondad --"1"--> sonda-probes --"1"--> ready
 *	             |                  |                 |
 *	             +------ ended, or not ready in time -+--> failed
 *
 * We read the stderr of both from pipes, so that their messages do not mix with our terminal
 * output.
 */

#include "cli/record/private_daemons.h"

#include <errno.h>
#include <event2/event.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/core/clock.h"
#include "base/core/mem.h"
#include "base/event_loop/event_free.h"
#include "base/event_loop/event_timer.h"
#include "base/system/fs.h"
#include "base/system/log.h"
#include "base/text/str.h"
#include "cli/terminal/programs.h"

#define SERVICE_NAME "sondad"
#define PRODUCER_NAME "sonda-probes"
#define MAX_LINE 512 /* bytes of a line of a daemon's log, with a NUL; the rest is cut */
#define LOOK_AGAIN_MS 10 /* between two checks for a daemon's end */

/* A socket's path must fit into sockaddr_un. */
#define MAX_SOCKET_PATH sizeof(((struct sockaddr_un *)0)->sun_path)

/*
 *	this process                      child, own process group, dies with its parent
 *	notify  r <--------- pipe ------- w   $TRACED_NOTIFY_FD: the byte "1" when it listens
 *	stderr  r <--------- pipe ------- w   fd 2; also fd 1
 *
 * The child's messages carry their priority in front ("<4>sondad: ..."), as for the journal: the
 * environment claims that stderr is the journal. Warnings are passed on. The last warning is kept
 * as the reason if the child dies; it is not the reason if SIGKILL ended the child.
 */
struct daemon {
	struct private_daemons *owner; /* NULL: not started */
	const char *name;
	pid_t pid; /* -1 once it was waited for */
	int status;
	struct rusage usage; /* with its children; valid once it was waited for */
	int notify_fd;
	int stderr_fd;
	struct event *notify_event;
	struct event *stderr_event;
	char line[MAX_LINE]; /* the incomplete line */
	size_t line_len;
	char last[MAX_LINE]; /* the last warning or error */
};

struct private_daemons {
	struct event_base *loop;
	const struct private_daemons_ops *ops; /* borrowed from the owner for our life */
	void *ctx;
	char dir[MAX_SOCKET_PATH];
	char producer_socket[MAX_SOCKET_PATH];
	char consumer_socket[MAX_SOCKET_PATH];
	struct daemon service;
	struct daemon producer; /* started when the service is ready */
	struct event *child_event; /* SIGCHLD */
	struct event *deadline; /* deadline of the daemon that is starting */
	bool ready;
	bool cut_short; /* the end of the producer was reported */
	bool failed;
};

/* ---- the directory ---- */

/* Removes the directory of a killed process. It is empty, because the daemons remove their
 * sockets. */
static int remove_if_orphan(void *ctx, const char *name, unsigned char d_type)
{
	const char *parent = ctx;
	char path[PATH_MAX];
	pid_t pid;
	int end = 0;

	if (sscanf(name, "sonda-%d-%n", &pid, &end) != 1 || !end || pid <= 0)
		return 0;
	if (kill(pid, 0) && errno == ESRCH && !fs_join(path, sizeof(path), parent, name))
		rmdir(path); /* fails unless it is ours and empty */
	return 0;
}

static int make_dir_in(struct private_daemons *p, const char *parent)
{
	static const size_t longest = sizeof("/sonda-2147483647-XXXXXX/consumer");

	if (strlen(parent) + longest > MAX_SOCKET_PATH)
		return -ENAMETOOLONG;
	fs_each(parent, remove_if_orphan, (void *)parent);
	snprintf(p->dir, sizeof(p->dir), "%s/sonda-%d-XXXXXX", parent, (int)getpid());
	if (!mkdtemp(p->dir)) {
		p->dir[0] = '\0';
		return -errno;
	}
	fs_join(p->producer_socket, sizeof(p->producer_socket), p->dir, "producer");
	fs_join(p->consumer_socket, sizeof(p->consumer_socket), p->dir, "consumer");
	return 0;
}

static int make_private_dir(struct private_daemons *p, struct err_text *e)
{
	int r = make_dir_in(p, fs_temp_dir());

	if (r)
		r = make_dir_in(p, "/tmp"); /* TMPDIR may be too long or missing */
	if (r)
		return err_set(e, r, "cannot create a directory for sockets in /tmp: %s",
			       strerror(-r));
	return 0;
}

static void remove_private_dir(struct private_daemons *p)
{
	if (!p->dir[0])
		return;
	unlink(p->producer_socket);
	unlink(p->consumer_socket);
	rmdir(p->dir);
}

/* ---- the log of a daemon ---- */

/* Returns true if the verb itself reports what the message reports, with a remedy for this user:
 * the message of a data source that lacks a right has the advice for a service, and one for each
 * file or family; only root can have the priority. */
static bool is_reported_by_verb(const char *text)
{
	return (str_starts(text, PRODUCER_NAME ": linux.") &&
		(strcasestr(text, "permission denied") || strstr(text, "linux.ftrace is off: ") ||
		 strstr(text, "no tracefs is accessible to this process"))) ||
	       (geteuid() != 0 && str_starts(text, PRODUCER_NAME ": cannot set the priority"));
}

static void daemon_handle_line(struct daemon *d)
{
	int priority = LOG_LEVEL_WARN; /* level of a line that has none */
	const char *text = d->line;

	d->line[d->line_len] = '\0';
	d->line_len = 0;
	if (text[0] == '<' && text[1] >= '0' && text[1] <= '7' && text[2] == '>') {
		priority = text[1] - '0';
		text += 3;
	}
	if (!*text || priority > LOG_LEVEL_WARN)
		return;
	snprintf(d->last, sizeof(d->last), "%s", text);
	if (!is_reported_by_verb(text))
		d->owner->ops->on_line(d->owner->ctx, text);
}

/* Reads the available data. Returns false at EOF. */
static bool daemon_read_stderr(struct daemon *d)
{
	char bytes[4096];
	ssize_t n;

	for (;;) {
		n = read(d->stderr_fd, bytes, sizeof(bytes));
		for (ssize_t i = 0; i < n; i++) {
			if (bytes[i] == '\n')
				daemon_handle_line(d);
			else if (d->line_len < sizeof(d->line) - 1)
				d->line[d->line_len++] = bytes[i];
		}
		if (n == 0)
			return false;
		if (n < 0 && errno != EINTR)
			return errno == EAGAIN;
	}
}

static void daemon_on_stderr(evutil_socket_t fd, short what, void *ctx)
{
	struct daemon *d = ctx;

	if (!daemon_read_stderr(d))
		event_del(d->stderr_event);
}

/* ---- the start of a daemon ---- */

/* Runs in the child. Reports errors on stderr, which the parent reads. */
static void daemon_run_child(const struct private_daemons *p, const char *name, const char *path,
			     const char *output_dir, const char *notify_env, int notify, int err,
			     pid_t parent)
{
	char *argv[] = {(char *)(strcmp(path, OURSELVES) ? path : name),
			output_dir ? (char *)"--output-dir" : NULL, (char *)output_dir, NULL};
	char number[64];
	sigset_t none;
	struct stat st;
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
	if (!fstat(err, &st)) {
		snprintf(number, sizeof(number), "%ju:%ju", (uintmax_t)st.st_dev,
			 (uintmax_t)st.st_ino);
		setenv("JOURNAL_STREAM", number, 1);
	}
	setenv("PERFETTO_PRODUCER_SOCK_NAME", p->producer_socket, 1);
	setenv("PERFETTO_CONSUMER_SOCK_NAME", p->consumer_socket, 1);
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

static void private_daemons_on_ready(struct private_daemons *p, const struct daemon *d);
static void on_child(evutil_socket_t fd, short what, void *ctx);

static void daemon_on_notify(evutil_socket_t fd, short what, void *ctx)
{
	struct daemon *d = ctx;
	char byte = 0;
	ssize_t n = read(fd, &byte, 1);

	if (n < 0 && (errno == EINTR || errno == EAGAIN))
		return;
	event_del(d->notify_event);
	if (n == 1 && byte == '1')
		private_daemons_on_ready(d->owner, d);
	else /* the end of the daemon gives the reason; without an end, the deadline reports it */
		on_child(-1, 0, d->owner);
}

/* Starts the daemon, and the deadline for its readiness. output_dir: the service may create files
 * there; NULL: nowhere, or it is the producer. Returns 0, or -errno and sets e. */
static int daemon_start(struct private_daemons *p, struct daemon *d, const char *name,
			const char *output_dir, const char *notify_env, struct err_text *e)
{
	pid_t parent = getpid();
	int notify[2], err[2], r;
	char path[PATH_MAX];

	if (program_find_daemon(name, path, sizeof(path), e))
		return -ENOENT;
	event_timer_ms(p->deadline, PRIVATE_START_TIMEOUT_MS);
	r = make_pipes(notify, err);
	if (r)
		return err_set(e, r, "cannot start %s: %s", name, strerror(-r));
	*d = (struct daemon){.owner = p, .name = name};
	d->notify_fd = notify[0];
	d->stderr_fd = err[0];
	d->pid = fork();
	if (d->pid == 0)
		daemon_run_child(p, name, path, output_dir, notify_env, notify[1], err[1], parent);
	r = d->pid < 0 ? -errno : 0;
	close(notify[1]);
	close(err[1]);
	d->notify_event =
		event_new(p->loop, d->notify_fd, EV_READ | EV_PERSIST, daemon_on_notify, d);
	d->stderr_event =
		event_new(p->loop, d->stderr_fd, EV_READ | EV_PERSIST, daemon_on_stderr, d);
	if (!r && (!d->notify_event || !d->stderr_event || event_add(d->notify_event, NULL) ||
		   event_add(d->stderr_event, NULL)))
		r = -ENOMEM;
	return r ? err_set(e, r, "cannot start %s: %s", name, strerror(-r)) : 0;
}

/* ---- the end of a daemon ---- */

/* Returns true if the daemon has ended; then why (may be NULL) is set to the reason, with the last
 * line of its log unless SIGKILL ended it. Never blocks. */
static bool daemon_reap(struct daemon *d, struct err_text *why)
{
	const char *colon;

	if (d->pid > 0 && wait4(d->pid, &d->status, WNOHANG, &d->usage) != d->pid)
		return false;
	d->pid = -1;
	daemon_read_stderr(d); /* its last lines are already in the pipe */
	if (d->line_len)
		daemon_handle_line(d);
	colon = d->last[0] ? ": " : "";
	if (WIFSIGNALED(d->status) && WTERMSIG(d->status) == SIGKILL)
		err_set(why, 0, "%s was killed by signal %d", d->name, SIGKILL);
	else if (WIFSIGNALED(d->status))
		err_set(why, 0, "%s was killed by signal %d%s%s", d->name, WTERMSIG(d->status),
			colon, d->last);
	else
		err_set(why, 0, "%s exited with code %d%s%s", d->name, WEXITSTATUS(d->status),
			colon, d->last);
	return true;
}

/* Ends the daemon with SIGTERM, and with SIGKILL after a timeout, and waits for its end. Reads its
 * output meanwhile: a child that blocks on a full pipe would never end. */
static void daemon_end(struct daemon *d)
{
	uint64_t end_ns = clock_mono_ns() + PRIVATE_STOP_TIMEOUT_MS * NS_PER_MS;
	struct pollfd p = {.fd = d->stderr_fd, .events = POLLIN};

	if (!d->owner)
		return;
	if (d->pid > 0) {
		kill(d->pid, SIGTERM);
		while (wait4(d->pid, &d->status, WNOHANG, &d->usage) != d->pid) {
			if (clock_mono_ns() >= end_ns) {
				kill(d->pid, SIGKILL);
				wait4(d->pid, &d->status, 0, &d->usage);
				break;
			}
			poll(&p, 1, LOOK_AGAIN_MS);
			/* If the child has closed its stderr, poll only sleeps. */
			if (p.revents && !daemon_read_stderr(d))
				p.fd = -1;
		}
		daemon_read_stderr(d);
	}
	event_freep(&d->notify_event);
	event_freep(&d->stderr_event);
	closep(&d->notify_fd);
	closep(&d->stderr_fd);
}

static uint64_t daemon_cpu_ns(const struct daemon *d)
{
	struct timeval cpu;

	timeradd(&d->usage.ru_utime, &d->usage.ru_stime, &cpu);
	return (uint64_t)cpu.tv_sec * NS_PER_S + (uint64_t)cpu.tv_usec * 1000;
}

/* ---- both daemons ---- */

static void private_daemons_fail(struct private_daemons *p, const char *why)
{
	if (p->failed)
		return;
	p->failed = true;
	event_del(p->deadline);
	p->ops->on_failed(p->ctx, why);
}

static void private_daemons_on_deadline(evutil_socket_t fd, short what, void *ctx)
{
	struct private_daemons *p = ctx;
	char why[128];

	snprintf(why, sizeof(why), "%s was not ready within %d s",
		 p->producer.owner ? PRODUCER_NAME : SERVICE_NAME, PRIVATE_START_TIMEOUT_MS / 1000);
	private_daemons_fail(p, why);
}

static void on_child(evutil_socket_t fd, short what, void *ctx)
{
	struct private_daemons *p = ctx;
	struct err_text why;

	if (private_daemons_check_failed(p, &why)) {
		private_daemons_fail(p, why.text);
	} else if (p->ready && !p->cut_short && daemon_reap(&p->producer, &why)) {
		p->cut_short = true;
		p->ops->on_producer_ended(p->ctx, why.text);
	}
}

static void private_daemons_on_ready(struct private_daemons *p, const struct daemon *d)
{
	struct err_text e;

	if (p->failed)
		return;
	if (d == &p->service) {
		if (daemon_start(p, &p->producer, PRODUCER_NAME, NULL, "TRACED_PROBES_NOTIFY_FD",
				 &e))
			private_daemons_fail(p, e.text);
		return;
	}
	event_del(p->deadline);
	p->ready = true;
	p->ops->on_ready(p->ctx);
}

bool private_daemons_check_failed(struct private_daemons *p, struct err_text *why)
{
	return (p->producer.owner && !p->ready && daemon_reap(&p->producer, why)) ||
	       (p->service.owner && daemon_reap(&p->service, why));
}

bool private_daemons_await_failure(struct private_daemons *p, struct err_text *why)
{
	static const struct timespec moment = {0, 10 * NS_PER_MS};

	for (int i = 0; i < 50; i++) {
		if (private_daemons_check_failed(p, why))
			return true;
		nanosleep(&moment, NULL);
	}
	return false;
}

const char *private_daemons_address(const struct private_daemons *p)
{
	return p->consumer_socket;
}

const char *private_daemons_producer_address(const struct private_daemons *p)
{
	return p->producer_socket;
}

/* Finds the directory of the path. Returns false without a path, or with a relative one, which the
 * service refuses. */
static bool find_dir(const char *path, char buf[static PATH_MAX])
{
	const char *slash = path && path[0] == '/' ? strrchr(path, '/') : NULL;

	if (!slash || slash - path >= PATH_MAX)
		return false;
	snprintf(buf, PATH_MAX, "%.*s", (int)MAX(slash - path, 1), path);
	return true;
}

int private_daemons_start(struct event_base *loop, const char *output_path,
			  const struct private_daemons_ops *ops, void *ctx, struct err_text *e,
			  struct private_daemons **ret)
{
	char directory[PATH_MAX];
	const char *output_dir = find_dir(output_path, directory) ? directory : NULL;
	struct private_daemons *p = calloc(1, sizeof(*p));
	int r;

	if (!p)
		return err_set(e, -ENOMEM, "out of memory");
	p->loop = loop;
	p->ops = ops;
	p->ctx = ctx;
	p->deadline = evtimer_new(loop, private_daemons_on_deadline, p);
	p->child_event = evsignal_new(loop, SIGCHLD, on_child, p);
	if (!p->deadline || !p->child_event || event_add(p->child_event, NULL))
		r = err_set(e, -ENOMEM, "out of memory");
	else
		r = make_private_dir(p, e);
	if (!r)
		r = daemon_start(p, &p->service, SERVICE_NAME, output_dir, "TRACED_NOTIFY_FD", e);
	if (r) {
		private_daemons_free(p);
		return r;
	}
	*ret = p;
	return 0;
}

uint64_t private_daemons_free(struct private_daemons *p)
{
	uint64_t cpu_ns;

	if (!p)
		return 0;
	p->failed = true;
	daemon_end(&p->producer);
	daemon_end(&p->service);
	cpu_ns = daemon_cpu_ns(&p->producer) + daemon_cpu_ns(&p->service);
	event_freep(&p->child_event);
	event_freep(&p->deadline);
	remove_private_dir(p);
	free(p);
	return cpu_ns;
}
