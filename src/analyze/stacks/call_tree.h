/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "analyze/stacks/code.h"

/*
 * Call stacks with weights, added up by function:
 *
 *	down	from the outermost function to those that it calls
 *	up	from the innermost function to its callers
 *	callees, callers
 *		the same, starting at a function: of stacks that have it, from its outermost call
 *
 * Node 0 is the root, which is not a function.
 */
enum tree_shape { TREE_DOWN, TREE_UP, TREE_CALLEES, TREE_CALLERS };

struct call_node {
	uint64_t key; /* parent and function */
	uint32_t function, parent;
	uint32_t child, next; /* its first child, the next child of its parent; 0: none */
	int64_t self, total; /* weights: of stacks that end here; of these and the children */
	int64_t n, total_n; /* numbers of samples or waits, as self and total */
	int64_t begin; /* of its box in a flame graph: the root's box is from 0 to its total */
};

struct call_tree {
	const struct code *code; /* borrowed */
	enum tree_shape shape;
	const bool *wanted; /* borrowed: of callers and callees, by function */
	struct call_node *of; /* owned */
	uint32_t n;
	size_t cap;
	struct call_slot *slots; /* owned hash: of nodes by key */
	uint32_t *node_of; /* owned; TREE_DOWN: the node of each call site, 0: it has none yet */
};

/* The sums of a function over all stacks. One that is twice in a stack counts once in total. */
struct function_sum {
	int64_t self, total, n, total_n;
};

/* Returns false if out of memory. Deinit in either case. */
bool call_tree_init(struct call_tree *t, const struct code *code, enum tree_shape shape,
		    const bool *wanted);
void call_tree_deinit(struct call_tree *t);
/* Adds a stack, by its innermost call site; NULL_U32: no stack was taken, nothing is added. Returns
 * false if out of memory. */
bool call_tree_add(struct call_tree *t, uint32_t site, int64_t weight, int64_t n);
/* Adds up the totals and sorts the children of each node by them, the largest first. Returns false
 * if out of memory. */
bool call_tree_finish(struct call_tree *t);
/* Returns the node after `node` from the root down, 0 after the last one. */
uint32_t call_tree_next(const struct call_tree *t, uint32_t node);

/* Adds up a finished tree of the shape down by function. The caller frees. NULL: no memory. */
struct function_sum *call_tree_sums(const struct call_tree *t);
