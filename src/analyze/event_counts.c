/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/event_counts.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/packets.h"
#include "base/core/hash_table.h"
#include "base/core/mem.h"
#include "gen/fields.h"
#include "wire/pb_read.h"

/* tools/ftrace_names.awk generates the table from protos/trace/ftrace. */

static const struct event_name names[] = {
#include "gen/ftrace_names.h"
};

const struct event_name *event_message_name(uint32_t field)
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
 * Counting is the only work per event: a known event is an index into an array, and groups are
 * looked up only at the end. Numbers above the array are rare enough for a hash.
 *
 *	field number --+-- < event_names_end()  known[number]
 *	               +-- else                 by_id {number -> group, count}
 *
 * A trace is untrusted: names are cut, and the number of kinds is limited.
 */

struct generic_count {
	uint32_t id;
	char group[EVENT_COUNTS_MAX_NAME + 1];
	uint64_t count;
	UT_hash_handle hh;
};

void event_counts_deinit(struct event_counts *c)
{
	HASH_FREE(c->by_id);
	free(c->known);
	*c = (struct event_counts){0};
}

/* Returns the count of a number, created if needed; NULL past the limit, or when out of memory. */
static struct generic_count *get_generic_count(struct event_counts *c, uint32_t id)
{
	struct generic_count *g;

	HASH_FIND(hh, c->by_id, &id, sizeof(id), g);
	if (g || HASH_COUNT(c->by_id) >= EVENT_COUNTS_MAX_GENERIC)
		return g;
	g = calloc(1, sizeof(*g));
	if (!g)
		return NULL;
	g->id = id;
	HASH_ADD(hh, c->by_id, id, sizeof(g->id), g);
	if (g->hh.tbl)
		return g;
	free(g); /* out of memory: uthash has removed it again */
	return NULL;
}

void event_counts_add(struct event_counts *c, uint32_t field, uint64_t n)
{
	struct generic_count *g;

	c->total += n;
	if (field >= event_names_end()) {
		g = get_generic_count(c, field);
		*(g ? &g->count : &c->unnamed) += n;
		return;
	}
	if (!c->known) {
		c->known = calloc(event_names_end(), sizeof(*c->known));
		c->n_known = c->known ? event_names_end() : 0;
	}
	*(c->known ? &c->known[field] : &c->unnamed) += n;
}

void event_counts_set_group(struct event_counts *c, uint32_t field, const struct pb_field *group)
{
	struct generic_count *g = field < event_names_end() ? NULL : get_generic_count(c, field);

	if (g)
		packet_copy_text(group, g->group, sizeof(g->group));
}

/* ---- sums by group ---- */

struct gathering {
	struct group_count *groups; /* owned */
	size_t n;
	size_t cap;
	int error;
};

static void gather_group_count(struct gathering *g, const char *group, uint64_t count)
{
	size_t i;

	if (g->error || !count)
		return;
	if (g->n >= EVENT_COUNTS_MAX_GROUPS)
		group = ""; /* the limit keeps the search below short */
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

static int compare_group_counts(const void *a, const void *b)
{
	const struct group_count *x = a, *y = b;

	if (x->count != y->count)
		return x->count < y->count ? 1 : -1;
	return strcmp(x->group, y->group);
}

int event_counts_by_group(const struct event_counts *c, struct group_count **ret, size_t *ret_n)
{
	struct gathering g = {0};

	for (uint32_t i = 0; i < c->n_known; i++)
		gather_group_count(&g, event_message_name(i) ? event_message_name(i)->group : "",
				   c->known[i]);
	for (const struct generic_count *e = c->by_id; e; e = e->hh.next)
		gather_group_count(&g, e->group, e->count);
	gather_group_count(&g, "", c->unnamed);
	if (g.error) {
		free(g.groups);
		return g.error;
	}
	if (g.n)
		qsort(g.groups, g.n, sizeof(*g.groups), compare_group_counts);
	*ret = g.groups;
	*ret_n = g.n;
	return 0;
}
