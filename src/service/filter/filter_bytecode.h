/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/core/err.h"

/*
 * The allow-list of a trace filter, compiled from the bytecode of TraceFilter: an action for each
 * field of each message of the schema.
 *
 * The bytecode is a list of varints of 32 bits. The last one is a checksum: the low half of the
 * 64-bit FNV-1a of the others, each as four bytes in little-endian order. For each message in turn:
 *
 *	field << 3 | 1			keep the field
 *	field << 3 | 2, count		keep `count` fields from this one on
 *	field << 3 | 3, index		a nested message: filter it as message `index` of this list
 *	field << 3 | 4			keep the field, a string, after the string rules
 *	field << 3 | 5, type		the same, for strings of a semantic type
 *	0				end of the message
 *
 * If a field below 128 occurs twice, the last entry counts. Higher fields must be in ascending
 * order.
 *
 * An overlay replaces actions of the bytecode. It consists of triples in ascending order of message
 * and field: the message's index, one of the words above (1, 4 or 5), and its argument (or 0). A
 * checksum follows.
 */

enum filter_action {
	FILTER_DROP,
	FILTER_KEEP,
	FILTER_NESTED, /* argument: number of the message */
	FILTER_STRING, /* argument: semantic type, FILTER_OTHER_TYPE for an unknown one */
};

#define FILTER_OTHER_TYPE 64u /* above all semantic types; type 0: unspecified */

#define FILTER_ACTION_BITS 2

/* Private to filter_bytecode_find_in_ranges() and filter_bytecode_action(). */
struct filter_range {
	uint32_t first, end, action;
};

struct filter_table {
	uint32_t direct, n_direct; /* fields below n_direct: actions[direct + field] */
	uint32_t ranges, n_ranges; /* other fields, in order: index of the first range, number */
};

struct filter_bytecode {
	uint32_t root;
	struct filter_table *messages; /* owned, as the next two */
	uint32_t *actions; /* an enum filter_action and, above FILTER_ACTION_BITS, its argument */
	struct filter_range *ranges;
	size_t n_messages, cap_messages, n_actions, cap_actions, n_ranges, cap_ranges;
};

/* overlay may be empty. Returns 0, -ENOMEM, or -EINVAL and sets e: the code is malformed, or lacks
 * the message of Trace.packet. */
int filter_bytecode_new(const void *code, size_t len, const void *overlay, size_t overlay_len,
			struct err_text *e, struct filter_bytecode **ret);
/* No-op for NULL. */
void filter_bytecode_free(struct filter_bytecode *b);

/* Returns the message of Trace.packet. */
uint32_t filter_bytecode_root(const struct filter_bytecode *b);

/* Returns the action, with its argument, for a field that has no index in the table. */
uint32_t filter_bytecode_find_in_ranges(const struct filter_bytecode *b,
					const struct filter_table *t, uint64_t field);

/* Returns the action for any field of an existing message. */
static inline enum filter_action filter_bytecode_action(const struct filter_bytecode *b,
							uint32_t message, uint64_t field,
							uint32_t *ret_argument)
{
	const struct filter_table *t = &b->messages[message];
	uint32_t action = field < t->n_direct ? b->actions[t->direct + field]
					      : filter_bytecode_find_in_ranges(b, t, field);

	*ret_argument = action >> FILTER_ACTION_BITS;
	return (enum filter_action)(action & ((1u << FILTER_ACTION_BITS) - 1));
}
