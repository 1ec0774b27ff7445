/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The text of /proc/kallsyms, of any bytes, cut into pieces of as many bytes as the first one says.
 * However it is cut, the same table comes out; and every address that a line begins with can be
 * looked up, and those beside it.
 */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/mem.h"
#include "symbols/symbol_table.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct symbol_table build(const char *text, size_t len, size_t piece)
{
	struct symbol_table_build *b;

	assert(symbol_table_build_new(&b) == 0);
	for (size_t at = 0, n; at < len; at += n) {
		n = MIN(piece, len - at);
		assert(symbol_table_build_feed(b, text + at, n) == 0);
	}
	while (symbol_table_build_step(b) == 1)
		;
	return symbol_table_build_finish(b);
}

static void check(const struct symbol_table *a, const struct symbol_table *b, uint64_t address)
{
	char x[SYMBOL_TABLE_NAME_MAX], y[SYMBOL_TABLE_NAME_MAX];
	size_t n = symbol_table_find_name(a, address, x), m = symbol_table_find_name(b, address, y);

	assert(n == m && n <= SYMBOL_TABLE_NAME_MAX && !memcmp(x, y, n));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct symbol_table whole, cut;
	char *text;

	if (!size)
		return 0;
	text = malloc(size);
	memcpy(text, data + 1, size - 1);
	text[size - 1] = '\0';
	whole = build(text, size - 1, size);
	cut = build(text, size - 1, data[0] + 1u);
	assert(whole.n_functions == cut.n_functions);
	assert(symbol_table_size(&whole) == symbol_table_size(&cut));
	for (const char *line = text; line; line = strchr(line, '\n')) {
		uint64_t address = strtoull(*line == '\n' ? ++line : line, NULL, 16);

		check(&whole, &cut, address);
		check(&whole, &cut, address - 1);
		check(&whole, &cut, address + 1);
	}
	check(&whole, &cut, 0);
	check(&whole, &cut, UINT64_MAX);
	symbol_table_deinit(&whole);
	symbol_table_deinit(&cut);
	free(text);
	return 0;
}
