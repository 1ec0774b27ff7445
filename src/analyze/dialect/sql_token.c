/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/dialect/sql_token.h"

#include <string.h>
#include <strings.h>

struct sql_reader sql_reader_of(const char *text, size_t len)
{
	return (struct sql_reader){.s = text, .end = text + len};
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* Like SQLite, accepts in names each byte of a character that is not ASCII. */
static bool is_name_char(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || is_digit(c) || c == '_' ||
	       (unsigned char)c >= 0x80;
}

/* Returns the length of one character of white space; 0 if there is none. Like trace_processor,
 * takes a no-break space as white space: text copied from documents contains it. */
static size_t space_length(const char *s, const char *end)
{
	if (*s == ' ' || (*s >= '\t' && *s <= '\r'))
		return 1;
	return end - s >= 2 && s[0] == '\xc2' && s[1] == '\xa0' ? 2 : 0;
}

static const char *find_end_of_comment(const char *s, const char *end)
{
	if (s[0] == '-') {
		s = memchr(s, '\n', (size_t)(end - s));
		return s ? s : end;
	}
	s = memmem(s + 2, (size_t)(end - s) - 2, "*/", 2);
	return s ? s + 2 : end;
}

static const char *find_end_of_space(const char *s, const char *end)
{
	while (s < end) {
		size_t n = space_length(s, end);

		if (n)
			s += n;
		else if (end - s >= 2 &&
			 ((s[0] == '-' && s[1] == '-') || (s[0] == '/' && s[1] == '*')))
			s = find_end_of_comment(s, end);
		else
			break;
	}
	return s;
}

/* Returns the end of a text in quotes; two of them in it stand for one. */
static const char *find_end_of_quotes(const char *s, const char *end)
{
	char quote = *s == '[' ? ']' : *s;

	for (s++; s < end; s++) {
		if (*s != quote)
			continue;
		if (quote == ']' || s + 1 == end || s[1] != quote)
			return s + 1;
		s++;
	}
	return end;
}

static const char *find_end_of_name(const char *s, const char *end)
{
	while (s < end && is_name_char(*s) && !space_length(s, end))
		s++;
	return s;
}

static const char *find_end_of_number(const char *s, const char *end)
{
	for (; s < end && (is_name_char(*s) || *s == '.') && !space_length(s, end); s++)
		if ((*s == 'e' || *s == 'E') && end - s >= 3 && (s[1] == '+' || s[1] == '-') &&
		    is_digit(s[2]))
			s++;
	return s;
}

/* Returns 2 for an operator of two characters, else 1: so a single '!' can only be that of a
 * macro. */
static size_t operator_length(const char *s, const char *end)
{
	static const char *const pairs[] = {"!=", "<>", "<=", ">=", "==", "||", "<<", ">>", "->"};

	for (size_t i = 0; end - s >= 2 && i < sizeof(pairs) / sizeof(*pairs); i++)
		if (s[0] == pairs[i][0] && s[1] == pairs[i][1])
			return 2;
	return 1;
}

struct sql_token sql_token_next(struct sql_reader *r)
{
	const char *s = r->s, *end = r->end;
	struct sql_token t = {.kind = SQL_TOKEN_END, .s = s};

	if (s == end)
		return t;
	r->s = find_end_of_space(s, end);
	if (r->s > s) {
		t.kind = SQL_TOKEN_SPACE;
	} else if (*s == '\'') {
		t.kind = SQL_TOKEN_STRING;
		r->s = find_end_of_quotes(s, end);
	} else if (*s == '"' || *s == '`' || *s == '[') {
		t.kind = SQL_TOKEN_NAME;
		r->s = find_end_of_quotes(s, end);
	} else if (is_digit(*s) || (*s == '.' && end - s >= 2 && is_digit(s[1]))) {
		t.kind = SQL_TOKEN_NUMBER;
		r->s = find_end_of_number(s, end);
	} else if (*s == '$' && end - s >= 2 && is_name_char(s[1])) {
		t.kind = SQL_TOKEN_VARIABLE;
		r->s = find_end_of_name(s + 1, end);
	} else if (is_name_char(*s)) {
		t.kind = SQL_TOKEN_NAME;
		r->s = find_end_of_name(s, end);
	} else {
		t.kind = SQL_TOKEN_OTHER;
		r->s = s + operator_length(s, end);
	}
	t.len = (size_t)(r->s - s);
	return t;
}

struct sql_token sql_token_next_word(struct sql_reader *r)
{
	struct sql_token t = sql_token_next(r);

	return t.kind == SQL_TOKEN_SPACE ? sql_token_next(r) : t;
}

struct sql_token sql_token_peek(const struct sql_reader *r)
{
	struct sql_reader copy = *r;

	return sql_token_next_word(&copy);
}

bool sql_token_is_char(struct sql_token t, char c)
{
	return t.kind == SQL_TOKEN_OTHER && t.len == 1 && *t.s == c;
}

bool sql_token_is_word(struct sql_token t, const char *word)
{
	return t.kind == SQL_TOKEN_NAME && t.len == strlen(word) && !strncasecmp(t.s, word, t.len);
}

bool sql_reader_accept_words(struct sql_reader *r, const char *words)
{
	struct sql_reader at = *r;

	while (*words) {
		size_t n = strcspn(words, " ");
		struct sql_token t = sql_token_next_word(&at);

		if (t.kind != SQL_TOKEN_NAME || t.len != n || strncasecmp(t.s, words, n) != 0)
			return false;
		words += n + (words[n] == ' ');
	}
	*r = at;
	return true;
}

bool sql_reader_accept_char(struct sql_reader *r, char c)
{
	struct sql_reader at = *r;

	if (!sql_token_is_char(sql_token_next_word(&at), c))
		return false;
	*r = at;
	return true;
}

struct sql_reader sql_reader_read_until(struct sql_reader *r, char stop, char other_stop)
{
	struct sql_reader part = *r;
	size_t depth = 0;

	for (;;) {
		const char *before = r->s;
		struct sql_token t = sql_token_next(r);
		bool closes = sql_token_is_char(t, ')');

		if (t.kind == SQL_TOKEN_END || (!depth && (closes || sql_token_is_char(t, stop) ||
							   sql_token_is_char(t, other_stop)))) {
			part.end = r->s = before;
			return part;
		}
		depth += sql_token_is_char(t, '(');
		depth -= closes;
	}
}

struct sql_reader sql_reader_read_statement(struct sql_reader *r)
{
	struct sql_reader part = *r;
	struct sql_token t;

	do {
		part.end = r->s;
		t = sql_token_next(r);
	} while (t.kind != SQL_TOKEN_END && !sql_token_is_char(t, ';'));
	return part;
}

bool sql_token_name(struct sql_token t, char *buf, size_t size)
{
	bool quoted = t.len && strchr("\"`[", *t.s);
	size_t n = 0;

	if (t.kind != SQL_TOKEN_NAME)
		return false;
	if (quoted && (t.len < 3 || t.s[t.len - 1] != (*t.s == '[' ? ']' : *t.s)))
		return false;
	for (size_t i = quoted; i < t.len - quoted; i++) {
		if (n + 1 >= size)
			return false;
		buf[n++] = t.s[i];
		if (quoted && *t.s != '[' && t.s[i] == *t.s)
			i++;
	}
	buf[n] = '\0';
	return n > 0;
}
