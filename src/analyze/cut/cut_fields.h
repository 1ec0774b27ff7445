/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/text/str.h"

/* Append a field of a message to a string, which is `failed` if memory is out. */
void cut_put_number(struct strbuf *b, uint32_t field, uint64_t v);
void cut_put_fixed64(struct strbuf *b, uint32_t field, uint64_t v);
void cut_put_bytes(struct strbuf *b, uint32_t field, const void *data, size_t len);
