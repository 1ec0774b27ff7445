/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A value is a word, a number with an optional '-' before it, or several adjacent strings, which
 * are concatenated. The type of the field decides its meaning: 1 is a number, true, a float or an
 * enum.
 */
#include "config/text_scalar.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/mem.h"
#include "config/text_values.h"

#define WANTED_MAX 160
#define QUOTED_MAX 40 /* bytes of a number shown in an error */

/* The tokens of a value. */
struct literal {
	struct text_token token; /* for strings the token of the first one */
	bool negative;
	const char *at; /* start of the value, including the '-' */
	size_t len;
};

/* The range of an integer type. */
struct range {
	int64_t min;
	uint64_t max;
};

static struct range range_of_type(ProtobufCType type)
{
	switch (type) {
	case PROTOBUF_C_TYPE_UINT32:
	case PROTOBUF_C_TYPE_FIXED32:
		return (struct range){0, UINT32_MAX};
	case PROTOBUF_C_TYPE_UINT64:
	case PROTOBUF_C_TYPE_FIXED64:
		return (struct range){0, UINT64_MAX};
	case PROTOBUF_C_TYPE_INT64:
	case PROTOBUF_C_TYPE_SINT64:
	case PROTOBUF_C_TYPE_SFIXED64:
		return (struct range){INT64_MIN, INT64_MAX};
	default: /* signed 32-bit types, and enums */
		return (struct range){INT32_MIN, INT32_MAX};
	}
}

/* Returns the expected value, such as "a whole number from 0 to 4294967295". */
static const char *describe_expected_value(const ProtobufCFieldDescriptor *field,
					   char buf[static WANTED_MAX])
{
	struct range range;

	switch (field->type) {
	case PROTOBUF_C_TYPE_FLOAT:
	case PROTOBUF_C_TYPE_DOUBLE:
		return "a decimal number";
	case PROTOBUF_C_TYPE_BOOL:
		return "true or false";
	case PROTOBUF_C_TYPE_STRING:
	case PROTOBUF_C_TYPE_BYTES:
		return "a quoted string";
	case PROTOBUF_C_TYPE_ENUM:
		snprintf(buf, WANTED_MAX, "a name from the enum %s",
			 ((const ProtobufCEnumDescriptor *)field->descriptor)->short_name);
		return buf;
	case PROTOBUF_C_TYPE_MESSAGE:
		return "a message in { }";
	default:
		range = range_of_type(field->type);
		snprintf(buf, WANTED_MAX, "a whole number from %" PRId64 " to %" PRIu64, range.min,
			 range.max);
		return buf;
	}
}

static const char *describe_found_value(const struct literal *l)
{
	switch (l->token.kind) {
	case TEXT_WORD:
		return "a word";
	case TEXT_INTEGER:
		return "this number";
	case TEXT_FLOAT:
		return "a number with a fraction or exponent";
	default:
		return "a string";
	}
}

static void report_wrong_type(struct text_parser *p, const ProtobufCFieldDescriptor *field,
			      const struct literal *l)
{
	char buf[WANTED_MAX];

	text_parser_error(p, l->at, l->len, "field \"%s\" takes %s, not %s", field->name,
			  describe_expected_value(field, buf), describe_found_value(l));
}

static void report_out_of_range(struct text_parser *p, const ProtobufCFieldDescriptor *field,
				const struct literal *l)
{
	char buf[WANTED_MAX];
	int shown = (int)MIN(l->token.len, (size_t)QUOTED_MAX);

	text_parser_error(p, l->at, l->len, "%s%.*s%s does not fit: field \"%s\" takes %s",
			  l->negative ? "-" : "", shown, l->token.s,
			  l->token.len > QUOTED_MAX ? "..." : "", field->name,
			  describe_expected_value(field, buf));
}

/* ---- one conversion per type ---- */

/* Converts to 64-bit two's complement. Returns false after reporting an error. */
static bool convert_to_integer(struct text_parser *p, const ProtobufCFieldDescriptor *field,
			       const struct literal *l, uint64_t *ret_v)
{
	struct range range;
	uint64_t v, most;

	if (l->token.kind != TEXT_INTEGER) {
		report_wrong_type(p, field, l);
		return false;
	}
	range = range_of_type(field->type);
	most = l->negative ? -(uint64_t)range.min : range.max;
	if (text_value_parse_u64(&l->token, &v) < 0 || v > most) {
		report_out_of_range(p, field, l);
		return false;
	}
	*ret_v = l->negative ? -v : v;
	return true;
}

static bool convert_to_enum(struct text_parser *p, const ProtobufCFieldDescriptor *field,
			    const struct literal *l, uint32_t *ret_v)
{
	const ProtobufCEnumDescriptor *type = field->descriptor;
	const ProtobufCEnumValue *value;
	char hint[TEXT_HINT_MAX];
	uint64_t number = 0;

	if (l->token.kind == TEXT_WORD && !l->negative) {
		value = text_names_find_value(type, &l->token);
	} else if (l->token.kind == TEXT_INTEGER) {
		if (!convert_to_integer(p, field, l, &number))
			return false;
		value = protobuf_c_enum_descriptor_get_value(type, (int)number);
	} else {
		report_wrong_type(p, field, l);
		return false;
	}
	if (value) {
		*ret_v = (uint32_t)value->value;
		return true;
	}
	if (p->lossy)
		return false;
	text_parser_error(p, l->at, l->len, "no value %s \"%.*s\" in the enum %s%s",
			  l->token.kind == TEXT_WORD ? "named" : "numbered",
			  (int)MIN(l->len, (size_t)TEXT_NAME_MAX), l->at, type->short_name,
			  text_values_hint(type, &l->token, hint));
	return false;
}

static bool convert_to_bool(struct text_parser *p, const ProtobufCFieldDescriptor *field,
			    const struct literal *l, protobuf_c_boolean *ret_v)
{
	static const struct {
		const char *word;
		bool value;
	} words[] = {{"true", true},   {"True", true},	 {"t", true},
		     {"false", false}, {"False", false}, {"f", false}};
	const struct text_token *t = &l->token;
	uint64_t number;

	if (t->kind == TEXT_INTEGER && !l->negative && text_value_parse_u64(t, &number) == 0 &&
	    number <= 1) {
		*ret_v = (protobuf_c_boolean)number;
		return true;
	}
	for (size_t i = 0; i < ARRAY_SIZE(words) && t->kind == TEXT_WORD && !l->negative; i++) {
		if (strlen(words[i].word) == t->len && memcmp(words[i].word, t->s, t->len) == 0) {
			*ret_v = words[i].value;
			return true;
		}
	}
	report_wrong_type(p, field, l);
	return false;
}

static bool convert_to_float(struct text_parser *p, const ProtobufCFieldDescriptor *field,
			     const struct literal *l, union text_scalar *ret_v)
{
	int r = -EINVAL;

	if (l->token.kind != TEXT_STRING && field->type == PROTOBUF_C_TYPE_FLOAT) {
		r = text_value_parse_float(&l->token, &ret_v->f);
		ret_v->f = r == 0 && l->negative ? -ret_v->f : ret_v->f;
	} else if (l->token.kind != TEXT_STRING) {
		r = text_value_parse_double(&l->token, &ret_v->d);
		ret_v->d = r == 0 && l->negative ? -ret_v->d : ret_v->d;
	}
	if (r == -ENOMEM)
		text_parser_out_of_memory(p);
	else if (r < 0)
		report_wrong_type(p, field, l);
	return r == 0;
}

/* ---- strings ---- */

/* Reads adjacent strings and appends their bytes to out. Returns false if one is invalid, after
 * reporting it and reading the others. */
static bool read_strings(struct text_parser *p, struct strbuf *out)
{
	bool good = true;

	while (p->token.kind == TEXT_STRING || p->token.kind == TEXT_OPEN_STRING) {
		const char *at, *complaint = NULL;
		size_t n;

		good &= p->token.kind == TEXT_STRING;
		if (good)
			complaint = text_value_parse_bytes(&p->token, out, &at, &n);
		if (complaint) {
			text_parser_error(p, at, n, "%s", complaint);
			good = false;
		}
		text_parser_advance(p);
	}
	return good;
}

/* Reads the adjacent strings of a value into new memory, which the caller owns. Returns false after
 * reporting an error. */
static bool read_string(struct text_parser *p, const ProtobufCFieldDescriptor *field,
			union text_scalar *ret_v)
{
	const char *at = p->token.s;
	struct strbuf bytes = {0};
	bool good = read_strings(p, &bytes);
	size_t len = bytes.len;
	char *s;

	if (good && field->type == PROTOBUF_C_TYPE_STRING && len > 0 &&
	    memchr(bytes.s, '\0', len)) {
		text_parser_error(p, at, 1, "field \"%s\" takes text, which cannot contain \\0",
				  field->name);
		good = false;
	}
	if (!good) {
		strbuf_deinit(&bytes);
		return false;
	}
	s = strbuf_take(&bytes);
	if (!s) {
		text_parser_out_of_memory(p);
		return false;
	}
	if (field->type == PROTOBUF_C_TYPE_STRING)
		ret_v->string = s;
	else
		ret_v->bytes = (ProtobufCBinaryData){.len = len, .data = (uint8_t *)s};
	return true;
}

/* ---- any value ---- */

static bool begins_string(const struct text_token *t)
{
	return t->kind == TEXT_STRING || t->kind == TEXT_OPEN_STRING;
}

/* Reads an optional '-' and the token after it. Returns false if there is no value. */
static bool read_literal(struct text_parser *p, struct literal *ret)
{
	struct literal l = {.at = p->token.s};

	if (text_token_is(&p->token, '-')) {
		l.negative = true;
		text_parser_advance(p);
	}
	l.token = p->token;
	if (l.token.kind == TEXT_END || l.token.kind == TEXT_SYMBOL)
		return false;
	l.len = (size_t)(l.token.s + l.token.len - l.at);
	text_parser_advance(p);
	*ret = l;
	return true;
}

static bool convert_literal(struct text_parser *p, const ProtobufCFieldDescriptor *field,
			    const struct literal *l, union text_scalar *ret_v)
{
	uint64_t number;

	switch (field->type) {
	case PROTOBUF_C_TYPE_FLOAT:
	case PROTOBUF_C_TYPE_DOUBLE:
		return convert_to_float(p, field, l, ret_v);
	case PROTOBUF_C_TYPE_BOOL:
		return convert_to_bool(p, field, l, &ret_v->b);
	case PROTOBUF_C_TYPE_ENUM:
		return convert_to_enum(p, field, l, &ret_v->u32);
	case PROTOBUF_C_TYPE_STRING:
	case PROTOBUF_C_TYPE_BYTES:
	case PROTOBUF_C_TYPE_MESSAGE:
		report_wrong_type(p, field, l);
		return false;
	case PROTOBUF_C_TYPE_INT32:
	case PROTOBUF_C_TYPE_SINT32:
	case PROTOBUF_C_TYPE_SFIXED32:
	case PROTOBUF_C_TYPE_UINT32:
	case PROTOBUF_C_TYPE_FIXED32:
		if (!convert_to_integer(p, field, l, &number))
			return false;
		ret_v->u32 = (uint32_t)number;
		return true;
	default:
		return convert_to_integer(p, field, l, &ret_v->u64);
	}
}

bool text_scalar_read(struct text_parser *p, const ProtobufCFieldDescriptor *field,
		      union text_scalar *ret_v)
{
	bool is_text =
		field->type == PROTOBUF_C_TYPE_STRING || field->type == PROTOBUF_C_TYPE_BYTES;
	char buf[WANTED_MAX];
	struct literal l;

	if (is_text && begins_string(&p->token))
		return read_string(p, field, ret_v);
	if (!read_literal(p, &l)) {
		text_parser_error(p, p->token.s, p->token.len,
				  "field \"%s\" has no value: it takes %s", field->name,
				  describe_expected_value(field, buf));
		return false;
	}
	while (begins_string(&l.token) && begins_string(&p->token))
		text_parser_advance(p);
	if (l.token.kind == TEXT_OPEN_STRING)
		return false; /* the lexer's error was reported */
	if (l.token.kind == TEXT_BAD_NUMBER) {
		text_parser_error(p, l.at, l.len, "this is not a number; field \"%s\" takes %s",
				  field->name, describe_expected_value(field, buf));
		return false;
	}
	return convert_literal(p, field, &l, ret_v);
}

void text_scalar_free(const ProtobufCFieldDescriptor *field, union text_scalar *v)
{
	if (field->type == PROTOBUF_C_TYPE_STRING)
		free(v->string);
	else if (field->type == PROTOBUF_C_TYPE_BYTES)
		free(v->bytes.data);
}

void text_scalar_skip(struct text_parser *p)
{
	struct literal l;

	if (!read_literal(p, &l))
		return;
	while (begins_string(&l.token) && begins_string(&p->token))
		text_parser_advance(p);
}
