/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct filter_bytecode;
struct filter_strings;

/*
 * Leaves of a message what the bytecode allows, with its strings as the rules leave them. A field
 * that should be a message or a string by the bytecode, and is a number in the packet, goes.
 *
 * out has room for len bytes, and is `in` itself or does not overlap it; what comes out is never
 * longer than what goes in. A nested message keeps as many bytes for its length as the old length
 * needs. *budget: as filter_strings_apply has it.
 *
 * 0; -EBADMSG: not a message, where it had to be read, or nested deeper than MAX_FILTER_DEPTH; -E2BIG:
 * the budget is used up. out holds nothing of use then.
 */
int filter_message(const struct filter_bytecode *code, struct filter_strings *strings,
		   const uint8_t *in, size_t len, uint8_t *out, size_t *ret_len, uint64_t *budget);
