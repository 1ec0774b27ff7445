/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The text of printk_formats, of any bytes up to a NUL; then what is behind the NUL, as the
 * arguments of each format in it, and as the print fmt of an event. Every string lies in the table,
 * every text in its room.
 */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/mem.h"
#include "ftrace/encode/bprint.h"
#include "ftrace/format/event_format.h"
#include "ftrace/format/printk_formats.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static size_t name_pointer(void *ctx, uint64_t address, char *to, size_t size)
{
	char text[32];
	int n = snprintf(text, sizeof(text), "#%llx", (unsigned long long)address);
	size_t len = MIN((size_t)n, size);

	(void)ctx;
	memcpy(to, text, len);
	return len;
}

static void format(const struct printk_formats *m, const struct printk_format *e,
		   const uint8_t *args, size_t len)
{
	static const struct {
		unsigned long_size, min_int;
	} kernels[] = {{8, 4}, {8, 1}, {4, 1}};

	for (unsigned i = 0; i < ARRAY_SIZE(kernels); i++) {
		size_t room = 1 + len % 3 * 100;
		struct bprint_args a = {
			.data = args,
			.len = len,
			.long_size = kernels[i].long_size,
			.min_int = kernels[i].min_int,
		};
		char *to = malloc(room);

		assert(bprint_format(m->text + e->at, e->len, &a, name_pointer, NULL, to, room) <=
		       room);
		free(to);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1), *behind;
	size_t text_len, left, most = 0;
	struct printk_formats m;

	memcpy(text, data, size);
	text[size] = '\0';
	text_len = strlen(text);
	behind = text_len < size ? text + text_len + 1 : text + size;
	left = size - (size_t)(behind - text);
	assert(printk_formats_parse(&m, text) == 0);
	for (size_t i = 0; i < m.n && i < 100; i++) {
		const struct printk_format *e = &m.entries[i];
		uint8_t *args = malloc(left ? left : 1); /* its end is theirs, to the byte */

		assert(e->at <= text_len && e->len <= text_len - e->at);
		assert(printk_formats_find(&m, e->addr)->addr == e->addr);
		most = MAX(most, e->len);
		memcpy(args, behind, left);
		format(&m, e, args, left);
		free(args);
	}
	if (m.n <= 100)
		assert(m.max_len == most);
	printk_formats_deinit(&m);
	event_format_prints_symbols(behind, "function");
	event_format_prints_symbols(text, "ip");
	free(text);
	return 0;
}
