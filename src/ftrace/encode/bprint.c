/* SPDX-License-Identifier: Apache-2.0 */
#include "ftrace/encode/bprint.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/core/mem.h"
#include "ftrace/format/unaligned.h"

/*
 * Processes the format conversion by conversion. Numbers are formatted by snprintf with the flags,
 * width and precision of the format and the widest length modifier:
 *
 *	"%-8hd"  ->  take 2 bytes, sign-extend  ->  snprintf("%-8lld")
 */

#define MAX_WIDTH 1024

struct out {
	char *at;
	char *end;
};

/* One parsed conversion of the format. */
struct conversion {
	char flags[8];
	int width; /* -1: none */
	int precision; /* -1: none */
	unsigned size; /* size of an integer */
	char letter;
	char pointer; /* the letter or digit after %p, or 0 */
};

static void append_text(struct out *o, const char *s, size_t n)
{
	n = MIN(n, (size_t)(o->end - o->at));
	memcpy(o->at, s, n);
	o->at += n;
}

static void put_padded(struct out *o, const struct conversion *c, const char *s, size_t n)
{
	size_t pad = c->width > 0 && (size_t)c->width > n ? (size_t)c->width - n : 0;
	bool left = strchr(c->flags, '-');

	for (; !left && pad; pad--)
		append_text(o, " ", 1);
	append_text(o, s, n);
	for (; pad; pad--)
		append_text(o, " ", 1);
}

/* ---- the arguments ---- */

struct args {
	const uint8_t *data;
	size_t len;
	size_t at;
	unsigned long_size;
	unsigned min_int;
};

/* Reads the next argument as an integer of `size` bytes. Returns false if there is none. */
static bool read_sized_int_argument(struct args *a, unsigned size, uint64_t *ret)
{
	size_t align = MIN(size, 4u), at = (a->at + align - 1) / align * align;

	if (at > a->len || size > a->len - at)
		return false;
	*ret = 0;
	memcpy(ret, a->data + at, size);
	a->at = at + size;
	return true;
}

static bool read_int_argument(struct args *a, int *ret)
{
	uint64_t v;

	if (!read_sized_int_argument(a, 4, &v))
		return false;
	*ret = (int32_t)v;
	return true;
}

static bool read_string_argument(struct args *a, const char **ret, size_t *ret_len)
{
	const uint8_t *s = a->data + a->at;
	const uint8_t *nul = a->at < a->len ? memchr(s, 0, a->len - a->at) : NULL;

	if (!nul)
		return false;
	*ret = (const char *)s;
	*ret_len = (size_t)(nul - s);
	a->at += *ret_len + 1;
	return true;
}

/* ---- the format ---- */

struct format {
	const char *at;
	const char *end;
};

static char peek_format_char(const struct format *f)
{
	return f->at < f->end ? *f->at : '\0';
}

/* Parses a number, or an asterisk and its argument. Leaves *count unchanged if there is neither.
 * Returns false if the argument is missing. */
static bool read_count(struct format *f, struct args *a, int *count)
{
	int n = 0;

	if (peek_format_char(f) == '*') {
		f->at++;
		return read_int_argument(a, count);
	}
	if (!isdigit((unsigned char)peek_format_char(f)))
		return true;
	for (; isdigit((unsigned char)peek_format_char(f)); f->at++)
		n = MIN(n * 10 + (*f->at - '0'), MAX_WIDTH);
	*count = n;
	return true;
}

static bool read_width(struct format *f, struct args *a, struct conversion *c)
{
	if (!read_count(f, a, &c->width))
		return false;
	if (c->width < -1) { /* a negative width came from an asterisk */
		c->width = c->width < -MAX_WIDTH ? MAX_WIDTH : -c->width;
		strcat(c->flags, "-");
	}
	c->width = MIN(c->width, MAX_WIDTH);
	if (peek_format_char(f) != '.')
		return true;
	f->at++;
	c->precision = 0;
	if (!read_count(f, a, &c->precision))
		return false;
	c->precision = c->precision < 0 ? 0 : MIN(c->precision, MAX_WIDTH);
	return true;
}

static void read_flags(struct format *f, struct conversion *c)
{
	/* Each flag is copied once, so that there is room for the flag of a negative width. */
	for (; peek_format_char(f) && strchr("-+ #0", peek_format_char(f)); f->at++)
		if (!strchr(c->flags, *f->at))
			strncat(c->flags, f->at, 1);
}

/* Skips the length modifiers. Returns the bytes of the argument. */
static unsigned read_size(struct format *f, const struct args *a)
{
	unsigned size = 4;

	for (; peek_format_char(f) && strchr("hlLqjzZt", peek_format_char(f)); f->at++) {
		if (*f->at == 'h')
			size = size == 2 ? 1 : 2;
		else if (*f->at == 'l' && size == 4)
			size = a->long_size;
		else
			size = strchr("zZt", *f->at) ? a->long_size : 8;
		/* A second "l" makes "ll", also if a long has 4 bytes. */
		if (*f->at == 'l' && f->at + 1 < f->end && f->at[1] == 'l') {
			size = 8;
			f->at++;
		}
	}
	return size;
}

/* Parses what follows a '%'. Returns false if the conversion is unknown or lacks an argument. */
static bool read_conversion(struct format *f, struct args *a, struct conversion *c)
{
	*c = (struct conversion){.width = -1, .precision = -1};
	read_flags(f, c);
	if (!read_width(f, a, c))
		return false;
	c->size = read_size(f, a);
	c->letter = peek_format_char(f);
	if (!c->letter)
		return false;
	f->at++;
	if (c->letter != 'p')
		return true;
	c->pointer = isalnum((unsigned char)peek_format_char(f)) ? *f->at : '\0';
	while (isalnum((unsigned char)peek_format_char(f)))
		f->at++;
	return true;
}

/* ---- conversions ---- */

static uint64_t sign_extend(uint64_t v, unsigned size)
{
	unsigned shift = 64 - 8 * size;

	return (uint64_t)((int64_t)(v << shift) >> shift);
}

static bool bprint_put_number(struct out *o, const struct conversion *c, struct args *a)
{
	char text[2 * MAX_WIDTH], spec[48], width[16] = "", precision[16] = "";
	unsigned stored = MAX(c->size, a->min_int);
	uint64_t v;
	int n;

	if (!read_sized_int_argument(a, stored, &v))
		return false;
	if (c->letter == 'd' || c->letter == 'i')
		v = sign_extend(v, c->size);
	else if (c->size < 8)
		v &= (1ull << (8 * c->size)) - 1;
	if (c->width >= 0)
		snprintf(width, sizeof(width), "%d", c->width);
	if (c->precision >= 0)
		snprintf(precision, sizeof(precision), ".%d", c->precision);
	snprintf(spec, sizeof(spec), "%%%s%s%sll%c", c->flags, width, precision, c->letter);
	n = snprintf(text, sizeof(text), spec, (unsigned long long)v);
	if (n > 0)
		append_text(o, text, (size_t)n);
	return true;
}

static bool put_string(struct out *o, const struct conversion *c, struct args *a)
{
	const char *s;
	size_t len;

	if (!read_string_argument(a, &s, &len))
		return false;
	if (c->letter == 's' && c->precision >= 0)
		len = MIN(len, (size_t)c->precision);
	put_padded(o, c, s, len);
	return true;
}

static bool put_char(struct out *o, const struct conversion *c, struct args *a)
{
	uint64_t v;
	char letter;

	if (!read_sized_int_argument(a, 1, &v))
		return false;
	letter = (char)v;
	put_padded(o, c, &letter, 1);
	return true;
}

static bool put_pointer(struct out *o, const struct conversion *c, struct args *a,
			bprint_pointer_fn pointer, void *ctx)
{
	char text[32];
	uint64_t v;
	int n;

	/* The kernel stores pointers with other letters (%pI4) as strings. */
	if (c->pointer && !strchr("SsxKe", c->pointer))
		return put_string(o, c, a);
	if (!read_sized_int_argument(a, a->long_size, &v))
		return false;
	if (c->pointer == 'x' || c->pointer == 'e') {
		v = a->long_size == 4 ? sign_extend(v, 4) : v;
		if (c->pointer == 'e' && v >= (uint64_t)-4095ll) {
			n = snprintf(text, sizeof(text), "%lld", (long long)v);
			put_padded(o, c, text, (size_t)n);
			return true;
		}
	}
	if (c->pointer == 'x') {
		n = snprintf(text, sizeof(text), "%0*llx", (int)(2 * a->long_size),
			     (unsigned long long)v);
		put_padded(o, c, text, (size_t)n);
		return true;
	}
	o->at += pointer(ctx, v, o->at, (size_t)(o->end - o->at));
	return true;
}

static bool put_conversion(struct out *o, const struct conversion *c, struct args *a,
			   bprint_pointer_fn pointer, void *ctx)
{
	switch (c->letter) {
	case 'd':
	case 'i':
	case 'u':
	case 'x':
	case 'X':
	case 'o':
		return bprint_put_number(o, c, a);
	case 's':
		return put_string(o, c, a);
	case 'c':
		return put_char(o, c, a);
	case 'p':
		return put_pointer(o, c, a, pointer, ctx);
	case '%':
		append_text(o, "%", 1);
		return true;
	}
	return false;
}

size_t bprint_format(const char *format, size_t format_len, const struct bprint_args *args,
		     bprint_pointer_fn pointer, void *ctx, char *to, size_t size)
{
	struct args a = {args->data, args->len, 0, args->long_size, args->min_int};
	struct format f = {format, format + format_len};
	struct out o = {to, to + size};
	struct conversion c;
	const char *percent;

	while (f.at < f.end) {
		percent = memchr(f.at, '%', (size_t)(f.end - f.at));
		append_text(&o, f.at, (size_t)((percent ? percent : f.end) - f.at));
		if (!percent)
			break;
		f.at = percent + 1;
		if (!read_conversion(&f, &a, &c) || !put_conversion(&o, &c, &a, pointer, ctx))
			break;
	}
	return (size_t)(o.at - to);
}
