/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A hint is the first of: the same name in other letters (Buffers, ring_buffer); of an enum the
 * name without its prefix; the message one level down that has the field (a buffer_size_kb that
 * stands outside of ftrace_config); the name nearest by typing errors; of an enum of few values,
 * all of them.
 */
#include "config/text_names.h"

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/text/str.h"
#include "config/text_value.h"

#define LISTED_VALUES 6

/* The word NUL-terminated, or NULL for what is no word or too long. */
static const char *word_of(const struct text_token *t, char buf[static TEXT_NAME_MAX])
{
	if (t->kind != TEXT_WORD || t->len >= TEXT_NAME_MAX)
		return NULL;
	memcpy(buf, t->s, t->len);
	buf[t->len] = '\0';
	return buf;
}

const ProtobufCFieldDescriptor *text_names_field(const ProtobufCMessageDescriptor *type,
						 const struct text_token *t)
{
	char buf[TEXT_NAME_MAX];
	const char *word = word_of(t, buf);
	uint64_t id;

	if (word)
		return protobuf_c_message_descriptor_get_field_by_name(type, word);
	if (t->kind != TEXT_INTEGER || text_value_u64(t, &id) < 0 || id > INT_MAX)
		return NULL;
	return protobuf_c_message_descriptor_get_field(type, (unsigned)id);
}

const ProtobufCEnumValue *text_names_value(const ProtobufCEnumDescriptor *type,
					   const struct text_token *t)
{
	char buf[TEXT_NAME_MAX];
	const char *word = word_of(t, buf);

	return word ? protobuf_c_enum_descriptor_get_value_by_name(type, word) : NULL;
}

static const char *did_you_mean(const char *name, char *buf)
{
	snprintf(buf, TEXT_HINT_MAX, "; did you mean \"%s\"?", name);
	return buf;
}

/* The field of this type whose message has a field of that name. */
static const ProtobufCFieldDescriptor *one_level_down(const ProtobufCMessageDescriptor *type,
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

const char *text_names_hint_field(const ProtobufCMessageDescriptor *type,
				  const struct text_token *t, char buf[static TEXT_HINT_MAX])
{
	char word_buf[TEXT_NAME_MAX];
	const char *word = word_of(t, word_buf);
	const ProtobufCFieldDescriptor *down;
	struct str_nearest nearest;

	buf[0] = '\0';
	if (!word)
		return buf;
	for (unsigned i = 0; i < type->n_fields; i++)
		if (strcasecmp(type->fields[i].name, word) == 0)
			return did_you_mean(type->fields[i].name, buf);
	down = one_level_down(type, word);
	if (down) {
		snprintf(buf, TEXT_HINT_MAX, "; its place is inside \"%s { }\"", down->name);
		return buf;
	}
	str_nearest_init(&nearest, word);
	for (unsigned i = 0; i < type->n_fields; i++)
		str_nearest_try(&nearest, type->fields[i].name);
	return str_nearest_get(&nearest) ? did_you_mean(str_nearest_get(&nearest), buf) : buf;
}

/* MEM_TOTAL of MEMINFO_MEM_TOTAL, in any case. */
static bool is_end_of(const char *name, const char *word)
{
	size_t n = strlen(name), m = strlen(word);

	return n > m && name[n - m - 1] == '_' && strcasecmp(name + n - m, word) == 0;
}

static const char *list_values(const ProtobufCEnumDescriptor *type, char *buf)
{
	size_t len = 0;

	for (unsigned i = 0; i < type->n_values && len < TEXT_HINT_MAX; i++)
		len += (size_t)snprintf(buf + len, TEXT_HINT_MAX - len, "%s%s",
					i == 0 ? "; it has " : ", ", type->values[i].name);
	return buf;
}

const char *text_names_hint_value(const ProtobufCEnumDescriptor *type, const struct text_token *t,
				  char buf[static TEXT_HINT_MAX])
{
	char word_buf[TEXT_NAME_MAX];
	const char *word = word_of(t, word_buf);
	struct str_nearest nearest;

	buf[0] = '\0';
	if (word) {
		str_nearest_init(&nearest, word);
		for (unsigned i = 0; i < type->n_value_names; i++) {
			const char *name = type->values_by_name[i].name;

			if (strcasecmp(name, word) == 0 || is_end_of(name, word))
				return did_you_mean(name, buf);
			str_nearest_try(&nearest, name);
		}
		if (str_nearest_get(&nearest))
			return did_you_mean(str_nearest_get(&nearest), buf);
	}
	return type->n_values <= LISTED_VALUES ? list_values(type, buf) : buf;
}
