/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/import/generic_events.h"

#include <errno.h>
#include <stdlib.h>

#include "base/core/hash_table.h"
#include "base/core/mem.h"
#include "gen/fields.h"

struct generic_number {
	uint64_t key; /* machine << 32 | number */
	uint32_t index; /* in store.generic */
	UT_hash_handle hh;
};

static uint64_t generic_key(const struct machine *m, uint32_t number)
{
	return (uint64_t)m->row << 32 | number;
}

uint32_t generic_find(struct import *im, const struct machine *m, uint32_t number)
{
	uint64_t key = generic_key(m, number);
	struct generic_number *n;

	HASH_FIND(hh, im->generic, &key, sizeof(key), n);
	return n ? n->index : NULL_U32;
}

void generic_add(struct import *im, const struct machine *m, uint32_t number,
		 struct generic_event *g)
{
	struct store *s = im->store;
	struct generic_number *n;

	if (s->n_generic >= GENERIC_KINDS_MAX ||
	    !budget_charge(&s->budget, sizeof(*n) + sizeof(*g)))
		goto drop;
	n = malloc(sizeof(*n));
	if (!n || array_reserve(&s->generic, &s->cap_generic, s->n_generic + 1, sizeof(*g))) {
		free(n);
		goto fail;
	}
	n->key = generic_key(m, number);
	n->index = (uint32_t)s->n_generic;
	HASH_ADD(hh, im->generic, key, sizeof(n->key), n);
	if (!n->hh.tbl) {
		free(n);
		goto fail;
	}
	s->generic[s->n_generic++] = *g;
	return;
fail:
	s->budget.error = -ENOMEM;
drop:
	free(g->fields);
}

/* Each name has a key above all numbers. */
uint32_t generic_get_self_named(struct import *im, const struct machine *m,
				const struct pb_field *event)
{
	struct generic_event g = {.self_named = true};
	struct pb_field name = {0};
	uint32_t number;

	pb_read(event, PB_TO(PB_GENERIC_FTRACE_EVENT_EVENT_NAME, &name));
	g.name = strings_intern(&im->store->strings, name.data, name.len);
	number = 0x80000000u | g.name;
	if (generic_find(im, m, number) == NULL_U32)
		generic_add(im, m, number, &g);
	return generic_find(im, m, number);
}

void generic_deinit(struct import *im)
{
	HASH_FREE(im->generic);
}
