/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

/*
 * Which fields of a trace stay: an allow-list, compiled from the bytecode of TraceFilter. Of each
 * message of the schema it says what happens to each field.
 *
 * The bytecode is a list of varints of 32 bits; the last is the low half of the 64-bit FNV-1a of
 * those before, each taken as four bytes, the lowest first. Message after message:
 *
 *	field << 3 | 1			it stays
 *	field << 3 | 2, count		so do the fields from it on
 *	field << 3 | 3, index		it is filtered as that message of this list
 *	field << 3 | 4			it stays, a string that the rules for strings are for
 *	field << 3 | 5, type		the same, of a semantic type
 *	0				end of the message
 *
 * Of fields below 128 that are named twice the last counts; those above come in order, each once.
 *
 * An overlay changes that: triples of the message's index, one of the words above (1, 4 or 5) and its
 * argument (or 0), in order of message and field, each once; and the sum. What it says of a field
 * replaces what the bytecode says.
 */

enum filter_action {
	FILTER_DROP,
	FILTER_KEEP,
	FILTER_NESTED, /* argument: number of the message */
	FILTER_STRING, /* argument: semantic type, FILTER_OTHER_TYPE for one that nobody knows */
};

#define FILTER_OTHER_TYPE 64u /* semantic types are below; 0 is none in particular */

struct filter_bytecode;

/*
 * overlay may be empty. 0; -ENOMEM; -EINVAL with the reason in e: broken, or without a message that
 * Trace.packet is.
 */
int filter_bytecode_new(const void *code, size_t len, const void *overlay, size_t overlay_len,
			struct err_text *e, struct filter_bytecode **ret);
/* NULL is fine. */
void filter_bytecode_free(struct filter_bytecode *b);

/* The message of Trace.packet. */
uint32_t filter_bytecode_root(const struct filter_bytecode *b);
/* Any field number. */
enum filter_action filter_bytecode_action(const struct filter_bytecode *b, uint32_t message,
					  uint64_t field, uint32_t *ret_argument);
