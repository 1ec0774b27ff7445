/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The grammar, by recursive descent, one function per rule:
 *
 *	message:  field*
 *	field:    name [':'] (value | '[' [value {',' value}] ']') [',' | ';']
 *	name:     WORD | INTEGER
 *	value:    '{' message '}' | '<' message '>' | scalar
 *
 * After a semantic error (an unknown name, a wrong type) exactly the field is skipped. After a
 * syntax error, the parser skips to what looks like the next field of the same message: the name of
 * a field; a word followed by ':' or a brace, or at the start of a line; "[name." of an extension.
 * Every rule that reports an error has read a token, or leaves one that its caller reads. So the
 * parser always reaches the end.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/mem.h"
#include "config/text.h"
#include "config/text_field.h"
#include "config/text_lex.h"
#include "config/text_scalar.h"
#include "config/text_values.h"

/* A message being read. */
struct scope {
	ProtobufCMessage *message; /* owned by its parent */
	struct text_token opener; /* its '{' or '<'; TEXT_END for the whole text */
	unsigned depth;
	const char **seen; /* owned; for each field of the type the position of its name, or NULL */
};

static const ProtobufCMessageDescriptor *text_parse_type_of(const struct scope *s)
{
	return s->message->descriptor;
}

static bool is_opener(const struct text_token *t)
{
	return text_token_is(t, '{') || text_token_is(t, '<') || text_token_is(t, '[');
}

static bool is_closer(const struct text_token *t)
{
	return text_token_is(t, '}') || text_token_is(t, '>') || text_token_is(t, ']');
}

static bool is_separator(const struct text_token *t)
{
	return text_token_is(t, ',') || text_token_is(t, ';');
}

/* ---- error recovery ---- */

/* Reads from an opener to the matching closer, whatever is between. */
static void skip_group(struct text_parser *p)
{
	struct text_token opener = p->token;
	unsigned open = 0;

	do {
		if (is_opener(&p->token))
			open++;
		else if (is_closer(&p->token))
			open--;
		text_parser_advance(p);
	} while (open > 0 && p->token.kind != TEXT_END);
	if (open > 0)
		text_parser_error(p, opener.s, 1, "'%c' is not closed", *opener.s);
}

static void skip_value(struct text_parser *p)
{
	if (is_opener(&p->token))
		skip_group(p);
	else
		text_scalar_skip(p);
}

static bool is_first_in_line(const struct text_parser *p)
{
	const char *s = p->token.s;

	while (s > p->report.text && (s[-1] == ' ' || s[-1] == '\t'))
		s--;
	return s == p->report.text || s[-1] == '\n';
}

static bool begins_field(const struct text_parser *p, const ProtobufCMessageDescriptor *type)
{
	struct text_lexer ahead = p->lexer;
	struct text_token after = text_lexer_next(&ahead);

	if (text_token_is(&p->token, '[') && after.kind == TEXT_WORD) {
		after = text_lexer_next(&ahead);
		return text_token_is(&after, '.') || text_token_is(&after, '/');
	}
	if (p->token.kind == TEXT_INTEGER)
		return text_token_is(&after, ':');
	if (p->token.kind != TEXT_WORD)
		return false;
	return text_token_is(&after, ':') || text_token_is(&after, '{') ||
	       text_token_is(&after, '<') || text_names_find_field(type, &p->token) ||
	       is_first_in_line(p);
}

/* Skips to the next token at which a message of the type can continue. */
static void skip_to_next_field(struct text_parser *p, const ProtobufCMessageDescriptor *type)
{
	while (p->token.kind != TEXT_END && !is_closer(&p->token) && !is_separator(&p->token) &&
	       !begins_field(p, type)) {
		if (is_opener(&p->token))
			skip_group(p);
		else
			text_parser_advance(p);
	}
}

/* Skips the rest of a field with an unknown name. Without ':' a word may be its value or the next
 * field. */
static void skip_field(struct text_parser *p, const ProtobufCMessageDescriptor *type)
{
	bool colon = text_token_is(&p->token, ':');

	if (colon)
		text_parser_advance(p);
	if (colon || !begins_field(p, type))
		skip_value(p);
	skip_to_next_field(p, type);
}

/* ---- values ---- */

static void text_parse_read_message(struct text_parser *p, struct scope *s);

static void read_submessage(struct text_parser *p, const struct scope *s,
			    const ProtobufCFieldDescriptor *field)
{
	const ProtobufCMessageDescriptor *type = field->descriptor;
	struct scope sub = {.opener = p->token, .depth = s->depth + 1};

	if (sub.depth > TEXT_MAX_DEPTH) {
		text_parser_error(p, p->token.s, 1, "messages are nested more than %d deep",
				  TEXT_MAX_DEPTH);
		skip_group(p);
		return;
	}
	text_parser_advance(p);
	sub.message = malloc(type->sizeof_message);
	if (!sub.message) {
		text_parser_out_of_memory(p);
		return;
	}
	protobuf_c_message_init(type, sub.message);
	if (text_field_put(s->message, field, &sub.message) < 0) {
		free(sub.message);
		text_parser_out_of_memory(p);
		return;
	}
	text_parse_read_message(p, &sub);
}

static void read_scalar(struct text_parser *p, const struct scope *s,
			const ProtobufCFieldDescriptor *field)
{
	union text_scalar v;

	if (is_opener(&p->token)) {
		text_parser_error(p, p->token.s, 1, "field \"%s\" takes no %s", field->name,
				  *p->token.s == '[' ? "list here" : "message");
		skip_group(p);
	} else if (!text_scalar_read(p, field, &v)) {
		skip_to_next_field(p, text_parse_type_of(s));
	} else if (text_field_put(s->message, field, &v) < 0) {
		text_scalar_free(field, &v);
		text_parser_out_of_memory(p);
	}
}

static void read_value(struct text_parser *p, const struct scope *s,
		       const ProtobufCFieldDescriptor *field)
{
	bool brace = text_token_is(&p->token, '{') || text_token_is(&p->token, '<');

	if (field->type == PROTOBUF_C_TYPE_MESSAGE && brace)
		read_submessage(p, s, field);
	else
		read_scalar(p, s, field);
}

/* Reads a list from '[' to ']'. */
static void text_parse_read_list(struct text_parser *p, const struct scope *s,
				 const ProtobufCFieldDescriptor *field)
{
	struct text_token opener = p->token;

	text_parser_advance(p);
	if (text_token_is(&p->token, ']')) {
		text_parser_advance(p);
		return;
	}
	for (;;) {
		read_value(p, s, field);
		if (!text_token_is(&p->token, ','))
			break;
		text_parser_advance(p);
	}
	if (text_token_is(&p->token, ']')) {
		text_parser_advance(p);
		return;
	}
	text_parser_error(p, p->token.s, p->token.len,
			  "expected ',' or ']' in the list of field \"%s\" that began on line %u",
			  field->name, text_report_line_number(&p->report, opener.s));
	while (p->token.kind != TEXT_END && !is_closer(&p->token)) {
		if (is_opener(&p->token))
			skip_group(p);
		else
			text_parser_advance(p);
	}
	if (text_token_is(&p->token, ']'))
		text_parser_advance(p);
}

/* ---- fields ---- */

/* Returns true if the field, which is named at `name`, may have a value, or another one if it has
 * one. Otherwise reports an error. */
static bool check_not_repeated(struct text_parser *p, const struct scope *s,
			       const ProtobufCFieldDescriptor *field, const struct text_token *name)
{
	const char *seen = s->seen[field - text_parse_type_of(s)->fields];
	const ProtobufCFieldDescriptor *other = NULL;

	if (field->label == PROTOBUF_C_LABEL_REPEATED)
		return true;
	if (seen) {
		text_parser_error(p, name->s, name->len,
				  "second value for field \"%s\", which already has one on line %u",
				  field->name, text_report_line_number(&p->report, seen));
		return false;
	}
	if (field->flags & PROTOBUF_C_FIELD_FLAG_ONEOF)
		other = text_field_oneof_member(s->message, field);
	if (other) {
		const char *at = s->seen[other - text_parse_type_of(s)->fields];

		text_parser_error(p, name->s, name->len,
				  "field \"%s\" excludes \"%s\" on line %u: only one may be set",
				  field->name, other->name,
				  text_report_line_number(&p->report, at));
		return false;
	}
	return true;
}

static void report_unknown_name(struct text_parser *p, const struct scope *s,
				const struct text_token *name)
{
	char hint[TEXT_HINT_MAX];

	if (p->lossy)
		return;
	text_parser_error(p, name->s, name->len, "no field %s \"%.*s\" in %s%s",
			  name->kind == TEXT_WORD ? "named" : "numbered",
			  (int)MIN(name->len, (size_t)TEXT_NAME_MAX), name->s,
			  text_parse_type_of(s)->short_name,
			  text_fields_hint(text_parse_type_of(s), name, hint));
}

/* Returns true if the field has no value and the name of the next field follows. */
static bool is_value_missing(const struct text_parser *p, const struct scope *s,
			     const ProtobufCFieldDescriptor *field)
{
	struct text_lexer ahead = p->lexer;
	struct text_token after = text_lexer_next(&ahead);

	if (p->token.kind != TEXT_WORD || !text_names_find_field(text_parse_type_of(s), &p->token))
		return false;
	return field->type != PROTOBUF_C_TYPE_ENUM || text_token_is(&after, ':') ||
	       text_token_is(&after, '{');
}

static void read_known_field(struct text_parser *p, struct scope *s,
			     const ProtobufCFieldDescriptor *field, const struct text_token *name)
{
	if (!check_not_repeated(p, s, field, name)) {
		skip_field(p, text_parse_type_of(s));
		return;
	}
	if (text_token_is(&p->token, ':'))
		text_parser_advance(p);
	if (is_value_missing(p, s, field)) {
		text_parser_error(p, name->s, name->len, "field \"%s\" has no value", field->name);
		return;
	}
	if (field->label == PROTOBUF_C_LABEL_REPEATED && text_token_is(&p->token, '['))
		text_parse_read_list(p, s, field);
	else
		read_value(p, s, field);
	s->seen[field - text_parse_type_of(s)->fields] = name->s;
}

/* Skips a field such as "[pkg.extension]" or "[type.googleapis.com/message]". Reports an error
 * unless the parser is lossy. */
static void read_extension(struct text_parser *p, const struct scope *s)
{
	if (!p->lossy)
		text_parser_error(p, p->token.s, 1,
				  "extensions and Any (a name in [ ]) are not supported");
	skip_group(p);
	skip_field(p, text_parse_type_of(s));
}

static void read_field(struct text_parser *p, struct scope *s)
{
	const ProtobufCFieldDescriptor *field;
	struct text_token name = p->token;

	if (text_token_is(&name, '[')) {
		read_extension(p, s);
	} else if (name.kind != TEXT_WORD && name.kind != TEXT_INTEGER) {
		text_parser_error(p, name.s, name.len, "expected the name of a field in %s",
				  text_parse_type_of(s)->short_name);
		skip_value(p);
		if (p->token.s == name.s)
			text_parser_advance(p);
		skip_to_next_field(p, text_parse_type_of(s));
	} else {
		text_parser_advance(p);
		field = text_names_find_field(text_parse_type_of(s), &name);
		if (field) {
			read_known_field(p, s, field, &name);
		} else {
			report_unknown_name(p, s, &name);
			skip_field(p, text_parse_type_of(s));
		}
	}
	if (is_separator(&p->token))
		text_parser_advance(p);
}

/* Reads the closer of a message, and checks that it matches the opener. */
static void read_closer(struct text_parser *p, const struct scope *s)
{
	char want = text_token_is(&s->opener, '<') ? '>' : '}';

	if (p->token.kind == TEXT_END) {
		text_parser_error(p, s->opener.s, 1, "'%c' is not closed", *s->opener.s);
		return;
	}
	if (!text_token_is(&p->token, want))
		text_parser_error(p, p->token.s, 1,
				  "expected '%c' to close the '%c' from line %u, not '%c'", want,
				  *s->opener.s, text_report_line_number(&p->report, s->opener.s),
				  *p->token.s);
	text_parser_advance(p);
}

static void check_required(struct text_parser *p, const struct scope *s)
{
	const ProtobufCMessageDescriptor *type = text_parse_type_of(s);

	for (unsigned i = 0; i < type->n_fields; i++)
		if (type->fields[i].label == PROTOBUF_C_LABEL_REQUIRED && !s->seen[i])
			text_parser_error(p, s->opener.s, s->opener.len,
					  "%s lacks the required field \"%s\"", type->short_name,
					  type->fields[i].name);
}

static void text_parse_read_message(struct text_parser *p, struct scope *s)
{
	bool whole = s->opener.kind == TEXT_END;

	s->seen = calloc(text_parse_type_of(s)->n_fields + 1, sizeof(*s->seen));
	if (!s->seen) {
		text_parser_out_of_memory(p);
		return;
	}
	while (p->token.kind != TEXT_END && (whole || !is_closer(&p->token))) {
		if (is_closer(&p->token)) {
			text_parser_error(p, p->token.s, 1, "unmatched '%c'", *p->token.s);
			text_parser_advance(p);
		} else {
			read_field(p, s);
		}
	}
	check_required(p, s);
	if (!whole)
		read_closer(p, s);
	free(s->seen);
}

static int text_parse_form(const ProtobufCMessageDescriptor *type, const char *name,
			   const char *text, size_t len, bool lossy, struct strbuf *errors,
			   ProtobufCMessage **ret_message)
{
	struct scope whole = {.opener = {TEXT_END, text, 0}};
	struct text_parser p;

	whole.message = malloc(type->sizeof_message);
	if (!whole.message)
		return -ENOMEM;
	protobuf_c_message_init(type, whole.message);
	text_parser_init(&p, name, len ? text : "", len, errors);
	p.lossy = lossy;
	text_parse_read_message(&p, &whole);
	if (!p.out_of_memory && !errors->failed && p.report.n_errors == 0) {
		*ret_message = whole.message;
		return 0;
	}
	protobuf_c_message_free_unpacked(whole.message, NULL);
	return p.out_of_memory || errors->failed ? -ENOMEM : -EINVAL;
}

int text_parse(const ProtobufCMessageDescriptor *type, const char *name, const char *text,
	       size_t len, struct strbuf *errors, ProtobufCMessage **ret_message)
{
	return text_parse_form(type, name, text, len, false, errors, ret_message);
}

int text_parse_lossy(const ProtobufCMessageDescriptor *type, const char *name, const char *text,
		     size_t len, struct strbuf *errors, ProtobufCMessage **ret_message)
{
	return text_parse_form(type, name, text, len, true, errors, ret_message);
}
