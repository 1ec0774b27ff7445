/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/text/str.h"

/* Appends the bytes of a text in base64 (RFC 4648), with or without padding; strbuf_put_base64() is
 * the reverse. Returns false if the text is not base64; some of the bytes may have been appended
 * then. */
bool strbuf_put_decoded_base64(struct strbuf *b, const char *text, size_t len);
