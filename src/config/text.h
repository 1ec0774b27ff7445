/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <protobuf-c/protobuf-c.h>

#include "base/text/str.h"

/*
 * Reads and writes protobuf's text format, driven by protobuf-c's descriptors.
 *
 * Reading accepts the whole format: '{}' or '<>' in any spacing, with or without ':', ',' or ';'
 * after a field, lists, comments, both quotes and adjacent strings, all escapes, hexadecimal and
 * octal, signs, exponents, inf and nan, enum values by name or number, True/t/1, fields by number.
 * Two forms of Perfetto's command line are accepted, too: no ':' before a scalar, and line ends
 * inside a string.
 *
 * Errors are: unknown fields and enum values, wrong types, values out of range, a second value for
 * a singular field or a oneof, and extensions and Any ("[name]"), which protobuf-c's descriptors do
 * not have.
 */

#define TEXT_MAX_DEPTH 100 /* nested messages */
#define TEXT_MAX_ERRORS 20 /* reading stops after that many */

/*
 * Reads text into a new message of the type (the caller frees it with
 * protobuf_c_message_free_unpacked). All errors are appended to errors, each in this form:
 *
 *	FILE:LINE:COLUMN: error: no field named "buffer" in TraceConfig; did you mean "buffers"?
 *	    buffer { size_kb: 64 }
 *	    ^~~~~~
 *
 * Lines and columns count from 1; columns are bytes, and a tab is one. name is shown as FILE.
 * Returns 0, -EINVAL with at least one error appended, or -ENOMEM.
 */
int text_parse(const ProtobufCMessageDescriptor *type, const char *name, const char *text,
	       size_t len, struct strbuf *errors, ProtobufCMessage **ret_message);

/* Like text_parse(), but skips unknown fields, unknown enum values and extensions. */
int text_parse_lossy(const ProtobufCMessageDescriptor *type, const char *name, const char *text,
		     size_t len, struct strbuf *errors, ProtobufCMessage **ret_message);

/* Appends the message as text, two spaces per level, fields sorted by number. The same message
 * always gives the same text, and text_parse() reads it back. Exception: unknown fields and enum
 * values are printed as numbers, which text_parse() rejects. */
void text_print(const ProtobufCMessage *message, struct strbuf *out);

/* Appends one value of a field that is not a message, as text_print does. */
void text_print_scalar(const ProtobufCFieldDescriptor *field, const void *value,
		       struct strbuf *out);

/* Returns true if data is text rather than a serialized message: only printable characters (ASCII
 * or UTF-8) and white space. Empty data is text. */
bool text_looks_like(const void *data, size_t len);
