// SPDX-License-Identifier: Apache-2.0
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
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "base/core/clock.h"
#include "base/core/mem.h"
#include "base/event_loop/event_free.h"
#include "base/event_loop/sock.h"
#include "base/system/fs.h"
#include "base/text/str.h"
#include "cli/record/daemon_process.h"
#include "cli/terminal/programs.h"

#define SERVICE_NAME "sondad"
#define PRODUCER_NAME "sonda-probes"

/* A socket's path must fit into sockaddr_un. */
#define MAX_SOCKET_PATH sizeof(((struct sockaddr_un *)0)->sun_path)

struct private_daemons {
	struct event_base *loop;
	const struct private_daemons_ops *ops; /* borrowed from the owner for our life */
	void *ctx;
	char dir[MAX_SOCKET_PATH];
	char producer_socket[MAX_SOCKET_PATH];
	char consumer_socket[MAX_SOCKET_PATH];
	struct daemon_process *service; /* owned */
	struct daemon_process *producer; /* owned; NULL until the service is ready */
	struct event *child_event; /* SIGCHLD */
	struct event *deadline; /* of the daemon that is starting */
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

	(void)d_type;
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

static int make_dir(struct private_daemons *p, struct err_text *e)
{
	const char *tmp = getenv("TMPDIR");
	int r = -ENOENT;

	if (tmp && *tmp)
		r = make_dir_in(p, tmp);
	if (r)
		r = make_dir_in(p, "/tmp");
	if (r)
		return err_set(e, r, "cannot create a directory for sockets in /tmp: %s",
			       strerror(-r));
	return 0;
}

static void remove_dir(struct private_daemons *p)
{
	if (!p->dir[0])
		return;
	unlink(p->producer_socket);
	unlink(p->consumer_socket);
	rmdir(p->dir);
}

/* ---- the daemons ---- */

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

	(void)fd;
	(void)what;
	snprintf(why, sizeof(why), "%s was not ready within %d s",
		 p->producer ? PRODUCER_NAME : SERVICE_NAME, PRIVATE_START_TIMEOUT_MS / 1000);
	private_daemons_fail(p, why);
}

static void on_child(evutil_socket_t fd, short what, void *ctx)
{
	struct private_daemons *p = ctx;
	struct err_text why;

	(void)fd;
	(void)what;
	if (private_daemons_have_failed(p, &why)) {
		private_daemons_fail(p, why.text);
	} else if (p->ready && !p->cut_short && daemon_process_has_ended(p->producer, &why)) {
		p->cut_short = true;
		p->ops->on_producer_ended(p->ctx, why.text);
	}
}

/* The end of the daemon follows and gives the reason; if not, the deadline reports it. */
static void on_not_ready(void *ctx, struct daemon_process *d)
{
	(void)d;
	on_child(-1, 0, ctx);
}

/* Passes a message on, except that sonda-probes may not use tracefs: its advice is for a service. A
 * user who wants kernel events gets that of sonda doctor. */
static void on_line(void *ctx, const char *line)
{
	struct private_daemons *p = ctx;

	if (str_starts(line, PRODUCER_NAME ": linux.ftrace is off: "))
		return;
	p->ops->on_line(p->ctx, line);
}

static void private_daemons_on_ready(void *ctx, struct daemon_process *d);

static const struct daemon_process_ops process_ops = {
	.on_ready = private_daemons_on_ready,
	.on_not_ready = on_not_ready,
	.on_line = on_line,
};

static int start_one(struct private_daemons *p, const char *name, const char *const *args,
		     const char *notify_env, struct err_text *e, struct daemon_process **ret)
{
	const struct daemon_env env[] = {
		{"PERFETTO_PRODUCER_SOCK_NAME", p->producer_socket},
		{"PERFETTO_CONSUMER_SOCK_NAME", p->consumer_socket},
		{NULL, NULL},
	};
	static const struct timeval timeout = {PRIVATE_START_TIMEOUT_MS / 1000, 0};
	char path[PATH_MAX];

	if (program_find_daemon(name, path, sizeof(path), e))
		return -ENOENT;
	event_add(p->deadline, &timeout);
	return daemon_process_start(p->loop, name, path, args, notify_env, env, &process_ops, p, e,
				    ret);
}

static void private_daemons_on_ready(void *ctx, struct daemon_process *d)
{
	static const char *const none[] = {NULL};
	struct private_daemons *p = ctx;
	struct err_text e;

	if (p->failed)
		return;
	if (d == p->service) {
		if (start_one(p, PRODUCER_NAME, none, "TRACED_PROBES_NOTIFY_FD", &e, &p->producer))
			private_daemons_fail(p, e.text);
		return;
	}
	event_del(p->deadline);
	p->ready = true;
	p->ops->on_ready(p->ctx);
}

bool private_daemons_have_failed(struct private_daemons *p, struct err_text *why)
{
	return (p->producer && !p->ready && daemon_process_has_ended(p->producer, why)) ||
	       (p->service && daemon_process_has_ended(p->service, why));
}

bool private_daemons_explain(struct private_daemons *p, struct err_text *why)
{
	static const struct timespec moment = {0, 10 * NS_PER_MS};

	for (int i = 0; i < 50; i++) {
		if (private_daemons_have_failed(p, why))
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
static bool find_folder(const char *path, char buf[static PATH_MAX])
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
	char folder[PATH_MAX];
	const char *const args[] = {
		find_folder(output_path, folder) ? "--output-dir" : NULL,
		folder,
		NULL,
	};
	struct private_daemons *p = calloc(1, sizeof(*p));
	int r;

	if (!p)
		return err_set(e, -ENOMEM, "no memory");
	p->loop = loop;
	p->ops = ops;
	p->ctx = ctx;
	p->deadline = evtimer_new(loop, private_daemons_on_deadline, p);
	p->child_event = evsignal_new(loop, SIGCHLD, on_child, p);
	if (!p->deadline || !p->child_event || event_add(p->child_event, NULL))
		r = err_set(e, -ENOMEM, "no memory");
	else
		r = make_dir(p, e);
	if (!r)
		r = start_one(p, SERVICE_NAME, args, "TRACED_NOTIFY_FD", e, &p->service);
	if (r) {
		private_daemons_free(p);
		return r;
	}
	*ret = p;
	return 0;
}

void private_daemons_free(struct private_daemons *p)
{
	if (!p)
		return;
	p->failed = true;
	daemon_process_free(p->producer, PRIVATE_STOP_TIMEOUT_MS);
	daemon_process_free(p->service, PRIVATE_STOP_TIMEOUT_MS);
	event_freep(&p->child_event);
	event_freep(&p->deadline);
	remove_dir(p);
	free(p);
}

void private_daemons_announce(bool as_usual, struct console *console)
{
	console_say(console, "no tracing service runs on %s; starting one for this recording",
		    sock_default_consumer());
	if (geteuid() == 0 && as_usual)
		console_say(console, "its two programs run with SCHED_FIFO 1, each for up to half "
				     "of the time of a CPU (--no-priority: as usual)");
}
