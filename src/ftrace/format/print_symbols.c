// SPDX-License-Identifier: Apache-2.0
/*
 * The conversions of the string and the expressions behind it are walked side by side. An
 * expression ends at a comma that is in no parenthesis and no string:
 *
 *	"dev %d:%d caller %pS", ((unsigned int) ((REC->dev) >> 20)), ..., (void *)REC->caller_ip
 */
#include <ctype.h>
#include <stddef.h>
#include <string.h>

#include "ftrace/format/print_symbols.h"

static const char *skip_space(const char *s)
{
	while (isspace((unsigned char)*s))
		s++;
	return s;
}

/* s is the opening quote; gives what is behind the closing one, or the end. */
static const char *skip_quoted(const char *s)
{
	char quote = *s++;

	for (; *s && *s != quote; s++)
		if (*s == '\\' && s[1])
			s++;
	return *s ? s + 1 : s;
}

/* Behind the string literals that s begins with. */
static const char *skip_strings(const char *s)
{
	for (s = skip_space(s); *s == '"'; s = skip_space(s))
		s = skip_quoted(s);
	return s;
}

/* The comma behind an expression, or the end. */
static const char *skip_expression(const char *s)
{
	int depth = 0;

	while (*s && *s != '\n') {
		if (*s == ',' && depth <= 0)
			break;
		if (*s == '"' || *s == '\'') {
			s = skip_quoted(s);
			continue;
		}
		depth += strchr("([{", *s) ? 1 : strchr(")]}", *s) ? -1 : 0;
		s++;
	}
	return s;
}

/* The next expression's own text; *at is where it begins, behind its comma. */
static size_t next_expression(const char **at, const char **ret)
{
	const char *begin = *at;

	if (*begin == ',')
		begin++;
	*at = skip_expression(begin);
	*ret = begin;
	return (size_t)(*at - begin);
}

/* Does it name that field of the record, and no other? */
static bool is_field(const char *expression, size_t len, const char *field)
{
	static const char rec[] = "REC->";
	const char *at = memmem(expression, len, rec, strlen(rec)), *end = expression + len;
	size_t n = strlen(field);

	if (!at)
		return false;
	at += strlen(rec);
	return (size_t)(end - at) >= n && !memcmp(at, field, n) &&
	       (at + n == end || (!isalnum((unsigned char)at[n]) && at[n] != '_')) &&
	       !memmem(at, (size_t)(end - at), rec, strlen(rec));
}

bool print_symbols_has(const char *print_fmt, const char *field)
{
	const char *s = skip_space(print_fmt), *args = skip_strings(print_fmt), *expression;
	size_t len;

	if (*s != '"')
		return false;
	for (const char *end = args; s < end; s++) {
		if (*s != '%')
			continue;
		/* Flags, width and precision; an asterisk takes an expression of its own. */
		for (s++; strchr("-+ #0123456789.*", *s) && *s; s++)
			if (*s == '*')
				next_expression(&args, &expression);
		s += strspn(s, "hlLqjzZt");
		if (*s == '%' || !*s)
			continue;
		len = next_expression(&args, &expression);
		if (*s == 'p' && s[1] && strchr("sSfFB", s[1]) && is_field(expression, len, field))
			return true;
	}
	return false;
}
