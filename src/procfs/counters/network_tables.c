/* SPDX-License-Identifier: Apache-2.0 */
#include "procfs/counters/network_tables.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <stdlib.h>

#include "base/core/mem.h"
#include "base/text/str.h"

static bool network_tables_add_columns(struct network_columns *c, const char *direction,
				       struct span names)
{
	struct span word;

	while (span_next_word(&names, &word)) {
		if (c->n >= NETWORK_COLUMNS_MAX || word.len + 4 > NETWORK_COLUMN_SIZE)
			return false;
		snprintf(c->names[c->n++], NETWORK_COLUMN_SIZE, "%s %.*s", direction, (int)word.len,
			 word.p);
	}
	return true;
}

/* Returns the text up to the next '|', or all of it, and cuts it off the line with the '|'. */
static struct span take_cell(struct span *line)
{
	const char *bar = line->len > 0 ? memchr(line->p, '|', line->len) : NULL;
	size_t n = bar ? (size_t)(bar - line->p) : line->len;
	struct span cell = {line->p, n};

	*line = (struct span){line->p + n + (bar ? 1 : 0), line->len - n - (bar ? 1 : 0)};
	return cell;
}

/*
 * Parses the heading (two lines) and cuts it off the text: " face |bytes packets ...|bytes packets
 * ..."
 */
static int network_columns_parse(struct span *text, struct network_columns *ret)
{
	struct network_columns c = {.n = 0};
	struct span line, cell;

	if (!span_next_line(text, &line) || !span_next_line(text, &line))
		return -EBADMSG;
	cell = take_cell(&line); /* "face" */
	if (cell.len == 0 || line.len == 0)
		return -EBADMSG;
	cell = take_cell(&line);
	if (line.len == 0 || !network_tables_add_columns(&c, "rx", cell) ||
	    !network_tables_add_columns(&c, "tx", line) || c.n == 0)
		return -EBADMSG;
	*ret = c;
	return 0;
}

/*
 * Parse a line " eth0: 1 2 3 ..." (before 2.6.39 without the blank): network_dev_name() cuts off
 * the name, network_dev_parse() calls fn for each number with its column. Names have no colon and
 * no blank, but may have any other byte.
 */
static int network_dev_name(struct span *line, struct span *ret_name)
{
	struct span name, rest;

	if (!span_split(*line, &name, &rest) || name.len == 0)
		return -EBADMSG;
	*ret_name = name;
	*line = rest;
	return 0;
}

static int network_dev_parse(struct span line, const struct network_columns *columns,
			     counter_number_fn fn, void *ctx)
{
	struct counter_number v;
	struct span word;

	for (unsigned i = 0; i < columns->n; i++) {
		if (!span_next_word(&line, &word) || !counter_number_parse(word, &v))
			return -EBADMSG;
		fn(ctx, (struct span){columns->names[i], strlen(columns->names[i])}, &v);
	}
	return span_next_word(&line, &word) ? -EBADMSG : 0;
}

static bool network_pair_next(struct span *text, struct network_pair *ret)
{
	struct span first, second, name;

	while (span_next_line(text, &first)) {
		if (!span_split(first, &ret->protocol, &ret->names))
			continue;
		second = *text;
		if (!span_next_line(&second, &first) || !span_split(first, &name, &ret->values))
			continue;
		if (name.len != ret->protocol.len || memcmp(name.p, ret->protocol.p, name.len) != 0)
			continue; /* the second line may be the first of another pair */
		*text = second;
		return true;
	}
	return false;
}

static int network_pair_parse(struct network_pair pair, counter_number_fn fn, void *ctx)
{
	struct span name, value;
	struct counter_number v;
	int r = 0;

	while (span_next_word(&pair.names, &name)) {
		if (!span_next_word(&pair.values, &value))
			return -EBADMSG;
		if (counter_number_parse(value, &v))
			fn(ctx, name, &v);
		else
			r = -EBADMSG;
	}
	return span_next_word(&pair.values, &value) ? -EBADMSG : r;
}

/*
 * Parses a line "Ip6InReceives 12" of /proc/net/snmp6; *ret_protocol is "Ip6". Returns 0 or
 * -EBADMSG.
 */
static int network_snmp6_parse(struct span line, struct span *ret_protocol, struct span *ret_name,
			       struct counter_number *ret_v)
{
	struct span name, value, more;
	struct counter_number v;
	const char *six;
	size_t n;

	if (!span_next_word(&line, &name) || !span_next_word(&line, &value) ||
	    span_next_word(&line, &more) || !counter_number_parse(value, &v))
		return -EBADMSG;
	six = memchr(name.p, '6', name.len);
	n = six ? (size_t)(six + 1 - name.p) : 0;
	if (n < 2 || n == name.len)
		return -EBADMSG;
	*ret_protocol = (struct span){name.p, n};
	*ret_name = (struct span){name.p + n, name.len - n};
	*ret_v = v;
	return 0;
}

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

/* The kernel lists interfaces in the same order each time, so the next one is tried first. */
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
	/*
	 * A truncated exclude list selects nothing: a missing entry must not widen the selection.
	 */
	return (!counter_patterns_given(&l->only) || counter_patterns_match(&l->only, name)) &&
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

	counter_number_set(t, counter_keys_track(&r->l->keys, &r->k->tracks, t, r->k->track, name),
			   v);
}

int network_links_line(struct network_links *l, struct span line)
{
	struct link_reading r = {.l = l};
	char name[256];
	struct span s;

	if (network_dev_name(&line, &s) < 0 || s.len >= sizeof(name) || memchr(s.p, '\0', s.len))
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

static bool protocol_counter_spec(void *ctx, const char *shown, struct track_spec *ret_spec)
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
	p->keys = (struct counter_keys){.decide = protocol_counter_spec, .ctx = p};
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
		r->t, counter_keys_track(&r->p->keys, &r->p->tracks, r->t, r->p->track, name), v);
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
