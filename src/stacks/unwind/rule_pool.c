/* SPDX-License-Identifier: Apache-2.0 */
#include "stacks/unwind/rule_pool.h"

#include <errno.h>

#include "base/core/hash_table.h"
#include "base/core/mem.h"

struct pooled_rule {
	struct unwind_rule rule; /* key; it has no padding */
	uint32_t n_users;
	uint32_t owner; /* of the file that added it */
	uint16_t number;
	UT_hash_handle hh;
};

int rule_pool_init(struct rule_pool *p, const struct unwind_maps *maps)
{
	*p = (struct rule_pool){
		.maps = maps,
		.by_number = calloc(UNWIND_RULES_MAX, sizeof(*p->by_number)),
		.free = calloc(UNWIND_RULES_MAX, sizeof(*p->free)),
		.shares = {.max_each = RULE_POOL_USER_MAX, .max_all = RULE_POOL_USERS_MAX},
	};
	if (!p->by_number || !p->free) {
		rule_pool_deinit(p);
		return -ENOMEM;
	}
	for (uint32_t number = UNWIND_RULES_MAX - 1; number >= UNWIND_RULES_FIRST; number--)
		p->free[p->n_free++] = (uint16_t)number;
	return 0;
}

void rule_pool_deinit(struct rule_pool *p)
{
	HASH_FREE(p->all);
	freep(&p->by_number);
	freep(&p->free);
	owner_shares_deinit(&p->shares);
}

uint32_t rule_pool_size(const struct rule_pool *p)
{
	return HASH_COUNT(p->all);
}

/* Adds a rule without users. NULL: the table or the owner's share is full, or there is no
 * memory. */
static struct pooled_rule *rule_pool_add(struct rule_pool *p, uint32_t owner,
					 const struct unwind_rule *rule)
{
	struct pooled_rule *r = p->n_free ? calloc(1, sizeof(*r)) : NULL;

	if (!r)
		return NULL;
	r->rule = *rule;
	r->owner = owner;
	r->number = p->free[p->n_free - 1];
	if (!owner_shares_add(&p->shares, owner, 1)) {
		free(r);
		return NULL;
	}
	HASH_ADD(hh, p->all, rule, sizeof(*rule), r);
	if (!r->hh.tbl || unwind_maps_set_rule(p->maps, r->number, rule) < 0) {
		if (r->hh.tbl)
			HASH_DEL(p->all, r);
		owner_shares_remove(&p->shares, owner, 1);
		free(r);
		return NULL;
	}
	p->n_free--;
	p->by_number[r->number] = r;
	return r;
}

uint16_t rule_pool_ref(struct rule_pool *p, uint32_t owner, const struct unwind_rule *rule)
{
	struct pooled_rule *r;

	HASH_FIND(hh, p->all, rule, sizeof(*rule), r);
	if (!r)
		r = rule_pool_add(p, owner, rule);
	if (!r)
		return 0;
	r->n_users++;
	return r->number;
}

void rule_pool_unref(struct rule_pool *p, uint16_t number)
{
	struct pooled_rule *r = p->by_number[number];

	if (--r->n_users)
		return;
	HASH_DEL(p->all, r);
	p->by_number[number] = NULL;
	p->free[p->n_free++] = number;
	owner_shares_remove(&p->shares, r->owner, 1);
	free(r);
}
