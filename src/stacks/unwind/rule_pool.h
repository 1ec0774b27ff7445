/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "stacks/unwind/owner_shares.h"
#include "stacks/unwind/unwind_maps.h"

struct pooled_rule;

/* The rules of all files: each different rule once, with a number, while ranges of rows refer to
 * it. */
#define RULE_POOL_USER_MAX (UNWIND_RULES_MAX / 8) /* new rules by files of one user */
#define RULE_POOL_USERS_MAX (UNWIND_RULES_MAX / 2) /* by files of all users but root */

struct rule_pool {
	const struct unwind_maps *maps; /* borrowed */
	struct pooled_rule *all; /* owned; by rule */
	struct pooled_rule **by_number; /* owned: UNWIND_RULES_MAX */
	uint16_t *free; /* owned: numbers that are free; the last one is used next */
	uint32_t n_free;
	struct owner_shares shares;
};

/* Allocates the pool. maps is borrowed until deinit. Returns 0 or -ENOMEM. */
int rule_pool_init(struct rule_pool *p, const struct unwind_maps *maps);
void rule_pool_deinit(struct rule_pool *p);

/* Returns the number of the rule, which then has one more user. 0: the table or the owner's share
 * of it is full. */
uint16_t rule_pool_ref(struct rule_pool *p, uint32_t owner, const struct unwind_rule *rule);
/* Takes one user off the rule; after the last one its number is free. */
void rule_pool_unref(struct rule_pool *p, uint16_t number);
uint32_t rule_pool_size(const struct rule_pool *p);
