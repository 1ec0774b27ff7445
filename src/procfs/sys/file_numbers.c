/* SPDX-License-Identifier: Apache-2.0 */
#include "procfs/sys/file_numbers.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>

/* What the next number of the line is called. */
struct name {
	char text[FILE_NUMBER_NAME_SIZE];
	size_t head; /* bytes of the line's own name, "TCP" */
	size_t len; /* of it and of the words behind it; SIZE_MAX: too long */
	unsigned place; /* numbers since the last of those words, and what stands in their place */
};

struct parser {
	counter_number_fn fn;
	void *ctx;
	const char *file;
	struct name name;
	bool any;
};

static bool has_letter(struct span word)
{
	for (size_t i = 0; i < word.len; i++)
		if (isalpha((unsigned char)word.p[i]))
			return true;
	return false;
}

static void add_word(struct name *n, struct span word)
{
	size_t gap = n->len > 0;

	if (n->len >= sizeof(n->text) || word.len >= sizeof(n->text) - n->len - gap) {
		n->len = SIZE_MAX;
		return;
	}
	n->text[n->len] = ' ';
	memcpy(n->text + n->len + gap, word.p, word.len);
	n->len += gap + word.len;
}

/* The words behind the last number begin a name of their own, under the line's. */
static void take_word(struct name *n, struct span word, bool is_first)
{
	bool colon = span_ends(word, ":");

	if (n->place > 0)
		n->len = n->head;
	n->place = 0;
	add_word(n, (struct span){word.p, word.len - colon});
	if (is_first && colon && n->len != SIZE_MAX)
		n->head = n->len;
}

static void give(struct parser *p, const struct name *n, const struct counter_number *v)
{
	char text[FILE_NUMBER_NAME_SIZE + 16];
	int len;

	if (n->len == SIZE_MAX)
		return;
	len = n->len ? snprintf(text, sizeof(text), "%.*s", (int)n->len, n->text)
		     : snprintf(text, sizeof(text), "%.*s", FILE_NUMBER_NAME_SIZE - 1, p->file);
	if (n->place > 1)
		len += snprintf(text + len, sizeof(text) - (size_t)len, " %u", n->place);
	p->any = true;
	p->fn(p->ctx, (struct span){text, (size_t)len}, v);
}

/* "key=value" */
static bool take_pair(struct parser *p, struct span word)
{
	const char *eq = memchr(word.p, '=', word.len);
	struct counter_number v;
	struct name n = p->name;
	struct span key, value;

	if (!eq || eq == word.p)
		return false;
	key = (struct span){word.p, (size_t)(eq - word.p)};
	value = (struct span){eq + 1, word.len - key.len - 1};
	n.place = 0;
	add_word(&n, key);
	if (counter_number_parse(value, &v))
		give(p, &n, &v);
	return true;
}

static void parse_line(struct parser *p, struct span line)
{
	struct counter_number v;
	struct span word;

	p->name.head = p->name.len = p->name.place = 0;
	for (bool first = true; span_next_word(&line, &word); first = false) {
		if (counter_number_parse(word, &v)) {
			p->name.place++;
			give(p, &p->name, &v);
		} else if (memchr(word.p, '\0', word.len)) {
			p->name.place++; /* no text */
		} else if (!take_pair(p, word)) {
			if (has_letter(word) || (first && span_ends(word, ":")))
				take_word(&p->name, word, first);
			else
				p->name.place++;
		}
	}
}

int file_numbers_parse(struct span text, const char *file, counter_number_fn fn, void *ctx)
{
	struct parser p = {.fn = fn, .ctx = ctx, .file = file};
	struct span line;

	while (span_next_line(&text, &line))
		parse_line(&p, line);
	return p.any ? 0 : -EBADMSG;
}
