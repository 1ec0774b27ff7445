/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/mcp/answer_pages.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/mem.h"
#include "base/text/number_read.h"

/* Room for the line with the handle at the end of a page. */
#define HANDLE_TOKENS 60

/* Returns the tokens of a text in sixths. */
static size_t count_token_sixths(const char *text)
{
	size_t n = 0;

	for (; *text; text++) {
		unsigned char c = (unsigned char)*text;

		n += isdigit(c) ? 3 : isalpha(c) || c == ' ' ? 2 : 6;
	}
	return n;
}

size_t tokens_estimate(const char *text)
{
	return (count_token_sixths(text) + 5) / 6;
}

/* ---- one answer ---- */

void answer_deinit(struct answer *a)
{
	for (size_t i = 0; i < a->n; i++)
		free(a->lines[i]);
	free(a->lines);
	free(a->heads);
	*a = (struct answer){0};
}

void answer_add(struct answer *a, const char *line)
{
	size_t len = strlen(line);
	struct strbuf b = {0};

	if (a->failed || a->cut)
		return;
	if (a->bytes + MIN(len, ANSWER_LINE_MAX) > ANSWER_BYTES_MAX) {
		a->cut = true;
		return;
	}
	if (len > ANSWER_LINE_MAX) {
		size_t end = ANSWER_LINE_MAX;

		while (end && ((unsigned char)line[end] & 0xc0) == 0x80)
			end--;
		strbuf_add(&b, line, end);
		strbuf_printf(&b, " ... (truncated; the line has %zu bytes)", len);
	} else {
		strbuf_puts(&b, line);
	}
	if (b.s)
		str_make_plain(b.s, b.len, "");
	if (b.failed || !b.s || array_reserve(&a->lines, &a->cap, a->n + 1, sizeof(*a->lines)) ||
	    array_reserve(&a->heads, &a->heads_cap, a->n + 1, sizeof(*a->heads))) {
		a->failed = true;
		strbuf_deinit(&b);
		return;
	}
	a->heads[a->n] = a->head;
	a->bytes += b.len;
	a->lines[a->n++] = strbuf_take(&b);
}

void answer_printf(struct answer *a, const char *fmt, ...)
{
	char *line;
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vasprintf(&line, fmt, ap);
	va_end(ap);
	if (n < 0) {
		a->failed = true;
		return;
	}
	answer_add(a, line);
	free(line);
}

void answer_add_head(struct answer *a, const char *line)
{
	a->head = 0;
	answer_add(a, line);
	a->head = a->n;
}

void answer_end_rows(struct answer *a)
{
	a->head = 0;
}

/* ---- pages ---- */

/* Appends the lines from `from` on that fit into a page. */
static void put_page(const struct answer *a, size_t from, struct strbuf *ret)
{
	size_t room = (size_t)(ANSWER_TOKENS_MAX - HANDLE_TOKENS) * 6, i = from;
	size_t head = from < a->n ? a->heads[from] : 0;

	if (head && from) {
		strbuf_printf(ret, "%s\n", a->lines[head - 1]);
		room -= MIN(room, count_token_sixths(a->lines[head - 1]) + 6);
	}
	for (; i < a->n; i++) {
		size_t need = count_token_sixths(a->lines[i]) + 6;

		if (need > room && i > from)
			break;
		room -= MIN(room, need);
		strbuf_printf(ret, "%s\n", a->lines[i]);
	}
	if (i < a->n)
		strbuf_printf(ret, "%zu of %zu lines are left; call more with handle \"%u.%zu\"\n",
			      a->n - i, a->n, a->id, i);
	else if (a->cut)
		strbuf_puts(ret, "the answer was too long and is truncated here; request less\n");
}

void answers_deinit(struct answers *a)
{
	for (size_t i = 0; i < ANSWERS_KEPT; i++)
		answer_deinit(&a->of[i]);
}

void answers_add(struct answers *a, struct answer *answer, struct strbuf *ret_page)
{
	struct answer *place = &a->of[++a->last_id % ANSWERS_KEPT];

	answer_deinit(place);
	*place = *answer;
	*answer = (struct answer){0};
	place->id = a->last_id;
	put_page(place, 0, ret_page);
	if (place->failed)
		ret_page->failed = true;
}

int answers_put_more(const struct answers *a, const char *handle, struct strbuf *ret_page,
		     struct err_text *e)
{
	const struct answer *of;
	const char *at = handle;
	uint64_t id, line;

	if (!isdigit((unsigned char)*at) || str_read_u64(&at, 10, &id) || *at++ != '.' ||
	    !isdigit((unsigned char)*at) || str_read_u64(&at, 10, &line) || *at)
		return err_set(e, -ENOENT, "'%.40s' is not a handle from an earlier answer",
			       handle);
	of = &a->of[id % ANSWERS_KEPT];
	if (!id || of->id != id || line >= of->n)
		return err_set(e, -ENOENT,
			       "the answer with the handle '%.40s' has expired; repeat the call",
			       handle);
	put_page(of, line, ret_page);
	return 0;
}
