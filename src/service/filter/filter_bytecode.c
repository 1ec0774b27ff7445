/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The varints become the table in three steps, each of which is checked:
 *
 *	words		| 1<<3|3, 1 | 0 | 8<<3|1 | 130<<3|2, 5 | 0 |	checksum verified
 *	rules		message 0: 1 -> nested 1;  message 1: 8 -> keep, 130..134 -> keep
 *	table		message 1: | 0 1 2 ... 8 |	small numbers, by index
 *				   [130, 135)		the others, by binary search
 *
 * The table by index has at most eight entries for each rule and sixteen more, so its size is
 * proportional to the size of the bytecode. Higher field numbers are in ranges.
 */
#include "service/filter/filter_bytecode.h"

#include <endian.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/fnv.h"
#include "base/core/mem.h"
#include "service/ipc/limits.h"
#include "wire/pb_dec.h"

#define LOW_FIELDS 128u /* rules for these fields may have any order */
#define FIELDS (1u << 29)

enum opcode {
	OP_END,
	OP_FIELD,
	OP_RANGE,
	OP_NESTED,
	OP_STRING,
	OP_STRING_TYPE,
};

/* An action and its argument; 0 is FILTER_DROP. */
typedef uint32_t packed_action;

struct words {
	uint32_t *list; /* owned */
	size_t n, cap, next;
};

static packed_action filter_bytecode_pack(enum filter_action action, uint32_t argument)
{
	return argument << FILTER_ACTION_BITS | action;
}

static int fail_invalid(struct err_text *e, const char *what)
{
	return err_set(e, -EINVAL, "%s", what);
}

static int fail_no_memory(struct err_text *e)
{
	return err_set(e, -ENOMEM, "out of memory");
}

/* ---- words ---- */

static uint32_t checksum_of_words(const struct words *w)
{
	uint64_t h = FNV1A_START;

	for (size_t i = 0; i < w->n; i++) {
		const uint32_t little = htole32(w->list[i]);

		h = fnv1a(h, &little, sizeof(little));
	}
	return (uint32_t)h;
}

/* Reads the words, and checks and removes the checksum. Without bytes there are no words and no
 * checksum. Returns 0, or -EINVAL or -ENOMEM and sets e. */
static int read_words(const uint8_t *p, size_t len, struct words *w, struct err_text *e)
{
	const uint8_t *end = len ? p + len : p;
	uint64_t v;

	while (p != end) {
		p = pb_get_varint(p, end, &v);
		if (!p || v > UINT32_MAX)
			return fail_invalid(e, "not a list of 32-bit varints");
		if (w->n == MAX_FILTER_WORDS)
			return fail_invalid(e, "too long");
		if (array_reserve(&w->list, &w->cap, w->n + 1, sizeof(*w->list)) < 0)
			return fail_no_memory(e);
		w->list[w->n++] = (uint32_t)v;
	}
	if (len && w->list[--w->n] != checksum_of_words(w))
		return fail_invalid(e, "the checksum is wrong");
	return 0;
}

static bool next_bytecode_word(struct words *w, uint32_t *ret)
{
	if (w->next == w->n)
		return false;
	*ret = w->list[w->next++];
	return true;
}

/* ---- the rules of one message ---- */

struct rules {
	packed_action low[LOW_FIELDS];
	uint32_t n_low; /* 1 above the highest field of low with a rule */
	struct filter_range *high; /* owned */
	size_t n_high, cap_high;
	size_t n; /* number of rules */
};

static int add_high_range(struct rules *r, uint32_t first, uint32_t end, packed_action action)
{
	if (first == end)
		return 0;
	if (array_reserve(&r->high, &r->cap_high, r->n_high + 1, sizeof(*r->high)) < 0)
		return -ENOMEM;
	r->high[r->n_high++] = (struct filter_range){first, end, action};
	return 0;
}

static int filter_bytecode_add_rule(struct rules *r, uint32_t first, uint32_t end,
				    packed_action action, struct err_text *e)
{
	uint32_t from = MAX(first, LOW_FIELDS);

	for (uint32_t i = first; i < MIN(end, LOW_FIELDS); i++)
		r->low[i] = action;
	r->n_low = MAX(r->n_low, MIN(end, LOW_FIELDS));
	r->n++;
	if (end <= from)
		return 0;
	if (r->n_high > 0 && r->high[r->n_high - 1].end > from)
		return fail_invalid(e, "fields above 127 are not in order");
	return add_high_range(r, from, end, action) < 0 ? fail_no_memory(e) : 0;
}

/* Reads one word and its argument, and adds its rule. *ret_end: the word ends the message. Returns
 * 0, or -EINVAL or -ENOMEM and sets e. */
static int read_bytecode_rule(struct words *w, struct rules *r, bool *ret_end, struct err_text *e)
{
	uint32_t word, argument = 0, field, opcode;

	if (!next_bytecode_word(w, &word))
		return fail_invalid(e, "ends in the middle of a message");
	field = word >> 3;
	opcode = word & 7;
	*ret_end = opcode == OP_END;
	if (*ret_end)
		return 0;
	if (field == 0)
		return fail_invalid(e, "a field has number 0");
	if ((opcode == OP_RANGE || opcode == OP_NESTED || opcode == OP_STRING_TYPE) &&
	    !next_bytecode_word(w, &argument))
		return fail_invalid(e, "ends in the middle of a message");
	switch ((enum opcode)opcode) {
	case OP_FIELD:
		return filter_bytecode_add_rule(r, field, field + 1,
						filter_bytecode_pack(FILTER_KEEP, 0), e);
	case OP_RANGE:
		if (argument > UINT32_MAX - field)
			return fail_invalid(e, "a range ends above the largest field number");
		return filter_bytecode_add_rule(r, field, MIN(field + argument, FIELDS),
						filter_bytecode_pack(FILTER_KEEP, 0), e);
	case OP_NESTED:
		if (argument >= MAX_FILTER_WORDS)
			return fail_invalid(e, "a field refers to a message that does not exist");
		return filter_bytecode_add_rule(r, field, field + 1,
						filter_bytecode_pack(FILTER_NESTED, argument), e);
	case OP_STRING:
	case OP_STRING_TYPE:
		return filter_bytecode_add_rule(
			r, field, field + 1,
			filter_bytecode_pack(FILTER_STRING, MIN(argument, FILTER_OTHER_TYPE)), e);
	default:
		return fail_invalid(e, "unknown opcode");
	}
}

/* ---- the overlay ---- */

struct overlay {
	struct words words;
	uint32_t message; /* message of the current triple; UINT32_MAX: none is left */
	uint32_t field;
	packed_action action;
};

/* Reads the next triple, which must come after the current one in order. Returns 0, or -EINVAL and
 * sets e. */
static int next_overlay_triple(struct overlay *o, struct err_text *e)
{
	uint32_t message, word, argument, opcode;

	if (!next_bytecode_word(&o->words, &message)) {
		o->message = UINT32_MAX;
		return 0;
	}
	if (!next_bytecode_word(&o->words, &word) || !next_bytecode_word(&o->words, &argument))
		return fail_invalid(e, "the overlay ends inside a triple");
	opcode = word & 7;
	if (opcode != OP_FIELD && opcode != OP_STRING && opcode != OP_STRING_TYPE)
		return fail_invalid(e, "the overlay has an opcode that overlays must not contain");
	if (word >> 3 == 0)
		return fail_invalid(e, "a field in the overlay has number 0");
	if (message < o->message || (message == o->message && word >> 3 <= o->field))
		return fail_invalid(e, "the overlay is not sorted by message and field");
	o->message = message;
	o->field = word >> 3;
	if (opcode != OP_STRING_TYPE)
		argument = 0;
	o->action = opcode == OP_FIELD
			    ? filter_bytecode_pack(FILTER_KEEP, 0)
			    : filter_bytecode_pack(FILTER_STRING, MIN(argument, FILTER_OTHER_TYPE));
	return 0;
}

/* Applies the overlay to fields above 127. An overlay field inside a range splits the range.
 * Returns 0, or -errno and sets e. */
static int apply_overlay_to_high(struct overlay *o, uint32_t message, struct rules *r,
				 struct err_text *e)
{
	struct rules merged = {.n_low = 0};
	struct filter_range *old = r->high;
	size_t i = 0;
	int error = 0;

	while (o->message == message && error == 0) {
		uint32_t field = o->field;

		for (; i < r->n_high && old[i].end <= field && error == 0; i++)
			error = add_high_range(&merged, old[i].first, old[i].end, old[i].action);
		if (i < r->n_high && old[i].first <= field && error == 0) {
			error = add_high_range(&merged, old[i].first, field, old[i].action);
			old[i].first = field + 1;
		}
		if (error == 0)
			error = add_high_range(&merged, field, field + 1, o->action);
		if (error == 0)
			error = next_overlay_triple(o, e);
		merged.n++;
	}
	for (; i < r->n_high && error == 0; i++)
		error = add_high_range(&merged, old[i].first, old[i].end, old[i].action);
	free(old);
	r->high = merged.high;
	r->n_high = merged.n_high;
	r->n += merged.n;
	return error == -ENOMEM ? fail_no_memory(e) : error;
}

static int apply_overlay(struct overlay *o, uint32_t message, struct rules *r, struct err_text *e)
{
	int error = 0;

	while (o->message == message && o->field < LOW_FIELDS && error == 0) {
		r->low[o->field] = o->action;
		r->n_low = MAX(r->n_low, o->field + 1);
		r->n++;
		error = next_overlay_triple(o, e);
	}
	if (error < 0 || o->message != message)
		return error;
	return apply_overlay_to_high(o, message, r, e);
}

/* ---- the table ---- */

static int pack_field_range(struct filter_bytecode *b, uint32_t first, uint32_t end,
			    packed_action action)
{
	struct filter_table *t = &b->messages[b->n_messages - 1];
	struct filter_range *last = t->n_ranges ? &b->ranges[b->n_ranges - 1] : NULL;

	if (!action)
		return 0;
	if (last && last->end == first && last->action == action) {
		last->end = end;
		return 0;
	}
	if (array_reserve(&b->ranges, &b->cap_ranges, b->n_ranges + 1, sizeof(*b->ranges)) < 0)
		return -ENOMEM;
	b->ranges[b->n_ranges++] = (struct filter_range){first, end, action};
	t->n_ranges++;
	return 0;
}

/* Returns how many of the lowest field numbers are in the table by index. */
static uint32_t count_indexed_fields(const struct rules *r)
{
	uint32_t most = (uint32_t)MIN(8 * r->n + 16, 1u << 12), n = MIN(r->n_low, most);

	for (size_t i = 0; i < r->n_high && r->high[i].first < most; i++)
		n = MIN(r->high[i].end, most);
	return n;
}

static int fill_message_table(struct filter_bytecode *b, const struct rules *r)
{
	struct filter_table *t = &b->messages[b->n_messages - 1];
	const size_t base = b->n_actions;
	int error = 0;

	*t = (struct filter_table){.direct = (uint32_t)base,
				   .n_direct = count_indexed_fields(r),
				   .ranges = (uint32_t)b->n_ranges};
	if (array_reserve(&b->actions, &b->cap_actions, b->n_actions + t->n_direct,
			  sizeof(*b->actions)) < 0)
		return -ENOMEM;
	b->n_actions += t->n_direct;
	for (uint32_t i = 0; i < t->n_direct; i++)
		b->actions[base + i] = i < LOW_FIELDS ? r->low[i] : FILTER_DROP;
	for (uint32_t i = t->n_direct; i < r->n_low && error == 0; i++)
		error = pack_field_range(b, i, i + 1, r->low[i]);
	for (size_t i = 0; i < r->n_high && error == 0; i++) {
		uint32_t from = r->high[i].first, end = r->high[i].end;

		for (; from < MIN(end, t->n_direct); from++)
			b->actions[base + from] = r->high[i].action;
		if (from < end)
			error = pack_field_range(b, from, end, r->high[i].action);
	}
	return error;
}

/* Reads the next message, applies its part of the overlay, and appends it to b. Returns 0, or
 * -EINVAL or -ENOMEM and sets e. */
static int filter_bytecode_read_message(struct filter_bytecode *b, struct words *w,
					struct overlay *o, struct err_text *e)
{
	struct rules r = {.n_low = 0};
	bool end = false;
	int error = 0;

	while (!end && error == 0)
		error = read_bytecode_rule(w, &r, &end, e);
	if (error == 0)
		error = apply_overlay(o, (uint32_t)b->n_messages, &r, e);
	if (error == 0) {
		if (array_reserve(&b->messages, &b->cap_messages, b->n_messages + 1,
				  sizeof(*b->messages)) < 0) {
			error = fail_no_memory(e);
		} else {
			b->n_messages++;
			error = fill_message_table(b, &r) < 0 ? fail_no_memory(e) : 0;
		}
	}
	free(r.high);
	return error;
}

/* ---- the whole bytecode ---- */

static bool message_exists(const struct filter_bytecode *b, packed_action action)
{
	return (action & 3) != FILTER_NESTED || action >> FILTER_ACTION_BITS < b->n_messages;
}

/* Checks what filter_message() relies on, and sets b->root. Returns 0, or -EINVAL and sets e. */
static int check_messages_and_set_root(struct filter_bytecode *b, struct err_text *e)
{
	bool good = true;

	for (size_t i = 0; i < b->n_actions; i++)
		good &= message_exists(b, b->actions[i]);
	for (size_t i = 0; i < b->n_ranges; i++)
		good &= message_exists(b, b->ranges[i].action);
	if (!good)
		return fail_invalid(e, "a field refers to a message that does not exist");
	if (b->n_messages == 0 || filter_bytecode_action(b, 0, 1, &b->root) != FILTER_NESTED)
		return fail_invalid(e, "the first message is not Trace: field 1 has no message");
	return 0;
}

static int filter_bytecode_compile(struct filter_bytecode *b, struct words *w, struct overlay *o,
				   struct err_text *e)
{
	int r = next_overlay_triple(o, e);

	while (r == 0 && w->next < w->n)
		r = filter_bytecode_read_message(b, w, o, e);
	if (r < 0)
		return r;
	if (o->message != UINT32_MAX)
		return fail_invalid(e, "the overlay refers to a message that does not exist");
	return check_messages_and_set_root(b, e);
}

int filter_bytecode_new(const void *code, size_t len, const void *overlay, size_t overlay_len,
			struct err_text *e, struct filter_bytecode **ret)
{
	struct filter_bytecode *b = calloc(1, sizeof(*b));
	struct overlay o = {.message = 0};
	struct words w = {0};
	int r = b ? 0 : fail_no_memory(e);

	if (r == 0)
		r = read_words(code, len, &w, e);
	if (r == 0)
		r = read_words(overlay, overlay_len, &o.words, e);
	if (r == 0)
		r = filter_bytecode_compile(b, &w, &o, e);
	free(w.list);
	free(o.words.list);
	if (r < 0) {
		filter_bytecode_free(b);
		return r;
	}
	*ret = b;
	return 0;
}

void filter_bytecode_free(struct filter_bytecode *b)
{
	if (!b)
		return;
	free(b->messages);
	free(b->actions);
	free(b->ranges);
	free(b);
}

uint32_t filter_bytecode_root(const struct filter_bytecode *b)
{
	return b->root;
}

uint32_t filter_bytecode_find_in_ranges(const struct filter_bytecode *b,
					const struct filter_table *t, uint64_t field)
{
	size_t low = t->ranges, high = low + t->n_ranges;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (field < b->ranges[middle].first)
			high = middle;
		else if (field >= b->ranges[middle].end)
			low = middle + 1;
		else
			return b->ranges[middle].action;
	}
	return FILTER_DROP;
}
