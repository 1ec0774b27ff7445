/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/core/hash_table.h"

/* The memory that one import may use. */
struct budget {
	uint64_t used, limit; /* bytes */
	int error; /* 0, -ENOMEM, or -EFBIG: over the limit */
};

/* Takes bytes out of the budget. Returns false if the budget has an error already, or if too little
 * is left: then the error is -EFBIG. */
bool budget_charge(struct budget *b, uint64_t bytes);

/* Sets the error -ENOMEM, unless there is one. */
void budget_fail(struct budget *b);

/* Allocates memory that is set to 0. Returns NULL, and sets the error, if out of memory. */
void *budget_alloc(struct budget *b, size_t size);

/* Adds a node to a hash of uthash by its member `key`. The node has a hash handle hh; NULL is
 * allowed. The result is the node. If out of memory, frees the node and sets the error; the result
 * is NULL. */
#define BUDGET_HASH_ADD(budget, head, key, node)                                                   \
	({                                                                                         \
		typeof(node) node_ = (node);                                                       \
                                                                                                   \
		if (node_) {                                                                       \
			HASH_ADD(hh, head, key, sizeof(node_->key), node_);                        \
			if (!node_->hh.tbl) {                                                      \
				free(node_);                                                       \
				node_ = NULL;                                                      \
				budget_fail(budget);                                               \
			}                                                                          \
		}                                                                                  \
		node_;                                                                             \
	})
