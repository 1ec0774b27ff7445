/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <protobuf-c/protobuf-c.h>
#include <stdint.h>

#include "base/text/str.h"
#include "config/text_lex.h"

/* Finds names of the text in descriptors, and suggests similar names for unknown ones. */

#define TEXT_NAME_MAX 128 /* longer words match no name */

/* Finds a field by name, or by number for a TEXT_INTEGER. Returns NULL if there is none. */
const ProtobufCFieldDescriptor *text_names_find_field(const ProtobufCMessageDescriptor *type,
						      const struct text_token *t);
const ProtobufCEnumValue *text_names_find_value(const ProtobufCEnumDescriptor *type,
						const struct text_token *t);

/* Writes the end of an error message to buf and returns it: "; did you mean "buffers"?",
 * "; it has A, B", "; it belongs inside "ftrace_config { }"", or "". */
#define TEXT_HINT_MAX 320
const char *text_fields_hint(const ProtobufCMessageDescriptor *type, const struct text_token *t,
			     char buf[static TEXT_HINT_MAX]);
const char *text_values_hint(const ProtobufCEnumDescriptor *type, const struct text_token *t,
			     char buf[static TEXT_HINT_MAX]);

/* Converts single tokens of the text format to values, for fields of any type, and back. */

/* Converts a TEXT_INTEGER. Returns 0, or -ERANGE above 2^64-1. */
int text_value_parse_u64(const struct text_token *t, uint64_t *ret_v);

/* Converts a decimal TEXT_INTEGER, a TEXT_FLOAT, or the words inf, infinity and nan in any case.
 * Values out of range become infinite. Returns 0, -EINVAL (a word or a base that floats do not
 * have) or -ENOMEM. */
int text_value_parse_double(const struct text_token *t, double *ret_v);
int text_value_parse_float(const struct text_token *t, float *ret_v);

/* Appends the bytes of a TEXT_STRING to out. Returns NULL, or an error message (static memory)
 * about the n bytes at ret_at. */
const char *text_value_parse_bytes(const struct text_token *t, struct strbuf *out,
				   const char **ret_at, size_t *ret_n);

/* Prints the number in few digits, but enough to read back the same number. */
void text_value_print_double(double v, struct strbuf *out);
void text_value_print_float(float v, struct strbuf *out);
/* Prints in double quotes and escapes everything but printable ASCII. */
void text_value_print_bytes(const void *data, size_t len, struct strbuf *out);
