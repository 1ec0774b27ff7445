/* SPDX-License-Identifier: Apache-2.0 */
/*
 *	name:7:90: error: no field named "buffer" in TraceConfig; did you mean "buffers"?
 *	    ...ation_ms: 1000 buffer { size_kb: 64 }
 *	                      ^~~~~~
 *
 * What is shown of the line is one stretch of it around the place, made harmless for a terminal:
 * a byte that is not printable stands there as '?'. Tabs stay tabs in both rows, so that the caret
 * is in its column whatever a tab is.
 */
#include "config/text_report.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/core/mem.h"
#include "config/text_lex.h"

#define MESSAGE_MAX_BYTES 400
#define SHOWN_BEFORE 60 /* bytes of the line before the place */
#define SHOWN_AFTER 60 /* and from it on */
#define INDENT "    "

unsigned text_report_line(const struct text_report *r, const char *at)
{
	const char *p = r->text;
	unsigned line = 1;

	while (p < at && (p = memchr(p, '\n', (size_t)(at - p)))) {
		line++;
		p++;
	}
	return line;
}

static const char *line_start(const struct text_report *r, const char *at)
{
	const char *p = at == r->text ? NULL : memrchr(r->text, '\n', (size_t)(at - r->text));

	return p ? p + 1 : r->text;
}

static const char *line_end(const struct text_report *r, const char *at)
{
	const char *end = r->text + r->len;
	const char *p = at == end ? NULL : memchr(at, '\n', (size_t)(end - at));

	if (p)
		end = p;
	return end > at && end[-1] == '\r' ? end - 1 : end;
}

static bool is_continuation(char c)
{
	return (c & 0xc0) == 0x80;
}

/* Writes the stretch first..last of a line, and collects the row that goes below it. */
static void show_stretch(struct strbuf *out, struct strbuf *carets, const char *first,
			 const char *last, const char *at, size_t n)
{
	for (const char *p = first; p < last; p++) {
		size_t width = text_printable_len(p, last);

		if (*p == '\t')
			strbuf_putc(out, '\t');
		else if (width > 0)
			strbuf_add(out, p, width);
		else
			strbuf_putc(out, '?');
		if (p < at)
			strbuf_putc(carets, *p == '\t' ? '\t' : ' ');
		else if (p > at && p < at + n)
			strbuf_putc(carets, '~');
		else if (p == at)
			strbuf_putc(carets, '^');
		p += MAX(width, 1) - 1;
	}
	if (at == last)
		strbuf_putc(carets, '^');
}

static void show_line(struct text_report *r, const char *at, size_t n)
{
	const char *first = line_start(r, at), *last = line_end(r, at);
	bool cut_before = at - first > SHOWN_BEFORE, cut_after = last - at > SHOWN_AFTER;
	struct strbuf carets = {0};

	if (cut_before)
		first = at - SHOWN_BEFORE;
	if (cut_after)
		last = at + SHOWN_AFTER;
	while (cut_before && first < at && is_continuation(*first))
		first++;
	while (cut_after && last > at && is_continuation(*last))
		last--;
	strbuf_puts(r->out, cut_before ? INDENT "..." : INDENT);
	strbuf_puts(&carets, cut_before ? INDENT "   " : INDENT);
	show_stretch(r->out, &carets, first, last, at, n);
	strbuf_puts(r->out, cut_after ? "...\n" : "\n");
	strbuf_puts(&carets, "\n");
	if (carets.failed)
		r->out->failed = true;
	else
		strbuf_add(r->out, carets.s, carets.len);
	strbuf_deinit(&carets);
}

void text_report_at(struct text_report *r, const char *at, size_t n, const char *fmt, ...)
{
	char message[MESSAGE_MAX_BYTES];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(message, sizeof(message), fmt, ap);
	va_end(ap);
	strbuf_printf(r->out, "%s:%u:%zu: error: %s\n", r->name, text_report_line(r, at),
		      (size_t)(at - line_start(r, at)) + 1, message);
	show_line(r, at, n);
	r->n_errors++;
}
