/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <protobuf-c/protobuf-c.h>

#include "base/text/str.h"

/*
 * Appends a message as one JSON object, without white space: fields under their names in protos/, a
 * repeated one as a list, enum values by name, bytes in base64, 64-bit numbers as numbers, what is
 * no finite number as null. Of strings, which are often of other processes, control characters and what is
 * no UTF-8 are '?'. Fields that the descriptor does not know are left out.
 */
void json_print(const ProtobufCMessage *message, struct strbuf *out);

/* Appends one string with its quotes, as above. */
void json_print_string(const char *s, struct strbuf *out);
