/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Four functions that libelf.a of elfutils 0.192 (Debian 13) calls but no library there defines.
 * Later versions define them in libelf.a, and the linker takes those. libelf is used by one thread,
 * so the trees need no lock. Source: libelf's calls; struct search_tree begins with the root.
 */
#include <search.h>
#include <stddef.h>

struct search_tree {
	void *root; /* of tsearch(3) */
};

typedef int (*compare_fn)(const void *, const void *);

void *eu_tsearch(const void *key, struct search_tree *tree, compare_fn compare);
void *eu_tdelete(const void *key, struct search_tree *tree, compare_fn compare);
void eu_search_tree_init(struct search_tree *tree);
void eu_search_tree_fini(struct search_tree *tree, void (*free_node)(void *));

void *eu_tsearch(const void *key, struct search_tree *tree, compare_fn compare)
{
	return tsearch(key, &tree->root, compare);
}

void *eu_tdelete(const void *key, struct search_tree *tree, compare_fn compare)
{
	return tdelete(key, &tree->root, compare);
}

void eu_search_tree_init(struct search_tree *tree)
{
	tree->root = NULL;
}

void eu_search_tree_fini(struct search_tree *tree, void (*free_node)(void *))
{
	tdestroy(tree->root, free_node);
	tree->root = NULL;
}
