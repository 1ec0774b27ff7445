/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdint.h>

#include "ftrace/encode/field_value.h"

/*
 * Encodes fields that become text (FIELD_FIRST_TEXT and up): stacks, function names, printf
 * output. They are rare; this code is not optimized.
 *
 * A kernel address becomes the name of its function if the session has symbols (ctx->symbols),
 * else "#N" with its number in the bundle, which shows equal addresses without revealing them.
 */
#define EVENT_TEXT_MAX 8192u /* bytes of one text; longer texts are cut, stacks with "..." */
#define EVENT_TEXT_FRAMES 256u /* of a stack; above the kernel's limit */

/* Writes the content of the field, without tag and length. The memory must have room for
 * EVENT_TEXT_MAX bytes or the record, whichever is more. Returns the end of the output, or NULL if
 * there is nothing to write. */
uint8_t *field_text_put(uint8_t *p, const struct field_op *op, const struct ring_record *r,
			struct encode_ctx *ctx);
