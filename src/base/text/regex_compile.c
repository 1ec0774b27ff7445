/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Recursive descent: each rule of the grammar has a function, which appends the code for the text
 * that it reads:
 *
 *	alternatives	sequence { "|" sequence }	SPLIT +1 +n; a; JUMP end; b
 *	sequence	{ piece }
 *	piece		atom [ * + ? {m,n} [ ? ] ]	copies of the atom, SPLITs around them
 *	atom		( ... ), [...], ., \d, a, ^ ...
 *
 * A function returns false after the first error, and the function that found the error has set
 * parser.error and *why. Depth is bounded by REGEX_MAX_DEPTH, code by REGEX_MAX_OPS.
 */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/mem.h"
#include "base/text/regex_compile.h"

struct parser {
	const char *p; /* the rest of the pattern */
	struct regex *re; /* its ops have room for REGEX_MAX_OPS */
	unsigned depth;
	size_t cap_sets;
	struct err_text *why; /* set with error */
	int error; /* the first one; 0: none */
};

static bool regex_compile_refuse(struct parser *s, const char *why)
{
	s->error = err_set(s->why, -EINVAL, "%s", why);
	return false;
}

/* ---- code ---- */

/* Returns false, and sets the error, if n more ops are too many. */
static bool regex_compile_check_size(struct parser *s, size_t n)
{
	if (s->re->n_ops + n <= REGEX_MAX_OPS - 1) /* one for the MATCH */
		return true;
	s->error = err_set(s->why, -EINVAL,
			   "expanded repetitions exceed the limit of %u characters and operators",
			   REGEX_MAX_OPS);
	return false;
}

static bool emit_op(struct parser *s, enum regex_opcode opcode, int x, int y)
{
	if (!regex_compile_check_size(s, 1))
		return false;
	s->re->ops[s->re->n_ops++] = (struct regex_op){(uint16_t)opcode, (int16_t)x, (int16_t)y};
	return true;
}

/* Inserts an op before the code from `at` on. That code only jumps within itself, so its relative
 * jumps stay valid. */
static bool insert_op(struct parser *s, unsigned at, enum regex_opcode opcode, int x, int y)
{
	struct regex_op *ops = s->re->ops;

	if (!regex_compile_check_size(s, 1))
		return false;
	memmove(&ops[at + 1], &ops[at], (s->re->n_ops++ - at) * sizeof(*ops));
	ops[at] = (struct regex_op){(uint16_t)opcode, (int16_t)x, (int16_t)y};
	return true;
}

static bool emit_set_op(struct parser *s, const struct regex_set *set)
{
	struct regex *re = s->re;

	if (array_reserve(&re->sets, &s->cap_sets, re->n_sets + 1, sizeof(*re->sets)) < 0) {
		s->error = -ENOMEM;
		return false;
	}
	re->sets[re->n_sets] = *set;
	return emit_op(s, REGEX_SET, (int)re->n_sets++, 0);
}

/* ---- sets ---- */

static void add_range(struct regex_set *set, unsigned first, unsigned last)
{
	for (unsigned i = first; i <= last; i++)
		regex_set_add(set, i);
}

static void invert_set(struct regex_set *set)
{
	for (size_t i = 0; i < ARRAY_SIZE(set->bits); i++)
		set->bits[i] = ~set->bits[i];
}

/* Adds the bytes of \d, \w, \s or of their opposites to set. Returns false if c is not one of
 * them. */
static bool add_class(struct regex_set *set, char c)
{
	struct regex_set class = {0};

	switch (c) {
	case 'd':
	case 'D':
		add_range(&class, '0', '9');
		break;
	case 'w':
	case 'W':
		add_range(&class, '0', '9');
		add_range(&class, 'a', 'z');
		add_range(&class, 'A', 'Z');
		regex_set_add(&class, '_');
		break;
	case 's':
	case 'S':
		add_range(&class, '\t', '\r');
		regex_set_add(&class, ' ');
		break;
	default:
		return false;
	}
	if (c < 'a')
		invert_set(&class);
	for (size_t i = 0; i < ARRAY_SIZE(set->bits); i++)
		set->bits[i] |= class.bits[i];
	return true;
}

static const struct {
	const char *name;
	int (*has)(int c);
} named_classes[] = {
	{"alnum", isalnum}, {"alpha", isalpha}, {"blank", isblank}, {"cntrl", iscntrl},
	{"digit", isdigit}, {"graph", isgraph}, {"lower", islower}, {"print", isprint},
	{"punct", ispunct}, {"space", isspace}, {"upper", isupper}, {"xdigit", isxdigit},
};

/* Reads a class such as [:alpha:] within brackets; p points to the name. */
static bool read_named_class(struct parser *s, struct regex_set *set)
{
	size_t len = strcspn(s->p, ":]");

	for (size_t i = 0; i < ARRAY_SIZE(named_classes); i++) {
		const char *name = named_classes[i].name;

		if (strlen(name) != len || strncmp(name, s->p, len) != 0 ||
		    strncmp(s->p + len, ":]", 2) != 0)
			continue;
		for (int c = 0; c < 128; c++)
			if (named_classes[i].has(c))
				regex_set_add(set, (unsigned)c);
		s->p += len + 2;
		return true;
	}
	return regex_compile_refuse(s, "unknown [:class:]");
}

/* ---- escapes ---- */

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static bool refuse_escape(struct parser *s, char c)
{
	s->error = err_set(s->why, -EINVAL, "the escape \\%c is not supported", c);
	return false;
}

/* Reads an escape; p points after the backslash. */
static bool read_escape(struct parser *s, unsigned *ret_byte)
{
	static const char letters[] = "tnvfr", bytes[] = "\t\n\v\f\r";
	char c = *s->p;
	const char *letter = c ? strchr(letters, c) : NULL;

	if (c == '\0')
		return regex_compile_refuse(s, "the pattern ends in a backslash");
	s->p++;
	if (letter) {
		*ret_byte = (unsigned char)bytes[letter - letters];
	} else if (c == '0' && !isdigit((unsigned char)*s->p)) {
		*ret_byte = 0;
	} else if (c == 'x' && hex_digit(s->p[0]) >= 0 && hex_digit(s->p[1]) >= 0) {
		*ret_byte = (unsigned)(hex_digit(s->p[0]) << 4 | hex_digit(s->p[1]));
		s->p += 2;
	} else if (isalnum((unsigned char)c)) {
		return refuse_escape(s, c);
	} else {
		*ret_byte = (unsigned char)c;
	}
	return true;
}

/* ---- brackets ---- */

/* Reads one item in brackets. Adds a class to set and sets *ret_single to false; or sets it to true
 * and returns the byte in *ret_byte. */
static bool read_bracket_item(struct parser *s, struct regex_set *set, bool *ret_single,
			      unsigned *ret_byte)
{
	char c = *s->p++;

	*ret_single = false;
	if (c == '[' && *s->p == ':') {
		s->p++;
		return read_named_class(s, set);
	}
	if (c == '[' && (*s->p == '.' || *s->p == '='))
		return regex_compile_refuse(s, "[. .] and [= =] are not supported");
	if (c == '\\' && add_class(set, *s->p)) {
		s->p++;
		return true;
	}
	*ret_single = true;
	*ret_byte = (unsigned char)c;
	if (c != '\\')
		return true;
	if (*s->p != 'b')
		return read_escape(s, ret_byte);
	s->p++;
	*ret_byte = '\b';
	return true;
}

/* Reads a byte, a range or a class, and adds it to set. */
static bool read_range(struct parser *s, struct regex_set *set)
{
	unsigned first, last;
	bool single;

	if (!read_bracket_item(s, set, &single, &first))
		return false;
	if (!single)
		return true;
	if (s->p[0] != '-' || s->p[1] == ']' || s->p[1] == '\0') {
		regex_set_add(set, first);
		return true;
	}
	s->p++;
	if (!read_bracket_item(s, set, &single, &last))
		return false;
	if (!single || last < first)
		return regex_compile_refuse(s,
					    "invalid range in brackets; expected a-b with a <= b");
	add_range(set, first, last);
	return true;
}

/* p points after the bracket. [] matches no byte, [^] matches every byte. */
static bool read_brackets(struct parser *s)
{
	struct regex_set set = {0};
	bool inverted = *s->p == '^';

	s->p += inverted;
	while (*s->p && *s->p != ']')
		if (!read_range(s, &set))
			return false;
	if (!*s->p)
		return regex_compile_refuse(s, "unmatched [");
	s->p++;
	if (inverted)
		invert_set(&set);
	return emit_set_op(s, &set);
}

/* ---- atoms ---- */

static bool read_alternatives(struct parser *s);

static bool read_group(struct parser *s)
{
	bool captures = *s->p != '?';
	unsigned group = s->re->n_groups;

	if (!captures && s->p[1] != ':')
		return regex_compile_refuse(
			s, "of the groups that begin with (?, only (?:...) is supported");
	if (s->depth == REGEX_MAX_DEPTH || (captures && group == REGEX_MAX_GROUPS))
		return regex_compile_refuse(s, "too many groups");
	if (!captures)
		s->p += 2;
	s->re->n_groups += captures;
	s->depth++;
	if (captures && !emit_op(s, REGEX_SAVE, (int)(2 * group), 0))
		return false;
	if (!read_alternatives(s))
		return false;
	if (*s->p != ')')
		return regex_compile_refuse(s, "unmatched (");
	s->p++;
	s->depth--;
	return !captures || emit_op(s, REGEX_SAVE, (int)(2 * group + 1), 0);
}

static bool read_any_character(struct parser *s)
{
	struct regex_set set = {0};

	regex_set_add(&set, '\n');
	regex_set_add(&set, '\r');
	invert_set(&set);
	return emit_set_op(s, &set);
}

static bool read_backslash(struct parser *s, bool *ret_is_edge)
{
	struct regex_set set = {0};
	unsigned byte;
	char c = *s->p;

	*ret_is_edge = c == 'b' || c == 'B';
	if (*ret_is_edge) {
		s->p++;
		return emit_op(s, REGEX_WORD_EDGE, c == 'B', 0);
	}
	if (add_class(&set, c)) {
		s->p++;
		return emit_set_op(s, &set);
	}
	return read_escape(s, &byte) && emit_op(s, REGEX_BYTE, (int)byte, 0);
}

/* *ret_is_edge: the atom matches between two bytes and cannot be repeated. */
static bool read_atom(struct parser *s, bool *ret_is_edge)
{
	char c = *s->p++;

	*ret_is_edge = c == '^' || c == '$';
	switch (c) {
	case '(':
		return read_group(s);
	case '[':
		return read_brackets(s);
	case '.':
		return read_any_character(s);
	case '^':
		return emit_op(s, REGEX_BEGIN, 0, 0);
	case '$':
		return emit_op(s, REGEX_END, 0, 0);
	case '\\':
		return read_backslash(s, ret_is_edge);
	case '*':
	case '+':
	case '?':
	case '{':
		return regex_compile_refuse(s, "nothing to repeat before *, +, ? or {");
	default:
		return emit_op(s, REGEX_BYTE, (unsigned char)c, 0);
	}
}

/* ---- repetitions ---- */

#define NO_LIMIT UINT32_MAX

struct repetition {
	unsigned min, max;
	bool lazy;
};

static unsigned regex_compile_read_number(struct parser *s)
{
	unsigned n = 0;

	for (; isdigit((unsigned char)*s->p); s->p++)
		n = MIN(n * 10 + (unsigned)(*s->p - '0'),
			REGEX_MAX_OPS); /* is too much in any case */
	return n;
}

/* Reads {m}, {m,} or {m,n}; p points after the brace. */
static bool read_interval(struct parser *s, struct repetition *r)
{
	const char *start = s->p;

	r->min = r->max = regex_compile_read_number(s);
	if (s->p != start && *s->p == ',') {
		s->p++;
		r->max = *s->p == '}' ? NO_LIMIT : regex_compile_read_number(s);
	}
	if (s->p == start || *s->p != '}' || r->max < r->min)
		return regex_compile_refuse(
			s, "invalid repetition; expected {m}, {m,} or {m,n} with m <= n");
	s->p++;
	return true;
}

/* Sets *ret_is_one to false if no repetition follows. */
static bool read_repetition(struct parser *s, struct repetition *r, bool *ret_is_one)
{
	char c = *s->p;

	*ret_is_one = c && strchr("*+?{", c);
	if (!*ret_is_one)
		return true;
	s->p++;
	*r = (struct repetition){c == '+', c == '?' ? 1 : NO_LIMIT, false};
	if (c == '{' && !read_interval(s, r))
		return false;
	r->lazy = *s->p == '?';
	s->p += r->lazy;
	return true;
}

static bool emit_split(struct parser *s, int into, int past, bool lazy)
{
	return lazy ? emit_op(s, REGEX_SPLIT, past, into) : emit_op(s, REGEX_SPLIT, into, past);
}

static bool emit_ops(struct parser *s, const struct regex_op *ops, unsigned n)
{
	if (!regex_compile_check_size(s, n))
		return false;
	memcpy(&s->re->ops[s->re->n_ops], ops, n * sizeof(*ops));
	s->re->n_ops += n;
	return true;
}

/* Repeats the atom, which is the code from `at` on. */
static bool repeat_atom(struct parser *s, unsigned at, const struct repetition *r)
{
	unsigned n = s->re->n_ops - at, optional = r->max == NO_LIMIT ? 0 : r->max - r->min;
	struct regex_op atom[REGEX_MAX_OPS];
	bool good = true;

	memcpy(atom, &s->re->ops[at], n * sizeof(*atom));
	s->re->n_ops = at;
	for (unsigned i = 0; i < r->min && good; i++)
		good = emit_ops(s, atom, n);
	if (r->max == NO_LIMIT)
		return good && emit_split(s, 1, (int)n + 2, r->lazy) && emit_ops(s, atom, n) &&
		       emit_op(s, REGEX_JUMP, -(int)n - 1, 0);
	if (good)
		good = regex_compile_check_size(s, (size_t)optional * (n + 1));
	for (unsigned i = 0; i < optional && good; i++)
		good = emit_split(s, 1, (int)((optional - i) * (n + 1)), r->lazy) &&
		       emit_ops(s, atom, n);
	return good;
}

/* ---- the expression ---- */

static bool read_atom_with_repetition(struct parser *s)
{
	unsigned at = s->re->n_ops;
	bool is_edge, repeats;
	struct repetition r;

	if (!read_atom(s, &is_edge) || !read_repetition(s, &r, &repeats))
		return false;
	if (!repeats)
		return true;
	if (is_edge)
		return regex_compile_refuse(s, "^, $, \\b and \\B cannot be repeated");
	return repeat_atom(s, at, &r);
}

static bool read_sequence(struct parser *s)
{
	while (*s->p && *s->p != '|' && *s->p != ')')
		if (!read_atom_with_repetition(s))
			return false;
	return true;
}

/* While the end is unknown, the JUMP after each alternative holds the distance to the previous
 * JUMP, so they form a list. Then each gets its target. */
static bool read_alternatives(struct parser *s)
{
	unsigned at = s->re->n_ops, last_jump = 0;

	for (;;) {
		if (!read_sequence(s))
			return false;
		if (*s->p != '|')
			break;
		s->p++;
		if (!insert_op(s, at, REGEX_SPLIT, 1, (int)(s->re->n_ops - at) + 2) ||
		    !emit_op(s, REGEX_JUMP, (int)(last_jump ? s->re->n_ops - last_jump : 0), 0))
			return false;
		last_jump = s->re->n_ops - 1;
		at = s->re->n_ops;
	}
	while (last_jump) {
		struct regex_op *jump = &s->re->ops[last_jump];
		unsigned before = (unsigned)jump->x;

		jump->x = (int16_t)(s->re->n_ops - last_jump);
		last_jump = before ? last_jump - before : 0;
	}
	return true;
}

int regex_compile(const char *pattern, struct regex *re, struct err_text *why)
{
	struct parser s = {.p = pattern, .re = re, .why = why};

	_Static_assert(REGEX_MAX_OPS < INT16_MAX, "program counters and jumps fit into 16 bits");
	re->ops = calloc(REGEX_MAX_OPS, sizeof(*re->ops));
	if (!re->ops)
		return -ENOMEM;
	re->n_groups = 1;
	if (!read_alternatives(&s))
		return s.error;
	if (*s.p)
		return err_set(why, -EINVAL, "unmatched )");
	re->ops[re->n_ops++] = (struct regex_op){REGEX_MATCH, 0, 0};
	return 0;
}
