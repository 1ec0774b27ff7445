/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One inotify descriptor on the folder of the path. A service binds (the file appears), changes the
 * mode, and listens; whoever connects in between is refused and has to try again soon.
 */
#include "client/producer/socket_watch.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

#include <event2/event.h>

#include "base/core/mem.h"

#define WATCHED (IN_CREATE | IN_MOVED_TO | IN_ATTRIB)

struct socket_watch {
	int fd;
	struct event *readable; /* owned */
	void (*fn)(void *ctx);
	void *ctx;
	char name[NAME_MAX + 1]; /* last part of the path */
};

/* Is our name among the events? Reads all that there are. */
static bool read_events(struct socket_watch *w)
{
	union {
		struct inotify_event align;
		char bytes[4096];
	} buf;
	bool hit = false;
	ssize_t n;

	while ((n = read(w->fd, &buf, sizeof(buf))) > 0) {
		for (ssize_t at = 0; at < n;) {
			const struct inotify_event *e = (const void *)(buf.bytes + at);

			hit = hit || (e->len > 0 && strcmp(e->name, w->name) == 0);
			at += (ssize_t)sizeof(*e) + e->len;
		}
	}
	return hit;
}

static void on_readable(evutil_socket_t fd, short what, void *ctx)
{
	struct socket_watch *w = ctx;

	(void)fd, (void)what;
	if (read_events(w))
		w->fn(w->ctx);
}

/* "dir" and "name" of a path; "." for a bare name. */
static int split(const char *path, char dir[static PATH_MAX], char name[static NAME_MAX + 1])
{
	const char *slash = strrchr(path, '/');
	const char *base = slash ? slash + 1 : path;
	size_t dir_len = slash ? MAX((size_t)(slash - path), 1u) : 1;

	if (!*base)
		return -EINVAL;
	if (dir_len >= PATH_MAX || strlen(base) > NAME_MAX)
		return -ENAMETOOLONG;
	memcpy(dir, slash ? path : ".", dir_len);
	dir[dir_len] = '\0';
	strcpy(name, base);
	return 0;
}

static int start_watch(struct socket_watch *w, struct event_base *loop, const char *path)
{
	char dir[PATH_MAX];
	int r = split(path, dir, w->name);

	if (r < 0)
		return r;
	w->fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	if (w->fd < 0 || inotify_add_watch(w->fd, dir, WATCHED | IN_ONLYDIR) < 0)
		return -errno;
	w->readable = event_new(loop, w->fd, EV_READ | EV_PERSIST, on_readable, w);
	if (!w->readable || event_add(w->readable, NULL) < 0)
		return -ENOMEM;
	return 0;
}

int socket_watch_new(struct event_base *loop, const char *path, void (*fn)(void *ctx), void *ctx,
		     struct socket_watch **ret)
{
	struct socket_watch *w = calloc(1, sizeof(*w));
	int r;

	if (!w)
		return -ENOMEM;
	*w = (struct socket_watch){.fd = -1, .fn = fn, .ctx = ctx};
	r = start_watch(w, loop, path);
	if (r < 0) {
		socket_watch_free(w);
		return r;
	}
	*ret = w;
	return 0;
}

void socket_watch_free(struct socket_watch *w)
{
	if (!w)
		return;
	if (w->readable)
		event_free(w->readable);
	closep(&w->fd);
	free(w);
}
