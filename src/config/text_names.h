/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <protobuf-c/protobuf-c.h>

#include "config/text_lex.h"

/* Names in a text, looked up in descriptors; and for those that do not exist, the next best. */

#define TEXT_NAME_MAX 128 /* a longer word names nothing */

/* By name, or by number for a TEXT_INTEGER. NULL when there is none. */
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
