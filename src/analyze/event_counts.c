/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/event_counts.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/hash_table.h"
#include "base/core/mem.h"
#include "base/text/str.h"
#include "gen/fields.h"
#include "wire/pb_read.h"
#include "wire/pb_varint.h"

/* tools/ftrace_names.awk generates the table from protos/trace/ftrace. */

static const struct event_name names[] = {
#include "gen/ftrace_names.h"
};

const struct event_name *event_name_of(uint32_t field)
{
	if (field >= ARRAY_SIZE(names) || !names[field].name)
		return NULL;
	return &names[field];
}

uint32_t event_names_end(void)
{
	return ARRAY_SIZE(names);
}

/*
 * Counting is the only work per event, so known events are an array index, and names are looked up
 * at the end only. Numbers above the array are rare enough for a hash.
 *
 *	field number --+-- < event_names_end()  known[number]
 *	               +-- else                 by_id   {number -> group, name, count}
 *	name only ------------------------------ by_name {name -> count}
 *
 * A trace is untrusted: names are cut, and the number of kinds is limited.
 */

struct generic_count {
	uint32_t id;
	char group[EVENT_COUNTS_MAX_NAME + 1];
	char name[EVENT_COUNTS_MAX_NAME + 1];
	uint64_t count;
	UT_hash_handle hh;
};

static void free_hash(struct generic_count **head)
{
	struct generic_count *g, *next;

	HASH_ITER (hh, *head, g, next) {
		HASH_DEL(*head, g);
		free(g);
	}
}

void event_counts_deinit(struct event_counts *c)
{
	free_hash(&c->by_id);
	free_hash(&c->by_name);
	free(c->known);
	*c = (struct event_counts){0};
}

/* Copies text of the trace for a terminal: cut, and without control characters. */
static void copy_name(char dst[static EVENT_COUNTS_MAX_NAME + 1], const uint8_t *src, size_t len)
{
	len = MIN(len, (size_t)EVENT_COUNTS_MAX_NAME);
	if (len)
		memcpy(dst, src, len);
	dst[len] = '\0';
	str_make_plain(dst, len, "");
}

static struct generic_count *new_generic(struct event_counts *c)
{
	struct generic_count *g;

	if (c->n_generic >= EVENT_COUNTS_MAX_GENERIC)
		return NULL;
	g = calloc(1, sizeof(*g));
	if (g)
		c->n_generic++;
	return g;
}

/* uthash undoes a failed insertion (HASH_NONFATAL_OOM) and leaves the new element's table NULL. */
static struct generic_count *keep_if_added(struct event_counts *c, struct generic_count *g)
{
	if (g->hh.tbl)
		return g;
	c->n_generic--;
	free(g);
	return NULL;
}

static struct generic_count *find_by_id(struct event_counts *c, uint32_t id)
{
	struct generic_count *g;

	HASH_FIND(hh, c->by_id, &id, sizeof(id), g);
	if (g)
		return g;
	g = new_generic(c);
	if (!g)
		return NULL;
	g->id = id;
	HASH_ADD(hh, c->by_id, id, sizeof(g->id), g);
	return keep_if_added(c, g);
}

static struct generic_count *find_by_name(struct event_counts *c, const uint8_t *name, size_t len)
{
	char key[EVENT_COUNTS_MAX_NAME + 1];
	struct generic_count *g;

	copy_name(key, name, len);
	HASH_FIND_STR(c->by_name, key, g);
	if (g)
		return g;
	g = new_generic(c);
	if (!g)
		return NULL;
	memcpy(g->name, key, sizeof(key));
	HASH_ADD_STR(c->by_name, name, g);
	return keep_if_added(c, g);
}

static void count_generic(struct event_counts *c, struct generic_count *g, uint64_t n)
{
	if (g)
		g->count += n;
	else
		c->unnamed += n;
}

void event_counts_add(struct event_counts *c, uint32_t field, uint64_t n)
{
	c->total += n;
	if (field >= event_names_end()) {
		count_generic(c, find_by_id(c, field), n);
		return;
	}
	if (!c->known)
		c->known = calloc(event_names_end(), sizeof(*c->known));
	if (c->known)
		c->known[field] += n;
	else
		c->unnamed += n;
}

void event_counts_add_named(struct event_counts *c, const uint8_t *name, size_t len)
{
	c->total++;
	count_generic(c, find_by_name(c, name, len), 1);
}

void event_counts_describe(struct event_counts *c, uint32_t field, const uint8_t *group,
			   size_t group_len, const uint8_t *name, size_t name_len)
{
	struct generic_count *g;

	if (field < event_names_end())
		return;
	g = find_by_id(c, field);
	if (!g)
		return;
	copy_name(g->group, group, group_len);
	copy_name(g->name, name, name_len);
}

static void each_known(const struct event_counts *c,
		       void (*fn)(void *ctx, const char *group, const char *name, uint64_t count),
		       void *ctx)
{
	const struct event_name *e;
	char number[16];
	uint32_t i;

	for (i = 0; c->known && i < event_names_end(); i++) {
		if (!c->known[i])
			continue;
		e = event_name_of(i);
		snprintf(number, sizeof(number), "#%u", i);
		fn(ctx, e ? e->group : "", e ? e->name : number, c->known[i]);
	}
}

/* Calls fn for each kind of event in the trace, in no order. The strings are valid during the call.
 * An event without a group has "", one without a name "#NUMBER"; both are "" for c->unnamed. */
static void event_counts_each(const struct event_counts *c,
			      void (*fn)(void *ctx, const char *group, const char *name,
					 uint64_t count),
			      void *ctx)
{
	const struct generic_count *g;
	char number[16];

	each_known(c, fn, ctx);
	for (g = c->by_id; g; g = g->hh.next) {
		if (!g->count)
			continue;
		snprintf(number, sizeof(number), "#%u", g->id);
		fn(ctx, g->group, g->name[0] ? g->name : number, g->count);
	}
	for (g = c->by_name; g; g = g->hh.next)
		fn(ctx, "", g->name, g->count);
	if (c->unnamed)
		fn(ctx, "", "", c->unnamed);
}

/* ---- sums by group ---- */

struct gathering {
	struct group_count *groups; /* owned */
	size_t n;
	size_t cap;
	int error;
};

static void gather(void *ctx, const char *group, const char *name, uint64_t count)
{
	struct gathering *g = ctx;
	size_t i;

	(void)name;
	if (g->error)
		return;
	if (g->n >= EVENT_COUNTS_MAX_GROUPS)
		group = ""; /* the limit keeps this search short */
	/* Known events are sorted by group, so the last group is the likely one. */
	for (i = g->n; i-- > 0;)
		if (!strcmp(g->groups[i].group, group)) {
			g->groups[i].count += count;
			return;
		}
	g->error = array_reserve(&g->groups, &g->cap, g->n + 1, sizeof(*g->groups));
	if (g->error)
		return;
	g->groups[g->n].count = count;
	snprintf(g->groups[g->n].group, sizeof(g->groups->group), "%s", group);
	g->n++;
}

static int larger_first(const void *a, const void *b)
{
	const struct group_count *x = a, *y = b;

	if (x->count != y->count)
		return x->count < y->count ? 1 : -1;
	return strcmp(x->group, y->group);
}

int event_counts_by_group(const struct event_counts *c, struct group_count **ret, size_t *ret_n)
{
	struct gathering g = {0};

	event_counts_each(c, gather, &g);
	if (g.error) {
		free(g.groups);
		return g.error;
	}
	if (g.n)
		qsort(g.groups, g.n, sizeof(*g.groups), larger_first);
	*ret = g.groups;
	*ret_n = g.n;
	return 0;
}

/*
 * plain_events_count() compares the bytes of an event with the plain form, without decoder state
 * and without field lookups. It stops before an event that differs.
 *
 *	12 len | 08 timestamp ... | 10 pid ... | tag len | message |
 *	        ^ body                                     ^ must end where the event ends
 */

#define TAG_EVENT (PB_FTRACE_EVENT_BUNDLE_EVENT << 3 | PB_WIRE_BYTES)
#define TAG_TIMESTAMP (PB_FTRACE_EVENT_TIMESTAMP << 3 | PB_WIRE_VARINT)
#define TAG_PID (PB_FTRACE_EVENT_PID << 3 | PB_WIRE_VARINT)
_Static_assert(TAG_EVENT < 0x80 && TAG_TIMESTAMP < 0x80 && TAG_PID < 0x80, "tags of one byte");

/* Returns the length of the varint at p; 0: more than 8 bytes, or the event ends within 8. */
static inline size_t varint_len(const uint8_t *p, const uint8_t *end)
{
	uint64_t word, last;

	if ((size_t)(end - p) < sizeof(word))
		return 0;
	memcpy(&word, p, sizeof(word)); /* little-endian hosts only, as the ABI */
	last = ~word & 0x8080808080808080;
	return last ? (size_t)__builtin_ctzll(last) / 8 + 1 : 0;
}

static inline bool is_message_of_event(uint64_t tag)
{
	uint64_t field = tag >> 3;

	return (tag & 7) == PB_WIRE_BYTES && field > PB_FTRACE_EVENT_PID &&
	       field != PB_FTRACE_EVENT_COMMON_FLAGS && field != PB_FTRACE_EVENT_GENERIC &&
	       field <= PB_MAX_FIELD_ID;
}

/* Returns the field number of the event with the body [p, end), 0 if the form is another. */
static inline uint32_t event_counts_field_of(const uint8_t *p, const uint8_t *end, uint64_t *ret_ns)
{
	uint64_t tag, size;
	size_t len;

	if (p == end || *p != TAG_TIMESTAMP)
		return 0;
	p = pb_get_varint(p + 1, end, ret_ns);
	if (!p || p == end || *p != TAG_PID)
		return 0;
	len = varint_len(++p, end);
	p = len ? pb_get_varint(p + len, end, &tag) : NULL;
	if (!p || !is_message_of_event(tag))
		return 0;
	p = pb_get_varint(p, end, &size);
	return p && size == (uint64_t)(end - p) ? (uint32_t)(tag >> 3) : 0;
}

static inline void event_counts_count(struct event_counts *c, uint32_t field, uint32_t known)
{
	if (field < known && c->known) {
		c->total++;
		c->known[field]++;
	} else {
		event_counts_add(c, field, 1);
	}
}

const uint8_t *plain_events_count(const uint8_t *p, const uint8_t *end, struct event_counts *counts,
				  uint64_t *ret_first, uint64_t *ret_last)
{
	uint64_t first = UINT64_MAX, last = 0, size, ns;
	uint32_t known = event_names_end(), field;

	while (p != end && *p == TAG_EVENT) {
		const uint8_t *body = pb_get_varint(p + 1, end, &size);

		if (!body || size > (uint64_t)(end - body))
			break;
		field = event_counts_field_of(body, body + size, &ns);
		if (!field)
			break;
		event_counts_count(counts, field, known);
		/* a time of 0 means none: 0 - 1 is larger than any other time - 1 */
		first = ns - 1 < first - 1 ? ns : first;
		last = ns > last ? ns : last;
		p = body + size;
	}
	*ret_first = first == UINT64_MAX ? 0 : first;
	*ret_last = last;
	return p;
}
