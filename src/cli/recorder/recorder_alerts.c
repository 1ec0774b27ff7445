/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/recorder/recorder_alerts.h"

#include <errno.h>
#include <event2/event.h>
#include <grp.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/core/mem.h"
#include "base/event_loop/event_free.h"
#include "base/event_loop/sock.h"
#include "base/system/log.h"

#define LINE_MAX_BYTES 65536
#define PATIENCE_S 120 /* of a connection: the snapshot before this one may take long */
#define GROUP_NAME "sonda"

struct alert_connection {
	LIST_ENTRY(alert_connection) entry;
	struct recorder_alerts *owner; /* borrowed */
	int fd; /* owned */
	struct event *event; /* owned */
	struct strbuf line;
	char fingerprint[33]; /* of the alert whose snapshot is awaited; "": none yet */
};

struct recorder_alerts {
	struct recorder_alerts_setup setup;
	int fd; /* owned */
	struct event *event; /* owned */
	LIST_HEAD(, alert_connection) connections;
	unsigned n;
	struct log_limit refusals;
};

static void alert_connection_close(struct alert_connection *c)
{
	struct recorder_alerts *l = c->owner;

	LIST_REMOVE(c, entry);
	l->n--;
	event_freep(&c->event);
	closep(&c->fd);
	strbuf_deinit(&c->line);
	free(c);
	event_add(l->event, NULL);
}

static void alert_connection_answer(struct alert_connection *c, const char *text)
{
	(void)!send(c->fd, text, strlen(text), MSG_NOSIGNAL | MSG_DONTWAIT);
	alert_connection_close(c);
}

/* ---- a line ---- */

static void answer_ring(struct alert_connection *c)
{
	uint64_t holds = 0, before = 0;
	char text[80];

	c->owner->setup.ring(c->owner->setup.ctx, &holds, &before);
	snprintf(text, sizeof(text), "ring %" PRIu64 " %" PRIu64 "\n", holds, before);
	alert_connection_answer(c, text);
}

static void read_alert(struct alert_connection *c)
{
	struct json_reader r;
	struct alert a;
	bool good;

	json_reader_init(&r, c->line.s, c->line.len);
	good = alert_read(&r, &a) && json_end(&r) && a.is_firing;
	if (!good)
		log_write_limited(&c->owner->refusals, LOG_LEVEL_WARN,
				  "an invalid alert was refused");
	if (!good || !c->owner->setup.take(c->owner->setup.ctx, &a))
		alert_connection_answer(c, good ? "skipped\n" : "failed\n");
	else
		snprintf(c->fingerprint, sizeof(c->fingerprint), "%s", a.fingerprint);
}

static void alert_connection_handle_line(struct alert_connection *c)
{
	char *end = memchr(c->line.s, '\n', c->line.len);

	if (!end) {
		if (c->line.len >= LINE_MAX_BYTES)
			alert_connection_close(c);
		return;
	}
	*end = '\0';
	c->line.len = (size_t)(end - c->line.s);
	if (!strcmp(c->line.s, "ring"))
		answer_ring(c);
	else
		read_alert(c);
}

static void on_connection(evutil_socket_t fd, short what, void *ctx)
{
	struct alert_connection *c = ctx;
	char bytes[4096];
	ssize_t n = what & EV_READ ? recv(fd, bytes, sizeof(bytes), 0) : 0;

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	/* The connection ended, sent a second line, or took too long. */
	if (n <= 0 || c->fingerprint[0]) {
		alert_connection_close(c);
		return;
	}
	strbuf_add(&c->line, bytes, (size_t)n);
	if (c->line.failed)
		alert_connection_close(c);
	else
		alert_connection_handle_line(c);
}

void recorder_alerts_done(struct recorder_alerts *l, const struct alert *a, bool saved)
{
	struct alert_connection *c, *next;

	for (c = l ? LIST_FIRST(&l->connections) : NULL; c; c = next) {
		next = LIST_NEXT(c, entry);
		if (!strcmp(c->fingerprint, a->fingerprint))
			alert_connection_answer(c, saved ? "saved\n" : "failed\n");
	}
}

/* ---- the listener ---- */

static void on_listener(evutil_socket_t listener, short what, void *ctx)
{
	const struct timeval patience = {.tv_sec = PATIENCE_S};
	struct recorder_alerts *l = ctx;
	struct alert_connection *c;
	int fd;

	(void)what;
	if (sock_accept(listener, &fd) < 0)
		return;
	c = calloc(1, sizeof(*c));
	if (!c) {
		close(fd);
		return;
	}
	c->owner = l;
	c->fd = fd;
	LIST_INSERT_HEAD(&l->connections, c, entry);
	if (++l->n == RECORDER_ALERTS_CONNECTIONS)
		event_del(l->event);
	c->event = event_new(l->setup.loop, fd, EV_READ | EV_PERSIST, on_connection, c);
	if (!c->event || event_add(c->event, &patience))
		alert_connection_close(c);
}

/* Listens at the address, for the group's members, too. The file is for our user only until the
 * group is known. */
static int listen_for_group(const char *address, int *ret_fd, struct err_text *e)
{
	mode_t before = umask(0177);
	const struct group *g = geteuid() == 0 ? getgrnam(GROUP_NAME) : NULL;
	int r = sock_listen(address, ret_fd, e);

	umask(before);
	if (r == 0 && g && sock_family_of(address) == SOCK_FAMILY_UNIX_PATH &&
	    (chown(address, 0, g->gr_gid) < 0 || chmod(address, 0660) < 0))
		r = err_set(e, -errno, "cannot change the group of %.200s to " GROUP_NAME ": %s",
			    address, strerror(errno));
	return r;
}

int recorder_alerts_new(const struct recorder_alerts_setup *setup, struct recorder_alerts **ret,
			struct err_text *e)
{
	struct recorder_alerts *l = calloc(1, sizeof(*l));
	int r;

	if (!l)
		return err_set(e, -ENOMEM, "out of memory");
	l->setup = *setup;
	l->fd = -1;
	LIST_INIT(&l->connections);
	r = listen_for_group(setup->address, &l->fd, e);
	if (r == 0) {
		l->event = event_new(setup->loop, l->fd, EV_READ | EV_PERSIST, on_listener, l);
		if (!l->event || event_add(l->event, NULL))
			r = err_set(e, -ENOMEM, "out of memory");
	}
	if (r < 0)
		recorder_alerts_free(l);
	else
		*ret = l;
	return r;
}

void recorder_alerts_free(struct recorder_alerts *l)
{
	if (!l)
		return;
	while (!LIST_EMPTY(&l->connections))
		alert_connection_close(LIST_FIRST(&l->connections));
	event_freep(&l->event);
	if (l->fd >= 0 && sock_family_of(l->setup.address) == SOCK_FAMILY_UNIX_PATH)
		unlink(l->setup.address);
	closep(&l->fd);
	free(l);
}
