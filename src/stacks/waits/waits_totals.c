/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The programs add to a total for as long as it is in their table. It is read again and again, and
 * what it has grown by is written. Totals that have not grown for long are removed from a table that
 * becomes full.
 */
#include <stdlib.h>

#include "base/core/mem.h"
#include "stacks/waits/waits_session.h"

#define IDLE_READS 10
#define POSTPONED_MAX 3 /* then the stack is lost */

struct read_ctx {
	struct waits_session *s;
	uint32_t table;
	uint32_t n; /* totals in the table */
};

static struct waits_total *find_or_add(struct waits_session *s, const struct wait_key *key)
{
	struct waits_total *t;

	HASH_FIND(hh, s->totals, key, sizeof(*key), t);
	if (t)
		return t;
	t = calloc(1, sizeof(*t));
	if (!t)
		return NULL;
	t->key = *key;
	HASH_ADD(hh, s->totals, key, sizeof(t->key), t);
	if (!t->hh.tbl)
		free(TAKE_PTR(t));
	return t;
}

static void read_total(void *ctx, const void *key, const void *sum)
{
	struct read_ctx *c = ctx;
	struct waits_total *t = find_or_add(c->s, key);
	const struct wait_sum *now = sum;

	c->n++;
	if (!t || t->table == WAITS_TABLES)
		return;
	t->idle = now->waits == t->now.waits ? (uint16_t)MIN(t->idle + 1, UINT16_MAX) : 0;
	t->now = *now;
	t->table = c->table;
}

static bool is_written(const struct waits_total *t)
{
	return t->now.waits == t->written.waits && t->now.ns == t->written.ns;
}

/* A total that has grown since the read is kept, with its growth. */
static void remove_idle(struct waits_session *s, uint32_t table)
{
	struct waits_total *t, *next;

	HASH_ITER (hh, s->totals, t, next) {
		struct wait_sum last;

		if (t->table != table || t->idle < IDLE_READS || !is_written(t))
			continue;
		if (waits_program_take_total(s->program, table, &t->key, &last) < 0)
			continue;
		if (last.waits != t->written.waits) {
			last.ns -= t->written.ns;
			last.waits -= t->written.waits;
			t->now = last;
			t->written = (struct wait_sum){0};
			t->table = WAITS_TABLES; /* removed when it is written */
			continue;
		}
		HASH_DEL(s->totals, t);
		free(t);
	}
}

void waits_totals_read(struct waits_session *s)
{
	for (uint32_t table = 0; s->program && table < WAITS_TABLES; table++) {
		struct read_ctx c = {s, table, 0};

		(void)waits_program_each_total(s->program, table, read_total, &c);
		if (c.n > WAITS_TOTALS_MAX / 4 * 3)
			remove_idle(s, table);
	}
}

/* The record of a stack may come after the total that refers to it. */
static bool is_ready(struct waits_session *s, struct waits_total *t)
{
	if ((!t->key.kernel || waits_records_find(s, t->key.kernel)) &&
	    (!t->key.user || waits_records_find(s, t->key.user)))
		return true;
	if (!s->base.is_stopping && t->postponed++ < POSTPONED_MAX)
		return false;
	s->n_stacks_lost++;
	return true;
}

void waits_totals_write(struct waits_session *s,
			void (*write)(struct waits_session *s, const struct wait_key *k,
				      const struct wait_sum *grown))
{
	struct waits_total *t, *next;

	HASH_ITER (hh, s->totals, t, next) {
		struct wait_sum grown = t->now;

		if (is_written(t) || !is_ready(s, t))
			continue;
		grown.ns -= t->written.ns;
		grown.waits -= t->written.waits;
		write(s, &t->key, &grown);
		t->written = t->now;
		t->postponed = 0;
		if (t->table == WAITS_TABLES) {
			HASH_DEL(s->totals, t);
			free(t);
		}
	}
}
