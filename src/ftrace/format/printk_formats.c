/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All texts are unescaped into one buffer of the file's size, because unescaping never makes a text
 * longer. The entries are sorted once.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/mem.h"
#include "base/system/fs.h"
#include "base/text/number_read.h"
#include "ftrace/format/printk_formats.h"

#define FILE_MAX (1u << 24) /* bytes of printk_formats */

static int compare_by_address(const void *a, const void *b)
{
	const struct printk_format *x = a, *y = b;

	return (x->addr > y->addr) - (x->addr < y->addr);
}

/* Reverts the escapes of the kernel (t_show in kernel/trace/trace_printk.c): newline, tab and
 * quote are escaped, a backslash is not. So a backslash before another character is literal.
 * Returns the bytes written. */
static size_t unescape_format(const char *from, const char *end, char *to)
{
	static const char codes[] = "nt\"", bytes[] = "\n\t\"";
	char *start = to;
	const char *code;

	for (; from < end; from++) {
		code = *from == '\\' && from + 1 < end ? strchr(codes, from[1]) : NULL;
		if (code && *code) {
			*to++ = bytes[code - codes];
			from++;
		} else {
			*to++ = *from;
		}
	}
	return (size_t)(to - start);
}

/* Finds the address of a line, and the text between its first and last quote. Returns false if the
 * line has another form. */
static bool parse_printk_line(const char *line, const char *eol, uint64_t *ret_addr,
			      const char **ret_begin, const char **ret_end)
{
	const char *after = line;

	if (str_read_u64(&after, 16, ret_addr) == -EINVAL || after > eol || eol - after < 5 ||
	    strncmp(after, " : \"", 4) || eol[-1] != '"')
		return false;
	*ret_begin = after + 4;
	*ret_end = eol - 1;
	return true;
}

static int printk_formats_add(struct printk_formats *m, const struct printk_format *e)
{
	if (array_reserve(&m->entries, &m->cap, m->n + 1, sizeof(*m->entries)))
		return -ENOMEM;
	m->entries[m->n++] = *e;
	m->max_len = MAX(m->max_len, (size_t)e->len);
	return 0;
}

int printk_formats_parse(struct printk_formats *m, const char *printk_formats)
{
	const char *line, *eol, *begin, *end;
	struct printk_format e;
	uint32_t used = 0;

	*m = (struct printk_formats){.text = malloc(strlen(printk_formats) + 1)};
	if (!m->text)
		return -ENOMEM;
	for (line = printk_formats; *line; line = *eol ? eol + 1 : eol) {
		eol = strchrnul(line, '\n');
		if (!parse_printk_line(line, eol, &e.addr, &begin, &end))
			continue;
		e.at = used;
		e.len = (uint32_t)unescape_format(begin, end, m->text + used);
		used += e.len;
		if (printk_formats_add(m, &e)) {
			printk_formats_deinit(m);
			return -ENOMEM;
		}
	}
	if (m->n)
		qsort(m->entries, m->n, sizeof(*m->entries), compare_by_address);
	return 0;
}

int printk_formats_read(struct printk_formats *m, const char *tracefs_root)
{
	struct strbuf b = {0};
	char path[4096];
	int r = 0;

	*m = (struct printk_formats){0};
	snprintf(path, sizeof(path), "%s/printk_formats", tracefs_root);
	if (!fs_read_file(path, FILE_MAX, &b) && b.s)
		r = printk_formats_parse(m, b.s);
	strbuf_deinit(&b);
	return r;
}

void printk_formats_deinit(struct printk_formats *m)
{
	free(m->entries);
	free(m->text);
	*m = (struct printk_formats){0};
}

const struct printk_format *printk_formats_find(const struct printk_formats *m, uint64_t addr)
{
	const struct printk_format key = {.addr = addr};

	if (!m->n)
		return NULL;
	return bsearch(&key, m->entries, m->n, sizeof(*m->entries), compare_by_address);
}
