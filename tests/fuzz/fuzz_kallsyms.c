// SPDX-License-Identifier: Apache-2.0
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
#include "ftrace/symbols/ksyms_build.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct ksyms build(const char *text, size_t len, size_t piece)
{
	struct ksyms_build *b;

	assert(ksyms_build_new(&b) == 0);
	for (size_t at = 0, n; at < len; at += n) {
		n = MIN(piece, len - at);
		assert(ksyms_build_feed(b, text + at, n) == 0);
	}
	while (ksyms_build_step(b) == 1)
		;
	return ksyms_build_take(b);
}

static void check(const struct ksyms *a, const struct ksyms *b, uint64_t address)
{
	char x[KSYMS_NAME_MAX], y[KSYMS_NAME_MAX];
	size_t n = ksyms_name(a, address, x), m = ksyms_name(b, address, y);

	assert(n == m && n <= KSYMS_NAME_MAX && !memcmp(x, y, n));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct ksyms whole, cut;
	char *text;

	if (!size)
		return 0;
	text = malloc(size);
	memcpy(text, data + 1, size - 1);
	text[size - 1] = '\0';
	whole = build(text, size - 1, size);
	cut = build(text, size - 1, data[0] + 1u);
	assert(whole.n_functions == cut.n_functions);
	assert(ksyms_size(&whole) == ksyms_size(&cut));
	for (const char *line = text; line; line = strchr(line, '\n')) {
		uint64_t address = strtoull(*line == '\n' ? ++line : line, NULL, 16);

		check(&whole, &cut, address);
		check(&whole, &cut, address - 1);
		check(&whole, &cut, address + 1);
	}
	check(&whole, &cut, 0);
	check(&whole, &cut, UINT64_MAX);
	ksyms_deinit(&whole);
	ksyms_deinit(&cut);
	free(text);
	return 0;
}
