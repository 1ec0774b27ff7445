// SPDX-License-Identifier: Apache-2.0
/*
 * The texts are unescaped into one copy of the file (which they never outgrow), the entries sorted
 * once.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "ftrace/string_map.h"

static int by_addr(const void *a, const void *b)
{
	const struct string_map_entry *x = a, *y = b;

	return (x->addr > y->addr) - (x->addr < y->addr);
}

/* Copies up to the closing quote; gives the bytes written, or -1 where the quote is missing. */
static long unescape(const char *from, const char *end, char *to)
{
	static const char codes[] = "nrtabfv", bytes[] = "\n\r\t\a\b\f\v";
	char *start = to;
	const char *code;

	for (; from < end && *from != '"'; from++) {
		if (*from == '\\' && from + 1 < end) {
			code = strchr(codes, *++from);
			*to++ = code && *code ? bytes[code - codes] : *from;
		} else {
			*to++ = *from;
		}
	}
	return from < end ? to - start : -1;
}

int string_map_parse(struct string_map *m, const char *printk_formats)
{
	const char *line, *eol, *quote;
	unsigned long long addr;
	size_t used = 0;
	char *after;
	long len;

	*m = (struct string_map){.text = malloc(strlen(printk_formats) + 1)};
	if (!m->text)
		return -ENOMEM;
	for (line = printk_formats; *line; line = *eol ? eol + 1 : eol) {
		eol = strchrnul(line, '\n');
		addr = strtoull(line, &after, 16);
		if (after == line || strncmp(after, " : \"", 4))
			continue;
		quote = after + 4;
		len = unescape(quote, eol, m->text + used);
		if (len < 0)
			continue;
		if (array_reserve(&m->entries, &m->cap, m->n + 1, sizeof(*m->entries))) {
			string_map_deinit(m);
			return -ENOMEM;
		}
		m->entries[m->n++] = (struct string_map_entry){addr, (uint32_t)used, (uint32_t)len};
		used += (size_t)len;
		m->max_len = MAX(m->max_len, (size_t)len);
	}
	if (m->n)
		qsort(m->entries, m->n, sizeof(*m->entries), by_addr);
	return 0;
}

void string_map_deinit(struct string_map *m)
{
	free(m->entries);
	free(m->text);
	*m = (struct string_map){0};
}

const struct string_map_entry *string_map_find(const struct string_map *m, uint64_t addr)
{
	const struct string_map_entry key = {.addr = addr};

	if (!m->n)
		return NULL;
	return bsearch(&key, m->entries, m->n, sizeof(*m->entries), by_addr);
}
