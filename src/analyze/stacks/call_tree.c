/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/stacks/call_tree.h"

#include <string.h>

#include "analyze/store/columns.h"
#include "base/core/hash_table.h"
#include "base/core/mem.h"

#define DEPTH_MAX 2048 /* functions of a stack; the outer ones of a deeper one are left out */

struct call_slot {
	uint64_t key;
	uint32_t node;
	UT_hash_handle hh;
};

bool call_tree_init(struct call_tree *t, const struct code *code, enum tree_shape shape,
		    const bool *wanted)
{
	*t = (struct call_tree){.code = code, .shape = shape, .wanted = wanted};
	if (array_reserve(&t->of, &t->cap, 1, sizeof(*t->of)) < 0)
		return false;
	t->of[0] = (struct call_node){.function = NULL_U32};
	t->n = 1;
	if (shape != TREE_DOWN)
		return true;
	t->node_of =
		calloc((size_t)code->s->tables[TABLE_STACK_CALLSITE].rows + 1, sizeof(*t->node_of));
	return t->node_of;
}

void call_tree_deinit(struct call_tree *t)
{
	free(t->of);
	free(t->node_of);
	HASH_FREE(t->slots);
	*t = (struct call_tree){.code = NULL};
}

/* Returns the child of a node for a function, made at its first use; 0 if out of memory. */
static uint32_t get_child(struct call_tree *t, uint32_t parent, uint32_t function)
{
	uint64_t key = (uint64_t)parent << 32 | function;
	struct call_slot *s;

	HASH_FIND(hh, t->slots, &key, sizeof(key), s);
	if (s)
		return s->node;
	s = calloc(1, sizeof(*s));
	if (!s || array_reserve(&t->of, &t->cap, t->n + 1, sizeof(*t->of)) < 0) {
		free(s);
		return 0;
	}
	s->key = key;
	s->node = t->n;
	HASH_ADD(hh, t->slots, key, sizeof(s->key), s);
	if (!s->hh.tbl) {
		free(s);
		return 0;
	}
	t->of[t->n] = (struct call_node){
		.key = key, .function = function, .parent = parent, .next = t->of[parent].child};
	t->of[parent].child = t->n;
	return t->n++;
}

/* Writes the functions of a stack to path, innermost first. Returns how many there are. */
static uint32_t list_functions(const struct code *c, uint32_t site, uint32_t path[DEPTH_MAX])
{
	const struct table *sites = &c->s->tables[TABLE_STACK_CALLSITE];
	uint32_t n = 0;

	while (site < sites->rows) {
		uint32_t frame = table_u32(sites, STACK_CALLSITE_FRAME, site);

		for (uint32_t i = c->first[frame + 1]; i-- > c->first[frame] && n < DEPTH_MAX;)
			path[n++] = c->chain[i];
		if (n == DEPTH_MAX)
			break;
		site = table_u32(sites, STACK_CALLSITE_PARENT, site);
	}
	return n;
}

static bool call_tree_add_path(struct call_tree *t, uint32_t site, int64_t weight, int64_t n)
{
	uint32_t path[DEPTH_MAX], len = list_functions(t->code, site, path), at = len, node = 0;
	bool is_down = t->shape == TREE_CALLEES;

	if (t->shape == TREE_CALLEES || t->shape == TREE_CALLERS) {
		while (at > 0 && !t->wanted[path[at - 1]])
			at--;
		if (!at)
			return true;
	}
	if (!len)
		return true;
	if (is_down) {
		while (at-- > 0)
			if (!(node = get_child(t, node, path[at])))
				return false;
	} else {
		for (at = t->shape == TREE_UP ? 0 : at - 1; at < len; at++)
			if (!(node = get_child(t, node, path[at])))
				return false;
	}
	t->of[node].self += weight;
	t->of[node].n += n;
	return true;
}

/* Returns the node of a stack in TREE_DOWN; 0: the stack has no function, or if out of memory
 * (*ret_failed). Stacks share their outer call sites, whose nodes are made once. */
static uint32_t find_or_add_node(struct call_tree *t, uint32_t site, bool *ret_failed)
{
	const struct table *sites = &t->code->s->tables[TABLE_STACK_CALLSITE];
	uint32_t missing[DEPTH_MAX], n = 0, node = 0;

	while (site < sites->rows && n < DEPTH_MAX && !(node = t->node_of[site])) {
		missing[n++] = site;
		site = table_u32(sites, STACK_CALLSITE_PARENT, site);
	}
	while (n-- > 0) {
		uint32_t frame = table_u32(sites, STACK_CALLSITE_FRAME, missing[n]);

		for (uint32_t i = t->code->first[frame]; i < t->code->first[frame + 1]; i++) {
			node = get_child(t, node, t->code->chain[i]);
			*ret_failed |= !node;
		}
		t->node_of[missing[n]] = node;
	}
	return node;
}

bool call_tree_add(struct call_tree *t, uint32_t site, int64_t weight, int64_t n)
{
	bool failed = false;

	if (t->shape != TREE_DOWN)
		return call_tree_add_path(t, site, weight, n);
	site = find_or_add_node(t, site, &failed);
	if (site && !failed) {
		t->of[site].self += weight;
		t->of[site].n += n;
	}
	return !failed;
}

struct ranked_node {
	int64_t total;
	uint32_t node;
};

static int compare_node_totals(const void *a, const void *b)
{
	const struct ranked_node *x = a, *y = b;

	if (x->total != y->total)
		return x->total < y->total ? 1 : -1;
	return (x->node > y->node) - (x->node < y->node);
}

bool call_tree_finish(struct call_tree *t)
{
	struct ranked_node *children = malloc(((size_t)t->n + 1) * sizeof(*children));

	if (!children)
		return false;
	for (uint32_t i = t->n; i-- > 0;) { /* a child comes after its parent */
		struct call_node *n = &t->of[i];

		n->total += n->self;
		n->total_n += n->n;
		if (i) {
			t->of[n->parent].total += n->total;
			t->of[n->parent].total_n += n->total_n;
		}
	}
	for (uint32_t i = 0; i < t->n; i++) {
		int64_t begin = t->of[i].begin;
		uint32_t n = 0;

		for (uint32_t c = t->of[i].child; c; c = t->of[c].next)
			children[n++] = (struct ranked_node){t->of[c].total, c};
		qsort(children, n, sizeof(*children), compare_node_totals);
		t->of[i].child = n ? children[0].node : 0;
		for (uint32_t k = 0; k < n; k++) {
			struct call_node *c = &t->of[children[k].node];

			c->next = k + 1 < n ? children[k + 1].node : 0;
			c->begin = begin;
			begin += c->total;
		}
	}
	free(children);
	return true;
}

uint32_t call_tree_next(const struct call_tree *t, uint32_t node)
{
	if (t->of[node].child)
		return t->of[node].child;
	while (node && !t->of[node].next)
		node = t->of[node].parent;
	return node ? t->of[node].next : 0;
}

struct function_sum *call_tree_sums(const struct call_tree *t)
{
	struct function_sum *sums = calloc((size_t)t->code->n + 1, sizeof(*sums));
	_cleanup_(freep) uint32_t *on_way = calloc((size_t)t->code->n + 1, sizeof(*on_way));
	uint32_t node = t->of[0].child;

	if (!sums || !on_way) {
		free(sums);
		return NULL;
	}
	/* on_way: how often a function is between the root and the node. */
	while (node) {
		const struct call_node *n = &t->of[node];
		struct function_sum *sum = &sums[n->function];

		sum->self += n->self;
		sum->n += n->n;
		if (on_way[n->function]++ == 0) {
			sum->total += n->total;
			sum->total_n += n->total_n;
		}
		if (n->child) {
			node = n->child;
			continue;
		}
		while (node && !t->of[node].next) {
			on_way[t->of[node].function]--;
			node = t->of[node].parent;
		}
		if (node) {
			on_way[t->of[node].function]--;
			node = t->of[node].next;
		}
	}
	return sums;
}
