/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What /proc/kallsyms says of an address, in the plainest way: every line is kept, and a look-up
 * walks to the last one at or before it. To compare with. */
struct oracle_symbol {
	uint64_t address;
	size_t line;
	char type;
	char *name;
};

struct oracle_symbols {
	struct oracle_symbol *symbols;
	size_t n;
};

static inline int oracle_symbol_by_address(const void *a, const void *b)
{
	const struct oracle_symbol *x = a, *y = b;

	if (x->address != y->address)
		return x->address > y->address ? 1 : -1;
	return (x->line > y->line) - (x->line < y->line);
}

/* Only what a look-up may stop at: no hidden addresses, no gaps before functions. */
static inline void oracle_symbols_load(struct oracle_symbols *k, const char *path)
{
	FILE *f = fopen(path, "r");
	char line[2048], name[512], type;
	unsigned long long address;
	size_t cap = 0;

	*k = (struct oracle_symbols){0};
	while (f && fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%llx %c %511s", &address, &type, name) != 3 || !address ||
		    name[0] == '$' || !strncmp(name, "__pfx_", 6))
			continue;
		if (k->n == cap) {
			cap = cap ? 2 * cap : 1024;
			k->symbols = realloc(k->symbols, cap * sizeof(*k->symbols));
		}
		k->symbols[k->n] = (struct oracle_symbol){address, k->n, type, strdup(name)};
		k->n++;
	}
	if (f)
		fclose(f);
	if (k->n)
		qsort(k->symbols, k->n, sizeof(*k->symbols), oracle_symbol_by_address);
}

static inline void oracle_symbols_free(struct oracle_symbols *k)
{
	for (size_t i = 0; i < k->n; i++)
		free(k->symbols[i].name);
	free(k->symbols);
	*k = (struct oracle_symbols){0};
}

/* NULL: none. */
static inline const char *oracle_symbols_name(const struct oracle_symbols *k, uint64_t address)
{
	size_t low = 0, high = k->n;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (k->symbols[middle].address <= address)
			low = middle + 1;
		else
			high = middle;
	}
	if (!low)
		return NULL;
	low--;
	while (low && k->symbols[low - 1].address == k->symbols[low].address)
		low--;
	if (!strchr("tTwW", k->symbols[low].type) || !strcmp(k->symbols[low].name, "_etext") ||
	    !strcmp(k->symbols[low].name, "_einittext") ||
	    address - k->symbols[low].address >= 1 << 20)
		return NULL;
	return k->symbols[low].name;
}
