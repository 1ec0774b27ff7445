/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/probes/probe_lines.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/mem.h"

int probe_lines_add(struct user_probes *u, struct strbuf *b)
{
	if (b->failed || array_reserve(&u->lines, &u->cap, u->n + 1, sizeof(*u->lines)) < 0)
		return -ENOMEM;
	u->lines[u->n] = strbuf_take(b);
	return u->lines[u->n] ? (u->n++, 0) : -ENOMEM;
}

void probe_lines_put_identifier(struct strbuf *b, const char *text, size_t len, size_t max)
{
	bool is_gap = false;
	size_t begin = b->len;

	for (size_t i = 0; i < len && b->len - begin < max; i++) {
		bool is_letter = isalnum((unsigned char)text[i]) || text[i] == '_';

		if (!is_letter) {
			is_gap = b->len > begin;
			continue;
		}
		if (b->len == begin && isdigit((unsigned char)text[i]))
			strbuf_putc(b, '_');
		if (is_gap)
			strbuf_putc(b, '_');
		strbuf_putc(b, text[i]);
		is_gap = false;
	}
	if (b->len == begin)
		strbuf_putc(b, '_');
}

bool probe_lines_is_line(const char *text)
{
	size_t digits;

	if (*text != 'p' && *text != 'r' && *text != 's')
		return false;
	digits = *text == 's' ? 0 : strspn(text + 1, "0123456789");
	return text[1 + digits] == ':' || text[1 + digits] == ' ';
}

const char *probe_lines_find_place(const char *text, size_t *ret_len)
{
	const char *place = text + strcspn(text, " ");

	place += strspn(place, " ");
	*ret_len = strcspn(place, " ");
	return place;
}

bool probe_lines_names_function(const char *text)
{
	const char *place, *colon;
	size_t len;

	if (!probe_lines_is_line(text))
		return false;
	place = probe_lines_find_place(text, &len);
	colon = memrchr(place, ':', len);
	return colon && colon > place && colon + 1 < place + len &&
	       !isdigit((unsigned char)colon[1]);
}

void user_probes_deinit(struct user_probes *u)
{
	for (size_t i = 0; i < u->n; i++)
		free(u->lines[i]);
	free(u->lines);
	*u = (struct user_probes){0};
}
