/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <protobuf-c/protobuf-c.h>

#include "base/text/str.h"

/* Appends a message as one JSON object, without white space: fields under their names in protos/,
 * repeated fields as lists, enum values by name, bytes in base64, 64-bit numbers as numbers,
 * infinity and NaN as null, strings as strbuf_put_json() writes them. Fields that the descriptor
 * does not know are omitted. */
void json_print(const ProtobufCMessage *message, struct strbuf *out);
