// SPDX-License-Identifier: Apache-2.0

#include "analyze/sequence_table.h"

#include <stdlib.h>

#define HASH_NONFATAL_OOM 1
#include "base/core/hash_table.h"

struct sequence_node {
	struct sequence s;
	UT_hash_handle hh;
};

void sequence_table_deinit(struct sequence_table *t)
{
	struct sequence_node *n, *next;

	HASH_ITER (hh, t->by_id, n, next) {
		HASH_DEL(t->by_id, n);
		free(n);
	}
	t->left_out = 0;
}

static struct sequence_node *find(struct sequence_table *t, uint32_t id)
{
	struct sequence_node *n;

	HASH_FIND(hh, t->by_id, &id, sizeof(id), n);
	if (n)
		return n;
	if (HASH_COUNT(t->by_id) >= SEQUENCE_TABLE_MAX)
		return NULL;
	n = calloc(1, sizeof(*n));
	if (!n)
		return NULL;
	n->s.id = id;
	HASH_ADD(hh, t->by_id, s.id, sizeof(n->s.id), n);
	if (!n->hh.tbl) { /* out of memory: uthash took it out again */
		free(n);
		return NULL;
	}
	return n;
}

static void count_gap(struct sequence *s, uint32_t dropped)
{
	unsigned i;

	s->gaps++;
	if (dropped == 1 || dropped >> GAP_REASONS)
		s->by_reason[GAP_PRESENT]++;
	for (i = GAP_PRESENT + 1; i < GAP_REASONS; i++)
		s->by_reason[i] += dropped >> i & 1;
}

void sequence_table_packet(struct sequence_table *t, uint32_t id, int32_t pid, uint32_t dropped,
			   bool first)
{
	struct sequence_node *n = find(t, id);

	if (!n) {
		t->left_out++;
		return;
	}
	if (pid)
		n->s.pid = pid;
	if (dropped > 1 || (dropped == 1 && !first && n->s.packets))
		count_gap(&n->s, dropped);
	n->s.packets++;
}

void sequence_table_each(const struct sequence_table *t,
			 void (*fn)(void *ctx, const struct sequence *s), void *ctx)
{
	const struct sequence_node *n;

	for (n = t->by_id; n; n = n->hh.next)
		fn(ctx, &n->s);
}
