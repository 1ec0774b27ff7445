/* SPDX-License-Identifier: Apache-2.0 */
/* Short lists: a session has one or two of either kind, a machine a few sessions. */
#include "client/producer/session_feed.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/queue.h>

/* A listener, or a teller. */
struct member {
	LIST_ENTRY(member) link;
	uint64_t session_id;
	void *ctx;
	feed_listener fn; /* of a listener */
	unsigned wants; /* of a listener */
	bool owes; /* of a teller */
	unsigned promised; /* of a teller */
};

LIST_HEAD(member_list, member);

struct session_feed {
	struct member_list listeners; /* owned */
	struct member_list tellers; /* owned */
};

struct session_feed *session_feed_new(void)
{
	return calloc(1, sizeof(struct session_feed));
}

struct session_feed *session_feed_free(struct session_feed *f)
{
	assert(!f || (LIST_EMPTY(&f->listeners) && LIST_EMPTY(&f->tellers)));
	free(f);
	return NULL;
}

static struct member *find(const struct member_list *list, uint64_t session_id, const void *ctx)
{
	struct member *m;

	LIST_FOREACH (m, list, link)
		if (m->session_id == session_id && m->ctx == ctx)
			return m;
	return NULL;
}

static int add(struct member_list *list, const struct member *member)
{
	struct member *m;

	if (find(list, member->session_id, member->ctx))
		return -EEXIST;
	m = malloc(sizeof(*m));
	if (!m)
		return -ENOMEM;
	*m = *member;
	LIST_INSERT_HEAD(list, m, link);
	return 0;
}

static void drop(struct member *m)
{
	LIST_REMOVE(m, link);
	free(m);
}

int session_feed_listen(struct session_feed *f, uint64_t session_id, unsigned wants,
			feed_listener fn, void *ctx)
{
	return add(
		&f->listeners,
		&(struct member){.session_id = session_id, .ctx = ctx, .fn = fn, .wants = wants});
}

void session_feed_unlisten(struct session_feed *f, uint64_t session_id, void *ctx)
{
	struct member *m = find(&f->listeners, session_id, ctx);

	if (m)
		drop(m);
}

unsigned session_feed_wanted(const struct session_feed *f, uint64_t session_id)
{
	const struct member *m;
	unsigned wants = 0;

	LIST_FOREACH (m, &f->listeners, link)
		if (m->session_id == session_id)
			wants |= m->wants;
	return wants;
}

void session_feed_tell(struct session_feed *f, uint64_t session_id, const struct feed_news *news)
{
	struct member *m, *next;

	for (m = LIST_FIRST(&f->listeners); m; m = next) {
		next = LIST_NEXT(m, link); /* a listener may leave when it hears */
		if (m->session_id == session_id)
			m->fn(m->ctx, news);
	}
}

static void tell_of_change(struct session_feed *f, uint64_t session_id)
{
	static const struct feed_news none;

	session_feed_tell(f, session_id, &none);
}

int session_feed_join(struct session_feed *f, uint64_t session_id, void *teller)
{
	return add(&f->tellers, &(struct member){.session_id = session_id, .ctx = teller});
}

void session_feed_leave(struct session_feed *f, uint64_t session_id, void *teller)
{
	struct member *m = find(&f->tellers, session_id, teller);

	if (!m)
		return;
	drop(m);
	tell_of_change(f, session_id);
}

void session_feed_owe(struct session_feed *f, uint64_t session_id, void *teller, bool owes)
{
	struct member *m = find(&f->tellers, session_id, teller);

	if (!m || m->owes == owes)
		return;
	m->owes = owes;
	if (!owes)
		tell_of_change(f, session_id);
}

void session_feed_promise(struct session_feed *f, uint64_t session_id, void *teller, unsigned what)
{
	struct member *m = find(&f->tellers, session_id, teller);

	if (m)
		m->promised = what;
}

unsigned session_feed_promised(const struct session_feed *f, uint64_t session_id)
{
	const struct member *m;
	unsigned what = 0;

	LIST_FOREACH (m, &f->tellers, link)
		if (m->session_id == session_id)
			what |= m->promised;
	return what;
}

bool session_feed_has_teller(const struct session_feed *f, uint64_t session_id)
{
	const struct member *m;

	LIST_FOREACH (m, &f->tellers, link)
		if (m->session_id == session_id)
			return true;
	return false;
}

bool session_feed_is_owed(const struct session_feed *f, uint64_t session_id)
{
	const struct member *m;

	LIST_FOREACH (m, &f->tellers, link)
		if (m->session_id == session_id && m->owes)
			return true;
	return false;
}
