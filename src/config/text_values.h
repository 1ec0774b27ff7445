/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <protobuf-c/protobuf-c.h>
#include <stdint.h>

#include "base/text/str.h"
#include "config/text_lex.h"

/* Names in a text, looked up in descriptors; and for those that do not exist, the next best. */

#define TEXT_NAME_MAX 128 /* a longer word names nothing */

/* By name, or by number for a TEXT_INTEGER. Returns NULL if there is none. */
const ProtobufCFieldDescriptor *text_names_field(const ProtobufCMessageDescriptor *type,
						 const struct text_token *t);
const ProtobufCEnumValue *text_names_value(const ProtobufCEnumDescriptor *type,
					   const struct text_token *t);

/* The end of a complaint: "; did you mean "buffers"?", or "". Written to buf, which is returned. */
#define TEXT_HINT_MAX 320
const char *text_names_hint_field(const ProtobufCMessageDescriptor *type,
				  const struct text_token *t, char buf[static TEXT_HINT_MAX]);
const char *text_names_hint_value(const ProtobufCEnumDescriptor *type, const struct text_token *t,
				  char buf[static TEXT_HINT_MAX]);

/* What single tokens of the text format stand for, whatever field they are for; and back. */

/* A TEXT_INTEGER. Returns 0, or -ERANGE above 2^64-1. */
int text_value_u64(const struct text_token *t, uint64_t *ret_v);

/* A decimal TEXT_INTEGER or a TEXT_FLOAT, or the words inf, infinity and nan in any case; what is
 * too large is infinite. 0, -EINVAL (a word or a base that no float may have) or -ENOMEM. */
int text_value_double(const struct text_token *t, double *ret_v);
int text_value_float(const struct text_token *t, float *ret_v);

/* Appends the bytes of a TEXT_STRING to out. NULL, or a complaint (static memory) about the n bytes
 * at ret_at. */
const char *text_value_bytes(const struct text_token *t, struct strbuf *out, const char **ret_at,
			     size_t *ret_n);

/* Of few digits, and reads back as the same number. */
void text_value_print_double(double v, struct strbuf *out);
void text_value_print_float(float v, struct strbuf *out);
/* In double quotes; all but printable ASCII escaped. */
void text_value_print_bytes(const void *data, size_t len, struct strbuf *out);
