/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdint.h>

#include "ftrace/encode/event_encode.h"

/*
 * The kinds of fields that are more than a copy of what the record holds (FIELD_FIRST_TEXT and up):
 * stacks, names of functions, formatted text. Seldom, and not tuned.
 *
 * A kernel address is the name of its function where the session has symbols (ctx->symbols), and else
 * "#N", N being its number in the bundle: which addresses are the same is told, where they are is
 * not.
 */
#define EVENT_TEXT_MAX 8192u /* bytes of one text; longer ones are cut, and end in "..." */
#define EVENT_TEXT_FRAMES 256u /* of a stack; the kernel's own limit is below */

/*
 * Writes the field's bytes, without tag and length, to memory with room for EVENT_TEXT_MAX, or for
 * the record. Gives the byte after them, or NULL where there is nothing to say.
 */
uint8_t *field_text_put(uint8_t *p, const struct field_op *op, const struct ring_record *r,
			struct encode_ctx *ctx);
