/* SPDX-License-Identifier: Apache-2.0 */
#include "procfs/counters/network_tables.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/mem.h"
#include "base/text/str.h"

struct network_link {
	TAILQ_ENTRY(network_link) entry;
	char *name; /* owned */
	uint32_t track;
	uint32_t found_in; /* the last pass that found it */
	struct counter_tracks tracks;
};

void network_links_init(struct network_links *l, struct polled_source *poll, uint32_t group)
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

/* Finds an interface. The kernel lists them in the same order each time, so the next one is tried
 * first. */
static struct network_link *link_find(struct network_links *l, struct span name)
{
	struct network_link *k = l->last ? TAILQ_NEXT(l->last, entry) : TAILQ_FIRST(&l->list);

	if (k && span_is(name, k->name))
		return k;
	TAILQ_FOREACH (k, &l->list, entry)
		if (span_is(name, k->name))
			return k;
	return NULL;
}

static struct network_link *link_add(struct network_links *l, const char *name)
{
	struct network_link *k;

	if (l->n >= NETWORK_LINKS_MAX) {
		polled_source_failed(l->poll, &l->limit_logged, name, E2BIG);
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

static bool link_is_selected(const struct network_links *l, const char *name)
{
	/* A truncated exclude list selects nothing: a missing entry must not widen the
	 * selection. */
	return (!counter_patterns_are_given(&l->only) || counter_patterns_match(&l->only, name)) &&
	       !l->except.left_out && !counter_patterns_match(&l->except, name);
}

int network_links_begin(struct network_links *l, struct span *text)
{
	l->last = NULL;
	return network_columns_parse(text, &l->columns);
}

struct link_reading {
	struct network_links *l;
	struct network_link *k;
};

static void set_link_counter(void *ctx, struct span name, const struct counter_number *v)
{
	const struct link_reading *r = ctx;
	struct tracks *t = r->l->poll->tracks;

	counter_number_set(
		t, counter_keys_get_track(&r->l->keys, &r->k->tracks, t, r->k->track, name), v);
}

int network_links_parse_line(struct network_links *l, struct span line)
{
	struct link_reading r = {.l = l};
	char name[256];
	struct span s;

	if (network_dev_cut_name(&line, &s) < 0 || s.len >= sizeof(name) ||
	    memchr(s.p, '\0', s.len))
		return -EBADMSG;
	r.k = link_find(l, s);
	if (!r.k) {
		memcpy(name, s.p, s.len);
		name[s.len] = '\0';
		if (!link_is_selected(l, name))
			return 0;
		r.k = link_add(l, name);
	}
	if (!r.k)
		return 0;
	r.k->found_in = l->poll->pass;
	l->last = r.k;
	return network_dev_parse(line, &l->columns, set_link_counter, &r);
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

/* Counters that may go down; all others are monotonic. */
static const char *const gauges[] = {"CurrEstab", "MaxConn",	"RtoAlgorithm", "RtoMin",
				     "RtoMax",	  "Forwarding", "DefaultTTL",	"ReasmTimeout"};

static bool select_protocol_counter(void *ctx, const char *shown, struct track_spec *ret_spec)
{
	const struct network_protocol *p = ctx;
	char full[NETWORK_PROTOCOL_SIZE + COUNTER_KEY_SIZE];

	snprintf(full, sizeof(full), "%s %s", p->name, shown);
	if (!counter_patterns_match(p->counters, full))
		return false;
	*ret_spec = (struct track_spec){
		.unit = str_ends(shown, "Octets") ? TRACK_UNIT_BYTES : TRACK_UNIT_COUNT,
		.total = true,
	};
	for (size_t i = 0; i < ARRAY_SIZE(gauges); i++)
		ret_spec->total &= strcmp(shown, gauges[i]) != 0;
	return true;
}

static struct network_protocol *protocol_add(struct network_protocols *ps, struct span name)
{
	struct network_protocol *p;

	if (ps->n >= NETWORK_PROTOCOLS_MAX || name.len >= sizeof(p->name) || name.len == 0 ||
	    memchr(name.p, '\0', name.len))
		return NULL;
	p = calloc(1, sizeof(*p));
	if (!p)
		return NULL;
	memcpy(p->name, name.p, name.len);
	p->counters = ps->counters;
	p->keys = (struct counter_keys){.decide = select_protocol_counter, .ctx = p};
	p->track = tracks_add(
		ps->poll->tracks,
		&(struct track_spec){.kind = TRACK_GROUP, .parent = ps->group, .name = p->name});
	ps->all[ps->n++] = p;
	return p;
}

static struct network_protocol *protocol_find(struct network_protocols *ps, struct span name)
{
	for (unsigned i = 0; i < ps->n; i++)
		if (span_is(name, ps->all[i]->name))
			return ps->all[i];
	return protocol_add(ps, name);
}

void network_protocols_deinit(struct network_protocols *ps)
{
	for (unsigned i = 0; i < ps->n; i++) {
		counter_keys_deinit(&ps->all[i]->keys);
		counter_tracks_deinit(&ps->all[i]->tracks);
		free(ps->all[i]);
	}
	ps->n = 0;
}

struct protocol_reading {
	struct tracks *t;
	struct network_protocol *p;
};

static void set_protocol_counter(void *ctx, struct span name, const struct counter_number *v)
{
	const struct protocol_reading *r = ctx;

	counter_number_set(
		r->t, counter_keys_get_track(&r->p->keys, &r->p->tracks, r->t, r->p->track, name),
		v);
}

int network_protocols_read(struct network_protocols *ps, struct span text)
{
	struct protocol_reading r = {.t = ps->poll->tracks};
	struct network_pair pair;
	bool good = true, any = false;

	while (network_pair_next(&text, &pair)) {
		any = true;
		r.p = protocol_find(ps, pair.protocol);
		good &= r.p && network_pair_parse(pair, set_protocol_counter, &r) == 0;
	}
	return good && any ? 0 : -EBADMSG;
}

int network_protocols_read_snmp6(struct network_protocols *ps, struct span text)
{
	struct protocol_reading r = {.t = ps->poll->tracks};
	struct span line, protocol, name;
	bool good = true, any = false;
	struct counter_number v;

	while (span_next_line(&text, &line)) {
		any = true;
		r.p = network_snmp6_parse(line, &protocol, &name, &v) == 0
			      ? protocol_find(ps, protocol)
			      : NULL;
		if (r.p)
			set_protocol_counter(&r, name, &v);
		good &= r.p != NULL;
	}
	return good && any ? 0 : -EBADMSG;
}
