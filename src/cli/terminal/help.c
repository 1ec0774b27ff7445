/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/terminal/help.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/core/mem.h"
#include "cli/terminal/console.h"

#define MIN_COLUMNS 40
#define ROW_INDENT_MAX 8 /* lines that are indented by more continue a description */

/* Returns the column where the description of a line begins: behind the first two or more blanks
 * after its first word, or else where the line begins. */
static size_t description_column(const char *line, size_t len)
{
	size_t indent = strspn(line, " ");

	for (size_t i = indent; i + 2 < len; i++)
		if (line[i] == ' ' && line[i + 1] == ' ')
			return i + strspn(line + i, " ");
	return indent;
}

/* Appends words from column `at` on; after_word: a word precedes that column. Lines that begin here
 * are indented by `indent`. Returns the column after the last word. */
static size_t put_words(struct strbuf *out, const char *s, size_t len, size_t at, bool after_word,
			size_t indent, size_t columns)
{
	const char *end = s + len;

	while (s < end) {
		size_t word = strcspn(s, " \n");

		if (at > indent && at + after_word + word > columns) {
			while (out->len && out->s[out->len - 1] == ' ')
				out->s[--out->len] = '\0';
			strbuf_printf(out, "\n%*s", (int)indent, "");
			at = indent;
		} else if (after_word) {
			strbuf_putc(out, ' ');
			at++;
		}
		strbuf_add(out, s, word);
		at += word;
		after_word = true;
		s += word;
		s += strspn(s, " ");
	}
	return at;
}

void help_wrap(const char *text, size_t columns, struct strbuf *out)
{
	const char *first = text;
	bool has_description = false;
	size_t at = 0, indent = 0, len;

	columns = MAX(columns, (size_t)MIN_COLUMNS);
	for (; *text; text += len + (text[len] == '\n')) {
		bool is_usage = str_starts(text, "usage:");
		size_t begin = strspn(text, " "), column;

		len = strcspn(text, "\n");
		if (has_description && len && (begin == indent || begin > ROW_INDENT_MAX)) {
			at = put_words(out, text + begin, len - begin, at, true,
				       MIN(indent, columns / 2), columns);
			continue;
		}
		column = description_column(text, len);
		has_description = len && !is_usage && (column > begin || !begin);
		indent = is_usage ? strlen("usage: ") : column;
		if (text != first)
			strbuf_putc(out, '\n');
		strbuf_add(out, text, column);
		at = put_words(out, text + column, len - column, column, false,
			       MIN(indent, columns / 2), columns);
	}
	strbuf_putc(out, '\n');
}

static size_t widest_line(const char *text)
{
	size_t widest = 0, len;

	for (; *text; text += len + (text[len] == '\n')) {
		len = strcspn(text, "\n");
		widest = MAX(widest, len);
	}
	return widest;
}

void help_print(const char *text)
{
	size_t columns = console_columns(STDOUT_FILENO);
	struct strbuf wrapped = {0};

	if (columns && columns < widest_line(text))
		help_wrap(text, columns, &wrapped);
	fputs(wrapped.s && !wrapped.failed ? wrapped.s : text, stdout);
	strbuf_deinit(&wrapped);
}
