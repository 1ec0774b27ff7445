/* SPDX-License-Identifier: Apache-2.0 */
#include "procfs/counters/network_links.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/mem.h"

struct network_link {
	TAILQ_ENTRY(network_link) entry;
	char *name; /* owned */
	uint32_t track;
	uint32_t found_in; /* the last pass that found it */
	struct counter_tracks tracks;
};

void network_links_init(struct network_links *l, struct counter_poll *poll, uint32_t group)
{
	l->poll = poll;
	l->group = group;
	TAILQ_INIT(&l->list);
}

static void link_free(struct network_links *l, struct network_link *k)
{
	TAILQ_REMOVE(&l->list, k, entry);
	counter_tracks_deinit(&k->tracks);
	free(k->name);
	free(k);
	l->n--;
}

void network_links_deinit(struct network_links *l)
{
	while (l->poll && !TAILQ_EMPTY(&l->list))
		link_free(l, TAILQ_FIRST(&l->list));
	counter_keys_deinit(&l->keys);
	counter_patterns_deinit(&l->only);
	counter_patterns_deinit(&l->except);
}

/* The kernel lists them in the same order each time. */
static struct network_link *find(struct network_links *l, struct span name)
{
	struct network_link *k = l->last ? TAILQ_NEXT(l->last, entry) : TAILQ_FIRST(&l->list);

	if (k && span_is(name, k->name))
		return k;
	TAILQ_FOREACH (k, &l->list, entry)
		if (span_is(name, k->name))
			return k;
	return NULL;
}

static struct network_link *add(struct network_links *l, const char *name)
{
	struct network_link *k;

	if (l->n >= NETWORK_LINKS_MAX) {
		counter_poll_failed(l->poll, &l->said_crowded, name, E2BIG);
		return NULL;
	}
	k = calloc(1, sizeof(*k));
	if (!k)
		return NULL;
	k->name = strdup(name);
	if (!k->name) {
		free(k);
		return NULL;
	}
	k->track = tracks_add(
		l->poll->tracks,
		&(struct track_spec){.kind = TRACK_GROUP, .parent = l->group, .name = name});
	if (l->last)
		TAILQ_INSERT_AFTER(&l->list, l->last, k, entry);
	else
		TAILQ_INSERT_HEAD(&l->list, k, entry);
	l->n++;
	return k;
}

static bool is_wanted(const struct network_links *l, const char *name)
{
	/* Of a list that is not whole: what is left out of it widens nothing. */
	return (!counter_patterns_given(&l->only) || counter_patterns_match(&l->only, name)) &&
	       !l->except.left_out && !counter_patterns_match(&l->except, name);
}

int network_links_begin(struct network_links *l, struct span *text)
{
	l->last = NULL;
	return network_columns_parse(text, &l->columns);
}

struct reading {
	struct network_links *l;
	struct network_link *k;
};

static void on_number(void *ctx, struct span name, const struct counter_number *v)
{
	const struct reading *r = ctx;
	struct tracks *t = r->l->poll->tracks;

	counter_number_set(t, counter_keys_track(&r->l->keys, &r->k->tracks, t, r->k->track, name),
			   v);
}

int network_links_line(struct network_links *l, struct span line)
{
	struct reading r = {.l = l};
	char name[256];
	struct span s;

	if (network_dev_name(&line, &s) < 0 || s.len >= sizeof(name) || memchr(s.p, '\0', s.len))
		return -EBADMSG;
	r.k = find(l, s);
	if (!r.k) {
		memcpy(name, s.p, s.len);
		name[s.len] = '\0';
		if (!is_wanted(l, name))
			return 0;
		r.k = add(l, name);
	}
	if (!r.k)
		return 0;
	r.k->found_in = l->poll->pass;
	l->last = r.k;
	return network_dev_parse(line, &l->columns, on_number, &r);
}

void network_links_end(struct network_links *l)
{
	struct network_link *k = TAILQ_FIRST(&l->list), *next;

	for (; k; k = next) {
		next = TAILQ_NEXT(k, entry);
		if (k->found_in == l->poll->pass)
			continue;
		tracks_remove(l->poll->tracks, k->track);
		link_free(l, k);
	}
	l->last = NULL;
}
