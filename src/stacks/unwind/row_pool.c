/* SPDX-License-Identifier: Apache-2.0 */
#include "stacks/unwind/row_pool.h"

#include <stdlib.h>
#include <string.h>

#include "base/core/mem.h"
#include "base/core/siphash.h"

int row_pool_init(struct row_pool *p, const struct unwind_maps *maps)
{
	p->maps = maps;
	TAILQ_INIT(&p->by_place);
	TAILQ_INIT(&p->by_age);
	p->shares =
		(struct owner_shares){.max_each = ROW_POOL_USER_MAX, .max_all = ROW_POOL_USERS_MAX};
	return rule_pool_init(&p->rules, maps);
}

static void unref_rules(struct row_pool *p, const uint16_t *numbers, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		rule_pool_unref(&p->rules, numbers[i]);
}

static void row_pool_remove(struct row_pool *p, struct row_range *r)
{
	TAILQ_REMOVE(&p->by_place, r, place);
	TAILQ_REMOVE(&p->by_age, r, age);
	owner_shares_remove(&p->shares, r->owner, r->n);
	unref_rules(p, r->rules, r->n_rules);
	p->n_rows -= r->n;
	free(r->rules);
	free(r);
}

void row_pool_deinit(struct row_pool *p)
{
	struct row_range *r;

	while ((r = TAILQ_FIRST(&p->by_place)))
		row_pool_remove(p, r);
	rule_pool_deinit(&p->rules);
	owner_shares_deinit(&p->shares);
}

/* ---- room ---- */

static bool is_in_use(const struct row_pool *p, const struct row_range *r, uint64_t now)
{
	return r->used_ns && now < r->used_ns + p->keep_ns;
}

/* Evicts the range of rows that has not been used for the longest time; if all are in use, the
 * largest one, if it is much larger than n rows. is_owner_full: only a range of `owner`.
 * are_users_full: only one of a user other than root. Returns false if there is none, or if
 * p->evicts is false. */
static bool evict_range(struct row_pool *p, uint32_t owner, uint32_t n, bool is_owner_full,
			bool are_users_full)
{
	struct row_range *r, *found = NULL, *large = NULL;
	uint64_t now = clock_mono_ns();

	if (!p->evicts)
		return false;
	p->refresh(p->ctx);
	TAILQ_FOREACH (r, &p->by_age, age) {
		if ((is_owner_full && r->owner != owner) || (are_users_full && r->owner == 0))
			continue;
		if (is_in_use(p, r, now)) {
			if (r->n / ROW_POOL_LARGE >= n && (!large || r->n > large->n))
				large = r;
			continue;
		}
		if (!found || r->used_ns < found->used_ns)
			found = r;
	}
	found = found ? found : large;
	if (!found)
		return false;
	p->n_evicted++;
	p->evicted(p->ctx, found);
	row_pool_remove(p, found);
	return true;
}

/* Evicts a range to make room for n more of the owner: one of the owner, if its share is full; one
 * of any user but root, if the share of all users is full; else any. Returns false if no range can
 * be evicted, or if the share is too small for n. */
static bool evict_for_share(struct row_pool *p, const struct owner_shares *shares, uint32_t owner,
			    uint32_t n)
{
	bool has_room = owner_shares_have_room(shares, owner, n);
	bool are_users_full = !has_room && shares->total + (uint64_t)n > shares->max_all;

	if (owner != 0 && n > shares->max_each)
		return false;
	return evict_range(p, owner, n, !has_room && !are_users_full, are_users_full);
}

/* Finds a hole of n rows. Returns false if there is none. *ret_before: the range before it; NULL:
 * the hole is at the beginning of the array. */
static bool find_hole(const struct row_pool *p, uint32_t n, struct row_range **ret_before)
{
	struct row_range *r, *before = NULL;
	uint32_t begin = 0;

	TAILQ_FOREACH (r, &p->by_place, place) {
		if (r->first - begin >= n)
			break;
		begin = r->first + r->n;
		before = r;
	}
	*ret_before = before;
	return r || UNWIND_ROWS_MAX - begin >= n;
}

/* ---- rules ---- */

/* References each rule in the pool, and evicts ranges if that needs room. Sets *ret_numbers to
 * their numbers. Returns false, without any reference, if there is no room. */
static bool ref_rules(struct row_pool *p, uint32_t owner, const struct unwind_rule *rules,
		      uint32_t n, uint16_t *ret_numbers)
{
	for (uint32_t i = 0; i < n; i++) {
		do
			ret_numbers[i] = rule_pool_ref(&p->rules, owner, &rules[i]);
		while (!ret_numbers[i] && evict_for_share(p, &p->rules.shares, owner, 1));
		if (!ret_numbers[i]) {
			unref_rules(p, ret_numbers, i);
			return false;
		}
	}
	return true;
}

/* ---- ranges ---- */

static struct row_range *find_equal(const struct row_pool *p, const struct unwind_row *rows,
				    uint32_t n, uint64_t hash)
{
	struct row_range *r;

	TAILQ_FOREACH (r, &p->by_place, place)
		if (r->hash == hash && r->n == n &&
		    memcmp(p->maps->rows + r->first, rows, n * sizeof(*rows)) == 0)
			return r;
	return NULL;
}

/* Marks the rows as used by one more file. If that file is root's, they count towards no user's
 * share from then on. */
static void share_range_with(struct row_pool *p, struct row_range *r, uint32_t owner)
{
	if (owner == 0) {
		owner_shares_remove(&p->shares, r->owner, r->n);
		r->owner = 0;
	}
	TAILQ_REMOVE(&p->by_age, r, age);
	TAILQ_INSERT_TAIL(&p->by_age, r, age);
}

/* Stores the rows in a new range, which takes ownership of the numbers. Evicts others if that needs
 * room. Returns NULL, and takes nothing, if there is no room or memory runs out. */
static struct row_range *row_pool_store(struct row_pool *p, uint32_t owner, uint16_t *numbers,
					uint32_t n_rules, const struct unwind_row *rows, uint32_t n,
					uint64_t hash)
{
	struct row_range *r, *before;

	while (!owner_shares_have_room(&p->shares, owner, n) || !find_hole(p, n, &before))
		if (!evict_for_share(p, &p->shares, owner, n))
			return NULL;
	r = calloc(1, sizeof(*r));
	if (!r || !owner_shares_add(&p->shares, owner, n)) {
		free(r);
		return NULL;
	}
	r->first = before ? before->first + before->n : 0;
	r->n = n;
	r->owner = owner;
	r->rules = numbers;
	r->n_rules = n_rules;
	r->hash = hash;
	if (before)
		TAILQ_INSERT_AFTER(&p->by_place, before, r, place);
	else
		TAILQ_INSERT_HEAD(&p->by_place, r, place);
	TAILQ_INSERT_TAIL(&p->by_age, r, age);
	p->n_rows += n;
	memcpy(p->maps->rows + r->first, rows, n * sizeof(*rows));
	return r;
}

struct row_range *row_pool_add(struct row_pool *p, uint32_t owner, const struct unwind_rule *rules,
			       uint32_t n_rules, struct unwind_row *rows, uint32_t n_rows)
{
	_cleanup_(freep) uint16_t *numbers = calloc(n_rules + 1, sizeof(*numbers));
	struct row_range *r;
	uint64_t hash;

	if (!numbers || n_rows == 0 || !ref_rules(p, owner, rules, n_rules, numbers)) {
		p->n_refused += p->evicts;
		return NULL;
	}
	for (uint32_t i = 0; i < n_rows; i++)
		if (rows[i].rule >= UNWIND_RULES_FIRST)
			rows[i].rule = numbers[rows[i].rule - UNWIND_RULES_FIRST];
	hash = siphash_keyed(rows, n_rows * sizeof(*rows));
	r = find_equal(p, rows, n_rows, hash);
	if (r) {
		unref_rules(p, numbers, n_rules);
		share_range_with(p, r, owner);
		return r;
	}
	r = row_pool_store(p, owner, numbers, n_rules, rows, n_rows, hash);
	if (!r) {
		unref_rules(p, numbers, n_rules);
		p->n_refused += p->evicts;
		return NULL;
	}
	(void)TAKE_PTR(numbers);
	return r;
}
