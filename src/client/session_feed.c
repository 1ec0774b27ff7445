/* SPDX-License-Identifier: Apache-2.0 */
/* A short list: a session has one or two listeners, a machine a few sessions. */
#include "client/session_feed.h"

#include <assert.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/queue.h>

struct listener {
	LIST_ENTRY(listener) link;
	uint64_t session_id;
	feed_listener fn;
	void *ctx;
};

struct session_feed {
	LIST_HEAD(listener_list, listener) listeners; /* owned */
};

struct session_feed *session_feed_new(void)
{
	return calloc(1, sizeof(struct session_feed));
}

struct session_feed *session_feed_free(struct session_feed *f)
{
	assert(!f || LIST_EMPTY(&f->listeners));
	free(f);
	return NULL;
}

static struct listener *find(const struct session_feed *f, uint64_t session_id, const void *ctx)
{
	struct listener *l;

	LIST_FOREACH (l, &f->listeners, link)
		if (l->session_id == session_id && l->ctx == ctx)
			return l;
	return NULL;
}

int session_feed_listen(struct session_feed *f, uint64_t session_id, feed_listener fn, void *ctx)
{
	struct listener *l;

	if (find(f, session_id, ctx))
		return -EEXIST;
	l = malloc(sizeof(*l));
	if (!l)
		return -ENOMEM;
	*l = (struct listener){.session_id = session_id, .fn = fn, .ctx = ctx};
	LIST_INSERT_HEAD(&f->listeners, l, link);
	return 0;
}

void session_feed_unlisten(struct session_feed *f, uint64_t session_id, void *ctx)
{
	struct listener *l = find(f, session_id, ctx);

	if (!l)
		return;
	LIST_REMOVE(l, link);
	free(l);
}

int session_feed_wanted(const struct session_feed *f, uint64_t session_id)
{
	const struct listener *l;

	LIST_FOREACH (l, &f->listeners, link)
		if (l->session_id == session_id)
			return true;
	return false;
}

void session_feed_tell(struct session_feed *f, uint64_t session_id, const struct feed_news *news)
{
	struct listener *l, *next;

	for (l = LIST_FIRST(&f->listeners); l; l = next) {
		next = LIST_NEXT(l, link); /* a listener may leave when it hears */
		if (l->session_id == session_id)
			l->fn(l->ctx, news);
	}
}
