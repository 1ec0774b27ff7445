/* SPDX-License-Identifier: Apache-2.0 */
/* Makes arguments of JSON text: objects and arrays become paths, their members arguments. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/import/arg_writer.h"

#define MAX_DEPTH 64
#define MAX_NUMBER 64

struct json {
	const uint8_t *p, *end;
	struct arg_writer *w; /* NULL: the text is only checked */
	int depth;
};

static bool parse_value(struct json *j);

static void json_args_skip_space(struct json *j)
{
	while (j->p < j->end && memchr(" \t\r\n", *j->p, 4))
		j->p++;
}

static bool json_args_accept(struct json *j, char c)
{
	json_args_skip_space(j);
	if (j->p == j->end || *j->p != (uint8_t)c)
		return false;
	j->p++;
	return true;
}

static bool accept_word(struct json *j, const char *s)
{
	size_t len = strlen(s);

	if ((size_t)(j->end - j->p) < len || memcmp(j->p, s, len) != 0)
		return false;
	j->p += len;
	return true;
}

static bool parse_hex4(struct json *j, uint32_t *ret)
{
	*ret = 0;
	for (int i = 0; i < 4; i++, j->p++) {
		const char *digits = "0123456789abcdef", *at;

		if (j->p == j->end || !*j->p)
			return false;
		at = strchr(digits, *j->p >= 'A' && *j->p <= 'F' ? *j->p + 32 : *j->p);
		if (!at)
			return false;
		*ret = *ret << 4 | (uint32_t)(at - digits);
	}
	return true;
}

static bool parse_escape(struct json *j, struct strbuf *out)
{
	static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
	const char *at;
	uint32_t c, low;

	if (j->p == j->end || !*j->p)
		return false;
	if (*j->p != 'u') {
		at = strchr(from, *j->p++);
		if (at)
			strbuf_putc(out, to[at - from]);
		return at;
	}
	j->p++;
	if (!parse_hex4(j, &c))
		return false;
	if (c >= 0xd800 && c < 0xdc00 && accept_word(j, "\\u")) {
		if (!parse_hex4(j, &low) || low < 0xdc00 || low > 0xdfff)
			return false;
		c = 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00);
	}
	strbuf_put_utf8(out, c);
	return true;
}

/* Reads a string into out, which it clears first. */
static bool parse_text(struct json *j, struct strbuf *out)
{
	strbuf_clear(out);
	if (!json_args_accept(j, '"'))
		return false;
	while (j->p < j->end && *j->p != '"') {
		uint8_t c = *j->p++;

		if (c != '\\')
			strbuf_putc(out, (char)c);
		else if (!parse_escape(j, out))
			return false;
	}
	return j->p < j->end && *j->p++ == '"';
}

static bool parse_object(struct json *j)
{
	struct strbuf name = {0};
	bool ok = true;

	if (json_args_accept(j, '}'))
		return true;
	do {
		struct arg_mark mark = {.key = 0};

		ok = parse_text(j, &name) && json_args_accept(j, ':');
		if (name.failed && j->w)
			j->w->store->budget.error = -ENOMEM;
		if (ok && j->w)
			mark = arg_writer_enter(j->w, name.s, name.len, true);
		ok = ok && parse_value(j);
		if (j->w)
			arg_writer_leave(j->w, mark);
	} while (ok && json_args_accept(j, ','));
	strbuf_deinit(&name);
	return ok && json_args_accept(j, '}');
}

static bool parse_array(struct json *j)
{
	unsigned index = j->w ? arg_writer_next_index(j->w) : 0;
	bool ok = true;

	if (json_args_accept(j, ']'))
		return true;
	do {
		struct arg_mark mark = {.key = 0};

		json_args_skip_space(j);
		if (j->w)
			mark = arg_writer_enter_index(j->w, index);
		index += j->p < j->end && *j->p != 'n'; /* null has no index */
		ok = parse_value(j);
		if (j->w)
			arg_writer_leave(j->w, mark);
	} while (ok && json_args_accept(j, ','));
	return ok && json_args_accept(j, ']');
}

static bool parse_number(struct json *j)
{
	char s[MAX_NUMBER], *end;
	bool is_real = false;
	size_t n = 0;
	int64_t v;
	double real;

	while (j->p + n < j->end && j->p[n] && strchr("+-.0123456789eE", j->p[n])) {
		if (n + 1 >= sizeof(s))
			return false;
		s[n] = (char)j->p[n];
		is_real |= s[n] == '.' || s[n] == 'e' || s[n] == 'E';
		n++;
	}
	s[n] = '\0';
	j->p += n;
	errno = 0;
	v = strtoll(s, &end, 10);
	is_real |= errno == ERANGE;
	real = strtod(s, &end);
	if (!n || *end)
		return false;
	if (j->w && is_real)
		arg_writer_real(j->w, real);
	else if (j->w)
		arg_writer_int(j->w, ARG_INT, v);
	return true;
}

static bool parse_string_value(struct json *j)
{
	struct strbuf s = {0};
	bool ok = parse_text(j, &s);

	if (ok && j->w)
		arg_writer_buf(j->w, &s);
	strbuf_deinit(&s);
	return ok;
}

static bool parse_value(struct json *j)
{
	bool ok;

	json_args_skip_space(j);
	if (j->p == j->end || j->depth >= MAX_DEPTH)
		return false;
	j->depth++;
	if (json_args_accept(j, '{')) {
		ok = parse_object(j);
	} else if (json_args_accept(j, '[')) {
		ok = parse_array(j);
	} else if (*j->p == '"') {
		ok = parse_string_value(j);
	} else if (accept_word(j, "null")) {
		ok = true;
	} else if (accept_word(j, "true") || accept_word(j, "false")) {
		if (j->w)
			arg_writer_int(j->w, ARG_BOOL, j->p[-2] == 'u');
		ok = true;
	} else {
		ok = parse_number(j);
	}
	j->depth--;
	return ok;
}

bool arg_writer_json(struct arg_writer *w, const uint8_t *s, size_t len)
{
	struct json check = {.p = s, .end = s + len}, j = {.p = s, .end = s + len, .w = w};

	if (!parse_value(&check))
		return false;
	json_args_skip_space(&check);
	return check.p == check.end && parse_value(&j);
}
