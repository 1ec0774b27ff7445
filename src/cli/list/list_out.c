/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/list/list_out.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/core/mem.h"
#include "base/system/fs.h"
#include "base/text/str.h"
#include "cli/terminal/console.h"

#define NAME_WIDTH 24
#define KEY_WIDTH 10
#define LINE_WIDTH 100 /* lists and comments are broken there, or where a terminal ends */
#define LINE_WIDTH_MIN 60

/* ---- text ---- */

/* Appends text in lines that begin with the indent; the first line has begun at column `at`. */
static void put_wrapped(struct strbuf *out, const char *text, size_t at, size_t indent)
{
	size_t column = at, width = console_columns(STDOUT_FILENO);

	width = width ? MAX(LINE_WIDTH_MIN, MIN(width, LINE_WIDTH)) : LINE_WIDTH;
	while (*text) {
		size_t word = strcspn(text, " \n");

		if (column > indent && column + 1 + word > width) {
			strbuf_printf(out, "\n%*s", (int)indent, "");
			column = indent;
		} else if (column > at || (column > indent && at > indent)) {
			strbuf_putc(out, ' ');
			column++;
		}
		strbuf_add(out, text, word);
		column += word;
		text += word;
		text += strspn(text, " \n");
	}
	strbuf_putc(out, '\n');
}

/* Appends the name in a column of the width, and at least two blanks. Returns the new column. */
static size_t put_column(struct strbuf *out, const char *name, size_t indent, size_t width)
{
	size_t len = strlen(name), blanks = len + 2 > width ? 2 : width - len;

	strbuf_printf(out, "%*s%s%*s", (int)indent, "", name, (int)blanks, "");
	return indent + len + blanks;
}

static void put_value_key(struct list_out *o, const char *key)
{
	if (o->json) {
		strbuf_putc(&o->text, ',');
		strbuf_put_json(&o->text, key);
		strbuf_putc(&o->text, ':');
	} else {
		put_column(&o->text, key, 4, KEY_WIDTH);
	}
}

/* ---- items ---- */

static void end_list_item(struct list_out *o)
{
	if (o->json && o->n)
		strbuf_putc(&o->text, '}');
}

void list_out_begin_item(struct list_out *o, const char *kind, const char *name, const char *title)
{
	size_t at = 0;

	end_list_item(o);
	if (o->json) {
		strbuf_puts(&o->text, o->n ? ",\n{\"kind\":" : "[{\"kind\":");
		strbuf_put_json(&o->text, kind);
		list_out_add_value(o, "name", name);
		list_out_add_value(o, "title", title);
		o->n++;
		return;
	}
	o->n++;
	if (o->with_kind)
		at = put_column(&o->text, kind, 0, 10);
	if (!title || !*title) {
		strbuf_printf(&o->text, "%s\n", name);
		return;
	}
	at += put_column(&o->text, name, 0, NAME_WIDTH);
	put_wrapped(&o->text, title, at, at);
}

void list_out_add_value(struct list_out *o, const char *key, const char *value)
{
	if (!value || !*value)
		return;
	put_value_key(o, key);
	if (o->json)
		strbuf_put_json(&o->text, value);
	else
		put_wrapped(&o->text, value, 4 + KEY_WIDTH, 4 + KEY_WIDTH);
}

void list_out_add_values(struct list_out *o, const char *key, const char *const *values, size_t n)
{
	struct strbuf line = {0};

	if (!n)
		return;
	put_value_key(o, key);
	for (size_t i = 0; i < n && o->json; i++) {
		strbuf_putc(&o->text, i ? ',' : '[');
		strbuf_put_json(&o->text, values[i]);
	}
	for (size_t i = 0; i < n && !o->json; i++)
		strbuf_printf(&line, "%s%s", i ? ", " : "", values[i]);
	if (o->json)
		strbuf_putc(&o->text, ']');
	else if (line.s)
		put_wrapped(&o->text, line.s, 4 + KEY_WIDTH, 4 + KEY_WIDTH);
	o->text.failed = o->text.failed || line.failed;
	strbuf_deinit(&line);
}

void list_out_add_lines(struct list_out *o, const char *key, const char *const *values, size_t n)
{
	if (o->json)
		list_out_add_values(o, key, values, n);
	for (size_t i = 0; i < n && !o->json; i++)
		list_out_add_value(o, key, values[i]);
}

/* ---- fields ---- */

void list_out_begin_fields(struct list_out *o, const char *key)
{
	o->n_fields = 0;
	if (!o->json)
		return;
	put_value_key(o, key);
	strbuf_putc(&o->text, '[');
}

void list_out_add_field(struct list_out *o, const char *name, const char *type, const char *comment)
{
	size_t at;

	if (!o->json) {
		put_column(&o->text, name, 4, 28);
		if (!comment || !*comment) {
			strbuf_printf(&o->text, "%s\n", type);
			return;
		}
		at = put_column(&o->text, type, 0, 18);
		put_wrapped(&o->text, comment, 4 + 28 + at, 4 + 28 + 18);
		return;
	}
	strbuf_puts(&o->text, o->n_fields++ ? ",{\"name\":" : "{\"name\":");
	strbuf_put_json(&o->text, name);
	strbuf_puts(&o->text, ",\"type\":");
	strbuf_put_json(&o->text, type);
	if (comment && *comment) {
		strbuf_puts(&o->text, ",\"comment\":");
		strbuf_put_json(&o->text, comment);
	}
	strbuf_putc(&o->text, '}');
}

void list_out_end_fields(struct list_out *o)
{
	if (o->json)
		strbuf_putc(&o->text, ']');
}

int list_out_end(struct list_out *o)
{
	int r;

	end_list_item(o);
	if (o->json)
		strbuf_puts(&o->text, o->n ? "]\n" : "[]\n");
	else if (o->text.s)
		str_make_plain(o->text.s, o->text.len, "\n");
	r = o->text.failed ? -ENOMEM : fs_write_all(STDOUT_FILENO, o->text.s, o->text.len);
	strbuf_deinit(&o->text);
	return r;
}
