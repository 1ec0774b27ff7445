/* SPDX-License-Identifier: Apache-2.0 */
#include "config/text_values.h"

#include <errno.h>
#include <float.h>
#include <limits.h>
#include <locale.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/core/mem.h"
#include "base/text/str.h"

/*
 * A hint is the first of these: the same name in another spelling (Buffers, ring_buffer); for an
 * enum, the name without its prefix; the message one level down that has the field (a
 * buffer_size_kb outside of ftrace_config); the name with the smallest edit distance; for a small
 * enum, all its values.
 */

#define LISTED_VALUES 6

/* Returns the word NUL-terminated, or NULL if the token is not a word or too long. */
static const char *copy_word(const struct text_token *t, char buf[static TEXT_NAME_MAX])
{
	if (t->kind != TEXT_WORD || t->len >= TEXT_NAME_MAX)
		return NULL;
	memcpy(buf, t->s, t->len);
	buf[t->len] = '\0';
	return buf;
}

const ProtobufCFieldDescriptor *text_names_find_field(const ProtobufCMessageDescriptor *type,
						      const struct text_token *t)
{
	char buf[TEXT_NAME_MAX];
	const char *word = copy_word(t, buf);
	uint64_t id;

	if (word)
		return protobuf_c_message_descriptor_get_field_by_name(type, word);
	if (t->kind != TEXT_INTEGER || text_value_parse_u64(t, &id) < 0 || id > INT_MAX)
		return NULL;
	return protobuf_c_message_descriptor_get_field(type, (unsigned)id);
}

const ProtobufCEnumValue *text_names_find_value(const ProtobufCEnumDescriptor *type,
						const struct text_token *t)
{
	char buf[TEXT_NAME_MAX];
	const char *word = copy_word(t, buf);

	return word ? protobuf_c_enum_descriptor_get_value_by_name(type, word) : NULL;
}

static const char *format_hint(const char *name, char *buf)
{
	snprintf(buf, TEXT_HINT_MAX, "; did you mean \"%s\"?", name);
	return buf;
}

/* Returns the field of this type whose message has a field of that name. */
static const ProtobufCFieldDescriptor *find_field_below(const ProtobufCMessageDescriptor *type,
							const char *word)
{
	for (unsigned i = 0; i < type->n_fields; i++) {
		const ProtobufCFieldDescriptor *f = &type->fields[i];

		if (f->type == PROTOBUF_C_TYPE_MESSAGE &&
		    protobuf_c_message_descriptor_get_field_by_name(f->descriptor, word))
			return f;
	}
	return NULL;
}

const char *text_fields_hint(const ProtobufCMessageDescriptor *type, const struct text_token *t,
			     char buf[static TEXT_HINT_MAX])
{
	char word_buf[TEXT_NAME_MAX];
	const char *word = copy_word(t, word_buf);
	const ProtobufCFieldDescriptor *down;
	struct str_nearest nearest;

	buf[0] = '\0';
	if (!word)
		return buf;
	for (unsigned i = 0; i < type->n_fields; i++)
		if (strcasecmp(type->fields[i].name, word) == 0)
			return format_hint(type->fields[i].name, buf);
	down = find_field_below(type, word);
	if (down) {
		snprintf(buf, TEXT_HINT_MAX, "; it belongs inside \"%s { }\"", down->name);
		return buf;
	}
	str_nearest_init(&nearest, word);
	for (unsigned i = 0; i < type->n_fields; i++)
		str_nearest_try(&nearest, type->fields[i].name);
	return str_nearest_get(&nearest) ? format_hint(str_nearest_get(&nearest), buf) : buf;
}

/* Returns true if word is the end of name, in any case: MEM_TOTAL of MEMINFO_MEM_TOTAL. */
static bool ends_with_word(const char *name, const char *word)
{
	size_t n = strlen(name), m = strlen(word);

	return n > m && name[n - m - 1] == '_' && strcasecmp(name + n - m, word) == 0;
}

static const char *text_values_list_values(const ProtobufCEnumDescriptor *type, char *buf)
{
	size_t len = 0;

	for (unsigned i = 0; i < type->n_values && len < TEXT_HINT_MAX; i++)
		len += (size_t)snprintf(buf + len, TEXT_HINT_MAX - len, "%s%s",
					i == 0 ? "; it has " : ", ", type->values[i].name);
	return buf;
}

const char *text_values_hint(const ProtobufCEnumDescriptor *type, const struct text_token *t,
			     char buf[static TEXT_HINT_MAX])
{
	char word_buf[TEXT_NAME_MAX];
	const char *word = copy_word(t, word_buf);
	struct str_nearest nearest;

	buf[0] = '\0';
	if (word) {
		str_nearest_init(&nearest, word);
		for (unsigned i = 0; i < type->n_value_names; i++) {
			const char *name = type->values_by_name[i].name;

			if (strcasecmp(name, word) == 0 || ends_with_word(name, word))
				return format_hint(name, buf);
			str_nearest_try(&nearest, name);
		}
		if (str_nearest_get(&nearest))
			return format_hint(str_nearest_get(&nearest), buf);
	}
	return type->n_values <= LISTED_VALUES ? text_values_list_values(type, buf) : buf;
}

/*
 * Numbers are read and printed in the C locale, whatever locale the program has set. With a decimal
 * comma, a config of one country would be unreadable in another.
 */

#define NUMBER_MAX_BYTES 64 /* of a printed number */

static int digit_value(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : 16;
}

static unsigned base_of_number(const struct text_token *t)
{
	if (t->len < 2 || t->s[0] != '0')
		return 10;
	return t->s[1] == 'x' || t->s[1] == 'X' ? 16 : 8;
}

int text_value_parse_u64(const struct text_token *t, uint64_t *ret_v)
{
	unsigned base = base_of_number(t);
	uint64_t v = 0;

	for (size_t i = base == 16 ? 2 : 0; i < t->len; i++)
		if (__builtin_mul_overflow(v, base, &v) ||
		    __builtin_add_overflow(v, (uint64_t)digit_value(t->s[i]), &v))
			return -ERANGE;
	*ret_v = v;
	return 0;
}

static bool token_is_word(const struct text_token *t, const char *word)
{
	return t->len == strlen(word) && strncasecmp(t->s, word, t->len) == 0;
}

/* Copies the number in C's spelling to *ret_s. Returns 0, -EINVAL if the token is not a float, or
 * -ENOMEM. */
static int copy_float_in_c_spelling(const struct text_token *t, char **ret_s)
{
	const char *s = t->s;
	size_t len = t->len;

	if (t->kind == TEXT_WORD) {
		if (!token_is_word(t, "inf") && !token_is_word(t, "infinity") &&
		    !token_is_word(t, "nan"))
			return -EINVAL;
	} else if (t->kind == TEXT_INTEGER && base_of_number(t) != 10) {
		return -EINVAL;
	} else if (s[len - 1] == 'f' || s[len - 1] == 'F') {
		len--;
	}
	*ret_s = strndup(s, len);
	return *ret_s ? 0 : -ENOMEM;
}

/* Reads a number into *ret_f or *ret_d; the other pointer is NULL. Returns 0, -EINVAL or
 * -ENOMEM. */
static int read_float(const struct text_token *t, float *ret_f, double *ret_d)
{
	_cleanup_(freep) char *s = NULL;
	int r = copy_float_in_c_spelling(t, &s);
	locale_t c, before;

	if (r < 0)
		return r;
	c = newlocale(LC_NUMERIC_MASK, "C", (locale_t)0);
	if (!c)
		return -ENOMEM;
	before = uselocale(c);
	if (ret_f)
		*ret_f = strtof(s, NULL);
	else
		*ret_d = strtod(s, NULL);
	uselocale(before);
	freelocale(c);
	return 0;
}

int text_value_parse_double(const struct text_token *t, double *ret_v)
{
	return read_float(t, NULL, ret_v);
}

int text_value_parse_float(const struct text_token *t, float *ret_v)
{
	return read_float(t, ret_v, NULL);
}

/* ---- strings ---- */

/* Reads up to max digits at *p and advances *p. Returns their number. */
static unsigned read_digits(const char **p, const char *end, int base, unsigned max,
			    uint32_t *ret_v)
{
	unsigned n = 0;

	for (*ret_v = 0; n < max && *p < end && digit_value(**p) < base; n++, (*p)++)
		*ret_v = *ret_v * (uint32_t)base + (uint32_t)digit_value(**p);
	return n;
}

/* Reads the digits after "\u": one code point, or a surrogate pair for one. Returns NULL or an
 * error message. */
static const char *unescape_u4(const char **p, const char *end, struct strbuf *out)
{
	const char *next;
	uint32_t c, low;

	if (read_digits(p, end, 16, 4, &c) != 4)
		return "\\u takes four hexadecimal digits";
	next = *p + 2;
	if (c >= 0xd800 && c < 0xdc00 && end - *p >= 6 && (*p)[0] == '\\' && (*p)[1] == 'u' &&
	    read_digits(&next, end, 16, 4, &low) == 4 && low >= 0xdc00 && low < 0xe000) {
		c = 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00);
		*p = next;
	}
	strbuf_put_utf8(out, c);
	return NULL;
}

/* Reads one escape. *p points after the backslash, and afterwards after the escape. Returns NULL or
 * an error message. */
static const char *unescape_one(const char **p, const char *end, struct strbuf *out)
{
	static const char from[] = "abfnrtv\\?'\"", to[] = "\a\b\f\n\r\t\v\\?'\"";
	const char *simple;
	uint32_t v;

	if (read_digits(p, end, 8, 3, &v) > 0) {
		strbuf_putc(out, (char)v);
		return v > 0xff ? "octal escape out of range; the maximum is \\377" : NULL;
	}
	simple = *p < end && **p ? strchr(from, **p) : NULL;
	if (simple) {
		(*p)++;
		strbuf_putc(out, to[simple - from]);
		return NULL;
	}
	switch (*p < end ? *(*p)++ : 0) {
	case 'x':
	case 'X':
		if (read_digits(p, end, 16, 2, &v) == 0)
			return "\\x takes one or two hexadecimal digits";
		strbuf_putc(out, (char)v);
		return NULL;
	case 'u':
		return unescape_u4(p, end, out);
	case 'U':
		if (read_digits(p, end, 16, 8, &v) != 8 || v > 0x10ffff)
			return "\\U takes eight hexadecimal digits, up to 0010ffff";
		strbuf_put_utf8(out, v);
		return NULL;
	default:
		return "unknown escape sequence in a string";
	}
}

const char *text_value_parse_bytes(const struct text_token *t, struct strbuf *out,
				   const char **ret_at, size_t *ret_n)
{
	const char *p = t->s + 1, *end = t->s + t->len - 1;

	while (p < end) {
		const char *slash = memchr(p, '\\', (size_t)(end - p)), *complaint;

		strbuf_add(out, p, (size_t)((slash ? slash : end) - p));
		if (!slash)
			break;
		p = slash + 1;
		complaint = unescape_one(&p, end, out);
		if (complaint) {
			*ret_at = slash;
			*ret_n = (size_t)(p - slash);
			return complaint;
		}
	}
	return NULL;
}

/* ---- printing ---- */

static bool is_exact(const char *s, double v, bool is_float)
{
	return is_float ? strtof(s, NULL) == (float)v : strtod(s, NULL) == v;
}

/* Prints the number in few digits, but enough to read back the same number. digits: a number of
 * digits that is always enough. */
static void print_number(double v, int digits, bool is_float, struct strbuf *out)
{
	char s[NUMBER_MAX_BYTES];
	locale_t c, before;

	if (isnan(v) || isinf(v)) {
		strbuf_puts(out, signbit(v) ? "-" : "");
		strbuf_puts(out, isnan(v) ? "nan" : "inf");
		return;
	}
	c = newlocale(LC_NUMERIC_MASK, "C", (locale_t)0);
	if (!c) {
		out->failed = true;
		return;
	}
	before = uselocale(c);
	for (int n = digits - 3; n <= digits; n++) {
		snprintf(s, sizeof(s), "%.*g", n, v);
		if (is_exact(s, v, is_float))
			break;
	}
	uselocale(before);
	freelocale(c);
	strbuf_puts(out, s);
}

void text_value_print_double(double v, struct strbuf *out)
{
	print_number(v, DBL_DECIMAL_DIG, false, out);
}

void text_value_print_float(float v, struct strbuf *out)
{
	print_number((double)v, FLT_DECIMAL_DIG, true, out);
}

void text_value_print_bytes(const void *data, size_t len, struct strbuf *out)
{
	static const char from[] = "\n\r\t\"\\", to[] = "nrt\"\\";
	const uint8_t *p = data;

	strbuf_putc(out, '"');
	for (const uint8_t *end = p + len; p < end; p++) {
		const char *simple = *p ? strchr(from, *p) : NULL;

		if (simple)
			strbuf_printf(out, "\\%c", to[simple - from]);
		else if (*p >= 0x20 && *p < 0x7f)
			strbuf_putc(out, (char)*p);
		else
			strbuf_printf(out, "\\%03o", *p);
	}
	strbuf_putc(out, '"');
}
