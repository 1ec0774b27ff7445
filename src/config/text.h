/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <protobuf-c/protobuf-c.h>

#include "base/str.h"

/*
 * Protobuf's text format, both ways, driven by protobuf-c's descriptors. Reading accepts the whole
 * format: ':' and
 * '{}' or '<>' in any spacing, ',' and ';' after a field, lists, comments, both quotes and adjacent
 * strings, all escapes, hexadecimal and octal, signs, exponents, inf and nan, enum values by name
 * or number, True/t/1, fields by number. Unknown fields, wrong types, values that do not fit, and a
 * second value for a singular field are errors.
 */

/*
 * Reads text into a new message of the type (free it with protobuf_c_message_free_unpacked). All
 *errors go to errors, each as
 *
 *	FILE:LINE:COLUMN: error: no field named "buffer" in TraceConfig; did you mean "buffers"?
 *	    buffer { size_kb: 64 }
 *	    ^~~~~~
 *
 * Lines and columns count from 1, columns in bytes with a tab as one. name is what stands for FILE.
 *Returns 0, -EINVAL with at least one error written, or -ENOMEM.
 */
int text_parse(const ProtobufCMessageDescriptor *type, const char *name, const char *text,
	       size_t len, struct strbuf *errors, ProtobufCMessage **ret_message);

/* Appends the message as text, two spaces a level, fields in the order of their numbers; unknown
 * fields as numbers. */
void text_print(const ProtobufCMessage *message, struct strbuf *out);

/* Is this text rather than a serialized message? (Only printable bytes and white space.) */
bool text_looks_like(const void *data, size_t len);
