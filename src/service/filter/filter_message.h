/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct filter_bytecode;
struct filter_strings;

/*
 * Filters a message: keeps the fields that the bytecode allows, and applies the string rules. A
 * field that is a message or a string in the bytecode, but a number in the packet, is dropped.
 *
 * out has room for len bytes, and is `in` itself or does not overlap it. The result is never longer
 * than the input. The length of a nested message keeps its number of bytes. *budget: see
 * filter_strings_apply().
 *
 * Returns 0; -EBADMSG (malformed, or nested deeper than MAX_FILTER_DEPTH) or -E2BIG (the budget is
 * used up), then out is undefined.
 */
int filter_message(const struct filter_bytecode *code, struct filter_strings *strings,
		   const uint8_t *in, size_t len, uint8_t *out, size_t *ret_len, uint64_t *budget);
