/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The programs add to a total for as long as it is in their table. It is read again and again, and
 * what it has grown by is written. Totals that have not grown for long are removed from a table
 * that becomes full.
 */
#include <stdlib.h>
#include <string.h>

#include "base/core/mem.h"
#include "stacks/waits/waits_session.h"

#define IDLE_READS 10
#define POSTPONED_MAX 3 /* then the stack is lost */

struct read_ctx {
	struct waits_session *s;
	uint32_t table;
	uint32_t n; /* totals in the table */
};

static struct waits_total *find_or_add(struct waits_session *s, const struct waker_key *key)
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
	struct waker_key copy = {.name = ""};
	const struct wait_sum *now = sum;
	struct waits_total *t;

	memcpy(&copy, key, waits_program_key_size(c->table));
	t = find_or_add(c->s, &copy);
	c->n++;
	if (!t || t->table == WAITS_TABLES)
		return;
	t->idle = now->waits == t->now.waits ? (uint16_t)MIN(t->idle + 1, UINT16_MAX) : 0;
	t->now = *now;
	t->table = c->table;
}

static bool is_total_written(const struct waits_total *t)
{
	return t->now.waits == t->written.waits && t->now.ns == t->written.ns;
}

/* Removes the totals that have not grown for some reads. One that has grown since the last read is
 * kept, with its growth. */
static void remove_idle_totals(struct waits_session *s, uint32_t table)
{
	struct waits_total *t, *next;

	HASH_ITER (hh, s->totals, t, next) {
		struct wait_sum last;

		if (t->table != table || t->idle < IDLE_READS || !is_total_written(t))
			continue;
		if (waits_program_remove_total(s->program, table, &t->key, &last) < 0)
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
	/* The totals of wakers are read first: the others have all of their waits. */
	if (s->program)
		(void)waits_program_flush_totals(s->program);
	for (uint32_t table = WAITS_TABLES; s->program && table-- > 0;) {
		struct read_ctx c = {s, table, 0};

		(void)waits_program_each_total(s->program, table, read_total, &c);
		if (c.n > waits_program_table_max(table) / 4 * 3)
			remove_idle_totals(s, table);
	}
}

/* Returns true if the total can be written: its stacks are known, or have been awaited for long
 * enough, and then count as lost. The record of a stack may come after the total that refers to
 * it. */
static bool check_stacks_are_known(struct waits_session *s, struct waits_total *t)
{
	const struct wait_key *k = &t->key.waits;

	if ((!k->kernel || waits_records_find_stack(s, k->kernel)) &&
	    (!k->user || waits_records_find_stack(s, k->user)))
		return true;
	if (!s->base.is_stopping && t->postponed++ < POSTPONED_MAX)
		return false;
	s->n_stacks_lost++;
	return true;
}

/* ---- waits without a waker's stack ---- */

#define WITHOUT_WAKER_MAX 65536 /* one more removes all */

/* Adds the growth of a total; subtracts it if it is a total of a waker. */
static void add_to_waits_without_waker(struct waits_session *s, const struct wait_key *k,
				       const struct wait_sum *grown)
{
	bool is_of_waker = k->what.flags & WAIT_OF_WAKER;
	struct waits_without_waker *r, key = {.key = {k->tgid, k->tid}};

	HASH_FIND(hh, s->without_waker, &key.key, sizeof(key.key), r);
	if (!r) {
		if (HASH_COUNT(s->without_waker) >= WITHOUT_WAKER_MAX) {
			HASH_FREE(s->without_waker);
			s->without_waker = NULL;
		}
		r = calloc(1, sizeof(*r));
		if (!r)
			return;
		r->key = key.key;
		HASH_ADD(hh, s->without_waker, key, sizeof(r->key), r);
		if (!r->hh.tbl) {
			free(r);
			return;
		}
	}
	r->ns += is_of_waker ? -(int64_t)grown->ns : (int64_t)grown->ns;
	r->waits += is_of_waker ? -(int64_t)grown->waits : (int64_t)grown->waits;
	r->last = MAX(r->last, grown->last);
}

void waits_totals_write_without_waker(struct waits_session *s,
				      void (*write)(struct waits_session *s,
						    const struct waker_key *k,
						    const struct wait_sum *grown))
{
	struct waits_without_waker *r, *next;

	HASH_ITER (hh, s->without_waker, r, next) {
		const struct waker_key key = {.waits = {.tgid = r->key.tgid,
							.tid = r->key.tid,
							.what = {.flags = WAIT_OF_WAKER}}};

		if (r->ns < 0 || r->waits < 0)
			continue;
		if (r->waits)
			write(s, &key,
			      &(struct wait_sum){.ns = (uint64_t)r->ns,
						 .waits = (uint64_t)r->waits,
						 .last = r->last});
		HASH_DEL(s->without_waker, r);
		free(r);
	}
}

void waits_totals_write(struct waits_session *s,
			void (*write)(struct waits_session *s, const struct waker_key *k,
				      const struct wait_sum *grown))
{
	struct waits_total *t, *next;

	HASH_ITER (hh, s->totals, t, next) {
		struct wait_sum grown = t->now;

		if (is_total_written(t) || !check_stacks_are_known(s, t))
			continue;
		grown.ns -= t->written.ns;
		grown.waits -= t->written.waits;
		write(s, &t->key, &grown);
		add_to_waits_without_waker(s, &t->key.waits, &grown);
		t->written = t->now;
		t->postponed = 0;
		if (t->table == WAITS_TABLES) {
			HASH_DEL(s->totals, t);
			free(t);
		}
	}
}
