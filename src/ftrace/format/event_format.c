/* SPDX-License-Identifier: Apache-2.0 */
#include "ftrace/format/event_format.h"

#include <ctype.h>
#include <stddef.h>
#include <string.h>

#include "base/core/mem.h"
#include "base/text/number_read.h"

/*
 * Functions with a cursor `char **at` move it over what they recognize. Those that return a bool
 * return false if the text at the cursor is something else.
 */

#define MAX_DIGITS 9 /* limit of the digits of a number */

static bool event_format_accept(char **at, const char *what)
{
	size_t len = strlen(what);

	if (strncmp(*at, what, len))
		return false;
	*at += len;
	return true;
}

static bool event_format_is_word(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

/* Returns true for the words that have another meaning for libtraceevent. */
static bool is_special_word(const char *word, size_t len)
{
	static const char *const words[] = {"LOCAL_PR_FMT",  "STA_PR_FMT", "VIF_PR_FMT",
					    "__attribute__", "__data_loc", "__rel_loc"};

	for (unsigned i = 0; i < ARRAY_SIZE(words); i++)
		if (strlen(words[i]) == len && !strncmp(word, words[i], len))
			return true;
	return false;
}

static bool event_format_read_word(char **at)
{
	char *from = *at;

	while (event_format_is_word(**at))
		(*at)++;
	return *at > from && !is_special_word(from, (size_t)(*at - from));
}

static bool event_format_read_number(char **at)
{
	size_t n = strspn(*at, "0123456789");

	*at += n;
	return n && n <= MAX_DIGITS;
}

/* Parses the bounds of an array: "[]", "[16]", "[NR_FOO]" or "[(8 + 2)]". The kernel allows
 * expressions. */
static bool parse_array_bounds(char **at)
{
	if (!event_format_accept(at, "["))
		return false;
	while (event_format_is_word(**at) || (**at && strchr(" ()+-*/<>", **at)))
		(*at)++;
	return event_format_accept(at, "]");
}

/* Skips words and stars. Returns the number of words. *ret_ends: a word is the last of them. */
static unsigned skip_type_words(char **at, bool *ret_ends)
{
	unsigned n = 0;

	*ret_ends = false;
	for (;; *ret_ends = true, n++) {
		while (event_format_accept(at, " ") || event_format_accept(at, "*"))
			*ret_ends = false;
		if (!event_format_read_word(at))
			return n;
	}
}

/* Blanks "[3]" of an array of strings ("__data_loc char[][3] NAME"), which libtraceevent does not
 * know. The size of the field implies the count. */
static bool blank_array_count(char **at)
{
	char *from = *at;

	if (!event_format_accept(at, "[") || !event_format_read_number(at) ||
	    !event_format_accept(at, "]"))
		return false;
	memset(from, ' ', (size_t)(*at - from));
	return true;
}

/* Rewrites "__rel_loc TYPE NAME[]" to "__rel_loc TYPE[] NAME", the only form that libtraceevent
 * accepts. For user events the kernel prints random memory between the brackets; it is blanked.
 * bounds: the bracket after the name. end: the text after the bounds. */
static void move_bounds_to_type(char *bounds, char *end)
{
	char *name = bounds;

	while (event_format_is_word(name[-1]))
		name--;
	memmove(name + 1, name - 1, (size_t)(bounds + 1 - name));
	memcpy(name - 1, "[]", 2);
	memset(bounds + 2, ' ', (size_t)(end - bounds - 2));
}

/* Skips the bounds and the name of a located field (__data_loc, __rel_loc). has_name: the name
 * comes before the bounds, which are then moved to the type. */
static bool parse_located_field(char **at, bool has_name)
{
	char *bounds = *at;

	if (!parse_array_bounds(at))
		return false;
	if (**at == ';') {
		if (has_name)
			move_bounds_to_type(bounds, *at);
		return has_name;
	}
	return *at == bounds + 2 && (**at != '[' || blank_array_count(at)) &&
	       event_format_accept(at, " ") && event_format_read_word(at);
}

/* Skips "TYPE NAME" with optional bounds, or "__data_loc TYPE[] NAME" or "__data_loc TYPE NAME". */
static bool skip_declaration(char **at)
{
	bool ends, is_located = event_format_accept(at, "__data_loc ") ||
				event_format_accept(at, "__rel_loc ");
	unsigned words = skip_type_words(at, &ends);

	if (is_located && words && **at == '[')
		return parse_located_field(at, words > 1 && ends);
	if (words < 2 || !ends)
		return false;
	while (!is_located && **at == '[')
		if (!parse_array_bounds(at))
			return false;
	return true;
}

static bool skip_field_line(char **at)
{
	if (!event_format_accept(at, "\tfield:") || !skip_declaration(at) ||
	    !event_format_accept(at, ";\toffset:") || !event_format_read_number(at) ||
	    !event_format_accept(at, ";\tsize:") || !event_format_read_number(at) ||
	    !event_format_accept(at, ";\tsigned:"))
		return false;
	return (event_format_accept(at, "0") || event_format_accept(at, "1")) &&
	       event_format_accept(at, ";\n");
}

/* Reads a name, in place. The dots of a user event's name become underscores: "mine.0",
 * "mine_0". */
static bool event_format_read_name(char **at)
{
	bool ok = event_format_read_word(at);

	while (ok && **at == '.') {
		*(*at)++ = '_';
		ok = event_format_read_word(at);
	}
	return ok;
}

static bool parse_format_head(char **at)
{
	return event_format_accept(at, "name: ") && event_format_read_name(at) &&
	       event_format_accept(at, "\nID: ") && event_format_read_number(at) &&
	       event_format_accept(at, "\nformat:\n");
}

/* Replaces the print format by the shortest valid one. Returns false if there is none. */
static bool shorten_print_fmt(char *at)
{
	static const char head[] = "print fmt: ", empty[] = "print fmt: \"\"";

	if (strncmp(at, head, strlen(head)) || strlen(at) < strlen(empty))
		return false;
	memcpy(at, empty, sizeof(empty));
	return true;
}

bool event_format_prepare(char *text)
{
	unsigned blank = 0;

	if (!parse_format_head(&text))
		return false;
	while (*text == '\t' || *text == '\n') {
		if (*text == '\t') {
			if (!skip_field_line(&text))
				return false;
			continue;
		}
		blank++;
		text++;
	}
	/* Blank lines separate the common fields, the other fields, and the print format. */
	return blank >= 1 && blank <= 2 && shorten_print_fmt(text);
}

/*
 * event_format_prints_symbols() scans the conversions of the string and the expressions in
 * parallel. A comma outside of parentheses and strings ends an expression:
 *
 *	"dev %d:%d caller %pS", ((unsigned int) ((REC->dev) >> 20)), ..., (void *)REC->caller_ip
 */

static const char *event_format_skip_space(const char *s)
{
	while (isspace((unsigned char)*s))
		s++;
	return s;
}

/* s is the opening quote. Returns the position after the closing one, or the end. */
static const char *skip_quoted(const char *s)
{
	char quote = *s++;

	for (; *s && *s != quote; s++)
		if (*s == '\\' && s[1])
			s++;
	return *s ? s + 1 : s;
}

/* Skips the string literals at s. */
static const char *skip_strings(const char *s)
{
	for (s = event_format_skip_space(s); *s == '"'; s = event_format_skip_space(s))
		s = skip_quoted(s);
	return s;
}

/* Returns the comma after an expression, or the end. */
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

/* Sets *ret to the next expression and returns its length. Moves *at to the comma after it. */
static size_t next_expression(const char **at, const char **ret)
{
	const char *begin = *at;

	if (*begin == ',')
		begin++;
	*at = skip_expression(begin);
	*ret = begin;
	return (size_t)(*at - begin);
}

/* Returns true if the expression refers to that field of the record, and to no other field. */
static bool expression_is_field(const char *expression, size_t len, const char *field)
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

bool event_format_prints_symbols(const char *print_fmt, const char *field)
{
	const char *s = event_format_skip_space(print_fmt), *args = skip_strings(print_fmt),
		   *expression;
	size_t len;

	if (*s != '"')
		return false;
	for (const char *end = args; s < end; s++) {
		if (*s != '%')
			continue;
		/* Flags, width and precision; an asterisk consumes an expression. */
		for (s++; strchr("-+ #0123456789.*", *s) && *s; s++)
			if (*s == '*')
				next_expression(&args, &expression);
		s += strspn(s, "hlLqjzZt");
		if (*s == '%' || !*s)
			continue;
		len = next_expression(&args, &expression);
		if (*s == 'p' && s[1] && strchr("sSfFB", s[1]) &&
		    expression_is_field(expression, len, field))
			return true;
	}
	return false;
}

/* Returns the position after the field's comma in its __print_symbolic(), or NULL. */
static const char *find_symbolic_names(const char *print_fmt, const char *field)
{
	static const char call[] = "__print_symbolic(";
	const char *expression, *at = print_fmt;
	size_t len;

	while ((at = strstr(at, call)) != NULL) {
		at += strlen(call);
		len = next_expression(&at, &expression);
		if (*at == ',' && expression_is_field(expression, len, field))
			return at + 1;
	}
	return NULL;
}

bool event_format_next_name(const char *print_fmt, const char *field, struct event_format_names *n)
{
	const char *at = n->at ? n->at : find_symbolic_names(print_fmt, field), *expression, *end;
	size_t len;
	int r;

	while (at && *(at = event_format_skip_space(at)) == '{') {
		end = at + 1;
		r = str_read_i64(&end, 0, &n->value);
		end = event_format_skip_space(end);
		len = next_expression(&at, &expression);
		if (*at == ',')
			at++;
		if (r || *end != ',' || end >= expression + len)
			continue;
		end = event_format_skip_space(end + 1);
		if (*end != '"')
			continue;
		n->name = end + 1;
		n->len = (size_t)(skip_quoted(end) - n->name);
		if (end + 1 + n->len > expression + len || !n->len || n->name[n->len - 1] != '"')
			continue;
		n->len--;
		n->at = at;
		return true;
	}
	return false;
}
