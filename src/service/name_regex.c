/* SPDX-License-Identifier: Apache-2.0 */
/*
 * regcomp() takes any expression: nested groups recurse on its stack, nested {m,n} are written out
 * as copies, and a loop around what may be empty is walked along every path through it, 2^n for
 * ((a*|b*){n})*. So an expression is walked once before, with a level for each open group:
 *
 *	( a | b* ( c ) {2,5} ...	a level: its cost so far; whether an alternative before, and
 *	^        ^			the one at hand, may be empty
 *	level 1  level 2
 *
 * A character costs 1 and a group what is in it, as many times as it is copied; about the number of
 * states that it becomes.
 *
 * Expressions of configs are written for ECMAScript. What POSIX knows by the same signs means the
 * same; what it does not know, or knows as something else, is refused.
 *
 * The expression is compiled as ^(...)$: the whole name is asked for, and a search that starts at
 * the first byte alone makes at most one state a byte.
 */
#include "service/name_regex.h"

#include <errno.h>
#include <regex.h>
#include <stdio.h>
#include <string.h>

#include "service/limits.h"

/* In chains of what may be empty, and of ^ $ \b \B even more, regcomp's time grows with the cube of
 * the length. */
#define EMPTY_WEIGHT 3u
#define ANCHOR_COST 30u

struct level {
	unsigned cost;
	bool before_empty; /* an alternative that is over may be empty */
	bool empty; /* the one at hand may be, so far */
};

struct atom {
	unsigned cost;
	bool empty; /* may match no byte */
};

static const struct atom plain = {1, false}, anchor = {ANCHOR_COST, true};

struct walk {
	const char *p;
	struct level levels[1 + MAX_REGEX_DEPTH];
	unsigned depth;
	struct err_text *why;
};

static int too_large(struct walk *w)
{
	return err_set(w->why, -EINVAL,
		       "with its repetitions written out it is larger than %u characters and "
		       "operators",
		       MAX_REGEX_COST);
}

/* ---- repetitions ---- */

/* Cut off above every limit, so that nothing overflows. */
static unsigned read_number(const char **p)
{
	unsigned n = 0;

	for (; **p >= '0' && **p <= '9'; (*p)++)
		if (n <= MAX_REGEX_COST)
			n = n * 10 + (unsigned)(**p - '0');
	return n;
}

/* {m}, {m,} or {m,n}; p stands behind the brace. */
static int read_interval(struct walk *w, unsigned *ret_copies, bool *ret_none, bool *ret_open)
{
	const char *start = w->p;
	unsigned min = read_number(&w->p), max = min;
	bool open = false;

	if (w->p != start && *w->p == ',') {
		w->p++;
		open = *w->p == '}';
		max = open ? min + 1 : read_number(&w->p);
	}
	if (w->p == start || *w->p != '}' || max < min)
		return err_set(w->why, -EINVAL, "a repetition is {m}, {m,} or {m,n} with m <= n");
	w->p++;
	*ret_copies = max > 0 ? max : 1;
	*ret_none = min == 0;
	*ret_open = open;
	return 0;
}

/* One sign of repetition after the atom. */
static int repeat(struct walk *w, struct atom *a)
{
	bool open = false, none = true;
	unsigned copies = 1, each;
	int r;

	switch (*w->p++) {
	case '*':
		open = true;
		break;
	case '+':
		copies = 2; /* one that must be, and the loop */
		open = true;
		none = false;
		break;
	case '{':
		r = read_interval(w, &copies, &none, &open);
		if (r < 0)
			return r;
	}
	if (open && a->empty)
		return err_set(w->why, -EINVAL,
			       "what may be empty cannot be repeated without bound");
	/* Each copy has a node of its own that says that it may be left out. */
	each = (a->cost + 1) * (a->empty && copies > 1 ? EMPTY_WEIGHT : 1);
	if (copies > MAX_REGEX_COST / each)
		return too_large(w);
	a->cost = copies * each;
	a->empty |= none;
	return 0;
}

static int end_atom(struct walk *w, struct atom a)
{
	struct level *l = &w->levels[w->depth];
	int r = 0;

	while (r == 0 && *w->p && strchr("*+?{", *w->p))
		r = repeat(w, &a);
	if (r < 0)
		return r;
	l->cost += a.cost;
	l->empty &= a.empty;
	return l->cost > MAX_REGEX_COST ? too_large(w) : 0;
}

/* ---- atoms ---- */

static int open_group(struct walk *w)
{
	if (w->depth == MAX_REGEX_DEPTH)
		return err_set(w->why, -EINVAL, "groups are nested deeper than %u",
			       MAX_REGEX_DEPTH);
	w->levels[++w->depth] = (struct level){.cost = 1, .empty = true};
	return 0;
}

static int close_group(struct walk *w)
{
	const struct level *l = &w->levels[w->depth];

	/* POSIX takes it for the bare sign. */
	if (w->depth == 0)
		return err_set(w->why, -EINVAL, "a ) without its (");
	w->depth--;
	return end_atom(w, (struct atom){l->cost, l->before_empty || l->empty});
}

static int end_alternative(struct walk *w)
{
	struct level *l = &w->levels[w->depth];

	l->cost++;
	l->before_empty |= l->empty;
	l->empty = true;
	return 0;
}

/* \1 to \9 would be back-references, which take exponential time; \` \' \< \> are GNU's own. */
static int escape(struct walk *w)
{
	char c = *w->p;
	bool word = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');

	if (c == '\0')
		return err_set(w->why, -EINVAL, "it ends in a backslash");
	if (strchr("`'<>", c) || (word && !strchr("wWsSbB", c)))
		return err_set(w->why, -EINVAL, "the escape \\%c is not supported", c);
	w->p++;
	return end_atom(w, c == 'b' || c == 'B' ? anchor : plain);
}

/* [abc], []abc], [^]abc], [[:alpha:]]; p stands behind the first bracket. */
static int bracket(struct walk *w)
{
	const char *p = w->p;

	p += *p == '^';
	p += *p == ']';
	for (; *p && *p != ']'; p++) {
		if (*p == '\\')
			return err_set(w->why, -EINVAL, "a backslash in brackets is not supported");
		if (*p == '[' && p[1] && strchr(":.=", p[1])) {
			const char end[] = {p[1], ']', '\0'};

			p = strstr(p + 2, end);
			if (!p)
				break;
			p++;
		}
	}
	if (!p || !*p)
		return err_set(w->why, -EINVAL, "a [ without its ]");
	w->p = p + 1;
	return end_atom(w, plain);
}

static int step(struct walk *w)
{
	char c = *w->p++;

	switch (c) {
	case '(':
		return open_group(w);
	case ')':
		return close_group(w);
	case '|':
		return end_alternative(w);
	case '[':
		return bracket(w);
	case '\\':
		return escape(w);
	default:
		return end_atom(w, c == '^' || c == '$' ? anchor : plain);
	}
}

static int check_bounds(const char *pattern, struct err_text *why)
{
	struct walk w = {.p = pattern, .levels = {{.empty = true}}, .why = why};
	int r = 0;

	while (r == 0 && *w.p)
		r = step(&w);
	return r;
}

/* ---- compiling ---- */

/* 0, or what regcomp says. */
static int compile(const char *pattern, regex_t *ret)
{
	char whole[MAX_REGEX_BYTES + sizeof("^()$")];

	snprintf(whole, sizeof(whole), "^(%s)$", pattern);
	return regcomp(ret, whole, REG_EXTENDED | REG_NOSUB);
}

int name_regex_check(const char *pattern, struct err_text *e)
{
	struct err_text why;
	regex_t re;
	int r;

	if (strlen(pattern) > MAX_REGEX_BYTES)
		return err_set(e, -EINVAL, "\"%.32s...\": %zu bytes; the limit is %u", pattern,
			       strlen(pattern), MAX_REGEX_BYTES);
	if (check_bounds(pattern, &why) < 0)
		return err_set(e, -EINVAL, "\"%s\": %s", pattern, why.text);
	r = compile(pattern, &re);
	if (r) {
		regerror(r, &re, why.text, sizeof(why.text));
		return err_set(e, -EINVAL, "\"%s\": %s", pattern, why.text);
	}
	regfree(&re);
	return 0;
}

bool name_regex_matches(const char *pattern, const char *name)
{
	regex_t re;
	bool matches;

	if (compile(pattern, &re))
		return false;
	matches = regexec(&re, name, 0, NULL, 0) == 0;
	regfree(&re);
	return matches;
}
