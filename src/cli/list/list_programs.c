/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a program or library offers to probes: 'PROGRAM:PATTERN' lists its functions, or its static
 * probes. An unprivileged process reads it.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/core/mem.h"
#include "base/text/str.h"
#include "cli/list/list.h"
#include "cli/probes/program_place.h"
#include "symbols/program_reader.h"

/* Adds a function with its offset and demangled name, or a static probe "PROVIDER:NAME" with its
 * offset, semaphore and arguments. */
static int put_program_item(void *ctx, const struct program_item *item)
{
	bool is_usdt = item->kind == PROGRAM_USDT;
	struct strbuf name = {0}, title = {0};
	struct list *l = ctx;
	int r;

	strbuf_puts(&name, item->texts[0]);
	if (is_usdt)
		strbuf_printf(&name, ":%s", item->texts[1]);
	str_make_plain(name.s, name.len, "");
	if (item->has_no_code)
		strbuf_puts(&title, "not in the file");
	else
		strbuf_printf(&title, "0x%" PRIx64, item->offset);
	if (item->is_chosen_at_load)
		strbuf_puts(&title, " resolved at load time (IFUNC)");
	if (item->semaphore)
		strbuf_printf(&title, " semaphore 0x%" PRIx64, item->semaphore);
	if (item->texts[is_usdt ? 2 : 1][0]) {
		strbuf_putc(&title, ' ');
		strbuf_put_plain(&title, item->texts[is_usdt ? 2 : 1]);
	}
	r = name.failed || title.failed ? -ENOMEM : 0;
	if (!r)
		list_out_begin_item(&l->out, is_usdt ? "usdt" : "function", name.s, title.s);
	strbuf_deinit(&name);
	strbuf_deinit(&title);
	return r;
}

static int list_program(struct list *l, const char *pattern, bool usdt, struct err_text *e)
{
	size_t len = strcspn(pattern, ":");
	_cleanup_(freep) char *program = strndup(pattern, len);
	const char *names = pattern[len] && pattern[len + 1] ? pattern + len + 1 : "*";
	struct program_reader reader;
	char path[PATH_MAX];
	int r = program ? program_place_find(program, path, e) : -ENOMEM;

	if (!r)
		r = program_reader_start(path, &reader, e);
	if (r)
		return r;
	r = usdt ? program_reader_list_usdt(&reader, names, put_program_item, l, e)
		 : program_reader_list_functions(&reader, names, put_program_item, l, e);
	program_reader_stop(&reader);
	return r;
}

bool list_is_program_pattern(const char *pattern)
{
	return pattern && (strchr(pattern, ':') || strchr(pattern, '/'));
}

int list_program_functions(struct list *l, const char *pattern, struct err_text *e)
{
	return list_program(l, pattern, false, e);
}

int list_usdt(struct list *l, const char *pattern, struct err_text *e)
{
	/* In a list of all kinds, no program is meant. */
	if (l->out.with_kind)
		return 0;
	if (!pattern)
		return err_set(e, -EINVAL,
			       "no program is given; use sonda list usdt PROGRAM[:PATTERN], for "
			       "example postgres or 'libpython3.11.so.1.0:python:gc*'");
	return list_program(l, pattern, true, e);
}
