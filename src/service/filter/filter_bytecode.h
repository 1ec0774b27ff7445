/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/core/err.h"

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

#define FILTER_ACTION_BITS 2

/* Of these the lookup below alone knows more than the name. */
struct filter_range {
	uint32_t first, end, action;
};

struct filter_table {
	uint32_t direct, n_direct; /* in actions: of the fields below n_direct */
	uint32_t ranges, n_ranges; /* in ranges: of all others, in order */
};

struct filter_bytecode {
	uint32_t root;
	struct filter_table *messages; /* owned, as the next two */
	uint32_t *actions; /* an enum filter_action and, above FILTER_ACTION_BITS, its argument */
	struct filter_range *ranges;
	size_t n_messages, cap_messages, n_actions, cap_actions, n_ranges, cap_ranges;
};

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

uint32_t filter_bytecode_find(const struct filter_bytecode *b, const struct filter_table *t,
			      uint64_t field);

/* Of a message that is there; any field number. */
static inline enum filter_action filter_bytecode_action(const struct filter_bytecode *b,
							uint32_t message, uint64_t field,
							uint32_t *ret_argument)
{
	const struct filter_table *t = &b->messages[message];
	uint32_t action = field < t->n_direct ? b->actions[t->direct + field]
					      : filter_bytecode_find(b, t, field);

	*ret_argument = action >> FILTER_ACTION_BITS;
	return (enum filter_action)(action & ((1u << FILTER_ACTION_BITS) - 1));
}
