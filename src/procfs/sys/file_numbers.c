/* SPDX-License-Identifier: Apache-2.0 */
#include "procfs/sys/file_numbers.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

/* The name of the next number of the line. */
struct number_name {
	char text[FILE_NUMBER_NAME_SIZE];
	size_t head; /* length of the name of the line, "TCP" */
	size_t len; /* length including the words after it; SIZE_MAX: too long */
	unsigned position; /* positions since the last of those words */
};

struct file_numbers {
	counter_number_fn fn;
	void *ctx;
	const char *file;
	struct number_name name;
	bool any;
};

static bool has_letter(struct span word)
{
	for (size_t i = 0; i < word.len; i++)
		if (isalpha((unsigned char)word.p[i]))
			return true;
	return false;
}

static void number_name_append(struct number_name *n, struct span word)
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

/* Appends the word to the name. The first word after a number starts a new name, which begins with
 * that of the line. is_first: the word is the first of its line; if it ends with a colon, it is the
 * name of the line. */
static void file_numbers_extend_name(struct number_name *n, struct span word, bool is_first)
{
	bool colon = span_ends(word, ":");

	if (n->position > 0)
		n->len = n->head;
	n->position = 0;
	number_name_append(n, (struct span){word.p, word.len - colon});
	if (is_first && colon && n->len != SIZE_MAX)
		n->head = n->len;
}

static void file_numbers_report(struct file_numbers *p, const struct number_name *n,
				const struct counter_number *v)
{
	char text[FILE_NUMBER_NAME_SIZE + 16];
	int len;

	if (n->len == SIZE_MAX)
		return;
	len = n->len ? snprintf(text, sizeof(text), "%.*s", (int)n->len, n->text)
		     : snprintf(text, sizeof(text), "%.*s", FILE_NUMBER_NAME_SIZE - 1, p->file);
	if (n->position > 1)
		len += snprintf(text + len, sizeof(text) - (size_t)len, " %u", n->position);
	p->any = true;
	p->fn(p->ctx, (struct span){text, (size_t)len}, v);
}

/* Reports the number of "key=value". Returns false if the word is not such a pair. */
static bool file_numbers_parse_pair(struct file_numbers *p, struct span word)
{
	const char *eq = memchr(word.p, '=', word.len);
	struct counter_number v;
	struct number_name n = p->name;
	struct span key, value;

	if (!eq || eq == word.p)
		return false;
	key = (struct span){word.p, (size_t)(eq - word.p)};
	value = (struct span){eq + 1, word.len - key.len - 1};
	n.position = 0;
	number_name_append(&n, key);
	if (counter_number_parse(value, &v))
		file_numbers_report(p, &n, &v);
	return true;
}

static void file_numbers_parse_line(struct file_numbers *p, struct span line)
{
	struct counter_number v;
	struct span word;

	p->name.head = p->name.len = p->name.position = 0;
	for (bool first = true; span_next_word(&line, &word); first = false) {
		if (counter_number_parse(word, &v)) {
			p->name.position++;
			file_numbers_report(p, &p->name, &v);
		} else if (memchr(word.p, '\0', word.len)) {
			p->name.position++; /* no text */
		} else if (!file_numbers_parse_pair(p, word)) {
			if (has_letter(word) || (first && span_ends(word, ":")))
				file_numbers_extend_name(&p->name, word, first);
			else
				p->name.position++;
		}
	}
}

int file_numbers_parse(struct span text, const char *file, counter_number_fn fn, void *ctx)
{
	struct file_numbers p = {.fn = fn, .ctx = ctx, .file = file};
	struct span line;

	while (span_next_line(&text, &line))
		file_numbers_parse_line(&p, line);
	return p.any ? 0 : -EBADMSG;
}
