/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Linear lists suffice: a session has one or two members of each kind, and a machine has few
 * sessions.
 */
#include "client/producer/metadata_bus.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/queue.h>

#include "base/core/mem.h"

/* A subscriber, or a publisher. */
struct member {
	LIST_ENTRY(member) link;
	uint64_t session_id;
	void *ctx;
	metadata_subscriber_fn fn; /* function of a subscriber */
	bool busy; /* state of a publisher */
	bool complete; /* state of a publisher */
	uint64_t published_until; /* state of a publisher */
};

LIST_HEAD(member_list, member);

struct metadata_bus {
	struct member_list subscribers; /* owned */
	struct member_list publishers; /* owned */
};

struct metadata_bus *metadata_bus_new(void)
{
	return calloc(1, sizeof(struct metadata_bus));
}

struct metadata_bus *metadata_bus_free(struct metadata_bus *f)
{
	assert(!f || (LIST_EMPTY(&f->subscribers) && LIST_EMPTY(&f->publishers)));
	free(f);
	return NULL;
}

static struct member *metadata_bus_find(const struct member_list *list, uint64_t session_id,
					const void *ctx)
{
	struct member *m;

	LIST_FOREACH (m, list, link)
		if (m->session_id == session_id && m->ctx == ctx)
			return m;
	return NULL;
}

static int metadata_bus_add(struct member_list *list, const struct member *member)
{
	struct member *m;

	if (metadata_bus_find(list, member->session_id, member->ctx))
		return -EEXIST;
	m = malloc(sizeof(*m));
	if (!m)
		return -ENOMEM;
	*m = *member;
	LIST_INSERT_HEAD(list, m, link);
	return 0;
}

static void metadata_bus_drop(struct member *m)
{
	LIST_REMOVE(m, link);
	free(m);
}

int metadata_bus_subscribe(struct metadata_bus *f, uint64_t session_id, metadata_subscriber_fn fn,
			   void *ctx)
{
	return metadata_bus_add(&f->subscribers,
				&(struct member){.session_id = session_id, .ctx = ctx, .fn = fn});
}

void metadata_bus_unsubscribe(struct metadata_bus *f, uint64_t session_id, void *ctx)
{
	struct member *m = metadata_bus_find(&f->subscribers, session_id, ctx);

	if (m)
		metadata_bus_drop(m);
}

/* Returns a member of the session; complete: one that reports all events. NULL: there is none. */
static const struct member *find_session_member(const struct member_list *list, uint64_t session_id,
						bool complete)
{
	const struct member *m;

	LIST_FOREACH (m, list, link)
		if (m->session_id == session_id && (m->complete || !complete))
			return m;
	return NULL;
}

bool metadata_bus_has_subscriber(const struct metadata_bus *f, uint64_t session_id)
{
	return find_session_member(&f->subscribers, session_id, false);
}

void metadata_bus_publish(struct metadata_bus *f, uint64_t session_id,
			  const struct metadata_batch *batch)
{
	struct member *m, *next;

	for (m = LIST_FIRST(&f->subscribers); m; m = next) {
		next = LIST_NEXT(m, link); /* a subscriber may leave in its callback */
		if (m->session_id == session_id)
			m->fn(m->ctx, batch);
	}
}

static void publish_empty_batch(struct metadata_bus *f, uint64_t session_id)
{
	static const struct metadata_batch none;

	metadata_bus_publish(f, session_id, &none);
}

int metadata_bus_register(struct metadata_bus *f, uint64_t session_id, void *publisher)
{
	return metadata_bus_add(&f->publishers,
				&(struct member){.session_id = session_id, .ctx = publisher});
}

void metadata_bus_unregister(struct metadata_bus *f, uint64_t session_id, void *publisher)
{
	struct member *m = metadata_bus_find(&f->publishers, session_id, publisher);

	if (!m)
		return;
	metadata_bus_drop(m);
	publish_empty_batch(f, session_id);
}

void metadata_bus_set_busy(struct metadata_bus *f, uint64_t session_id, void *publisher, bool busy)
{
	struct member *m = metadata_bus_find(&f->publishers, session_id, publisher);

	if (!m || m->busy == busy)
		return;
	m->busy = busy;
	if (!busy)
		publish_empty_batch(f, session_id);
}

void metadata_bus_set_complete(struct metadata_bus *f, uint64_t session_id, void *publisher,
			       bool complete)
{
	struct member *m = metadata_bus_find(&f->publishers, session_id, publisher);

	if (!m || m->complete == complete)
		return;
	m->complete = complete;
	publish_empty_batch(f, session_id);
}

bool metadata_bus_is_complete(const struct metadata_bus *f, uint64_t session_id)
{
	return find_session_member(&f->publishers, session_id, true);
}

void metadata_bus_set_published_until(struct metadata_bus *f, uint64_t session_id, void *publisher,
				      uint64_t ns)
{
	struct member *m = metadata_bus_find(&f->publishers, session_id, publisher);

	if (m)
		m->published_until = ns;
}

uint64_t metadata_bus_published_until(const struct metadata_bus *f, uint64_t session_id,
				      bool complete)
{
	const struct member *m;
	uint64_t until = 0;

	LIST_FOREACH (m, &f->publishers, link)
		if (m->session_id == session_id && (m->complete || !complete))
			until = MAX(until, m->published_until);
	return until;
}

bool metadata_bus_has_publisher(const struct metadata_bus *f, uint64_t session_id)
{
	return find_session_member(&f->publishers, session_id, false);
}

bool metadata_bus_is_busy(const struct metadata_bus *f, uint64_t session_id)
{
	const struct member *m;

	LIST_FOREACH (m, &f->publishers, link)
		if (m->session_id == session_id && m->busy)
			return true;
	return false;
}
