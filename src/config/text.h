/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <protobuf-c/protobuf-c.h>

#include "base/text/str.h"

/*
 * Protobuf's text format, both ways, driven by protobuf-c's descriptors.
 *
 * Reading accepts the whole format: '{}' or '<>' in any spacing, with or without ':', ',' or ';'
 * after a field, lists, comments, both quotes and adjacent strings, all escapes, hexadecimal and
 * octal, signs, exponents, inf and nan, enum values by name or number, True/t/1, fields by number.
 * Also what Perfetto's command line takes: no ':' before a scalar, and line ends inside a string.
 *
 * Unknown fields and enum values, wrong types, values that do not fit, and a second value for a
 * singular field or a oneof are errors. So are extensions and Any ("[name]"): descriptors of
 * protobuf-c have neither.
 */

#define TEXT_MAX_DEPTH 100 /* messages inside messages */
#define TEXT_MAX_ERRORS 20 /* then reading stops */

/*
 * Reads text into a new message of the type (free it with protobuf_c_message_free_unpacked). All
 * errors are appended to errors, each as
 *
 *	FILE:LINE:COLUMN: error: no field named "buffer" in TraceConfig; did you mean "buffers"?
 *	    buffer { size_kb: 64 }
 *	    ^~~~~~
 *
 * Lines and columns count from 1, columns in bytes with a tab as one. name is what stands for FILE.
 * Returns 0, -EINVAL with at least one error written, or -ENOMEM.
 */
int text_parse(const ProtobufCMessageDescriptor *type, const char *name, const char *text,
	       size_t len, struct strbuf *errors, ProtobufCMessage **ret_message);

/*
 * Appends the message as text, two spaces a level, fields in the order of their numbers. The same
 * message always gives the same text, and text_parse reads it back. Only what the descriptor does
 * not know stands there as a number (fields, enum values) and would be an error to text_parse.
 */
void text_print(const ProtobufCMessage *message, struct strbuf *out);

/* Appends one value of a field that is not a message, as text_print does. */
void text_print_scalar(const ProtobufCFieldDescriptor *field, const void *value,
		       struct strbuf *out);

/* Is this text rather than a serialized message? Only printable characters (ASCII or UTF-8) and
 * white space; nothing at all is text, too. */
bool text_looks_like(const void *data, size_t len);
