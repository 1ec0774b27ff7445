/* SPDX-License-Identifier: Apache-2.0 */
#include "procfs/counters/network_text.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static bool network_text_add_columns(struct network_columns *c, const char *direction,
				     struct span names)
{
	struct span word;

	while (span_next_word(&names, &word)) {
		if (c->n >= NETWORK_COLUMNS_MAX || word.len + 4 > NETWORK_COLUMN_SIZE)
			return false;
		snprintf(c->names[c->n++], NETWORK_COLUMN_SIZE, "%s %.*s", direction, (int)word.len,
			 word.p);
	}
	return true;
}

/* Returns the text up to the next '|', or all of it, and cuts it off the line with the '|'. */
static struct span network_text_cut_cell(struct span *line)
{
	const char *bar = line->len > 0 ? memchr(line->p, '|', line->len) : NULL;
	size_t n = bar ? (size_t)(bar - line->p) : line->len;
	struct span cell = {line->p, n};

	*line = (struct span){line->p + n + (bar ? 1 : 0), line->len - n - (bar ? 1 : 0)};
	return cell;
}

int network_columns_parse(struct span *text, struct network_columns *ret)
{
	struct network_columns c = {.n = 0};
	struct span line, cell;

	span_next_line(text, &line); /* "Inter-|   Receive ..." */
	if (!span_next_line(text, &line))
		return -EBADMSG;
	cell = network_text_cut_cell(&line); /* "face" */
	if (cell.len == 0 || line.len == 0)
		return -EBADMSG;
	cell = network_text_cut_cell(&line);
	if (line.len == 0 || !network_text_add_columns(&c, "rx", cell) ||
	    !network_text_add_columns(&c, "tx", line) || c.n == 0)
		return -EBADMSG;
	*ret = c;
	return 0;
}

int network_dev_cut_name(struct span *line, struct span *ret_name)
{
	struct span name, rest;

	if (!span_split(*line, &name, &rest) || name.len == 0)
		return -EBADMSG;
	*ret_name = name;
	*line = rest;
	return 0;
}

int network_dev_parse(struct span line, const struct network_columns *columns, counter_number_fn fn,
		      void *ctx)
{
	struct counter_number v;
	struct span word;

	for (unsigned i = 0; i < columns->n; i++) {
		if (!span_next_word(&line, &word) || !counter_number_parse(word, &v))
			return -EBADMSG;
		fn(ctx, (struct span){columns->names[i], strlen(columns->names[i])}, &v);
	}
	return span_next_word(&line, &word) ? -EBADMSG : 0;
}

bool network_pair_next(struct span *text, struct network_pair *ret)
{
	struct span first, second, name;

	while (span_next_line(text, &first)) {
		if (!span_split(first, &ret->protocol, &ret->names))
			continue;
		second = *text;
		if (!span_next_line(&second, &first) || !span_split(first, &name, &ret->values))
			continue;
		if (name.len != ret->protocol.len || memcmp(name.p, ret->protocol.p, name.len) != 0)
			continue; /* the second line may be the first of another pair */
		*text = second;
		return true;
	}
	return false;
}

int network_pair_parse(struct network_pair pair, counter_number_fn fn, void *ctx)
{
	struct span name, value;
	struct counter_number v;
	int r = 0;

	while (span_next_word(&pair.names, &name)) {
		if (!span_next_word(&pair.values, &value))
			return -EBADMSG;
		if (counter_number_parse(value, &v))
			fn(ctx, name, &v);
		else
			r = -EBADMSG;
	}
	return span_next_word(&pair.values, &value) ? -EBADMSG : r;
}

int network_snmp6_parse(struct span line, struct span *ret_protocol, struct span *ret_name,
			struct counter_number *ret_v)
{
	struct span name, value, more;
	struct counter_number v;
	const char *six;
	size_t n;

	if (!span_next_word(&line, &name) || !span_next_word(&line, &value) ||
	    span_next_word(&line, &more) || !counter_number_parse(value, &v))
		return -EBADMSG;
	six = memchr(name.p, '6', name.len);
	n = six ? (size_t)(six + 1 - name.p) : 0;
	if (n < 2 || n == name.len)
		return -EBADMSG;
	*ret_protocol = (struct span){name.p, n};
	*ret_name = (struct span){name.p + n, name.len - n};
	*ret_v = v;
	return 0;
}
