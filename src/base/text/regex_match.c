/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The text is read once. Each position of the text has a list of the program counters (pcs) where a
 * match may continue. A pc is in the list once, and the preferred ones are first. Each byte
 * turns the list into the next one:
 *
 *	a(b|bc)d on "abcd"	0: BYTE a	1: BYTE b, BYTE b	2: BYTE d, BYTE c ...
 *
 * So matching takes at most one step for each pc and byte. Each entry of a list also has the bounds
 * of the groups that were matched on the way to it.
 */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/mem.h"
#include "base/text/regex_compile.h"

#define UNSET UINT32_MAX

struct run {
	struct regex *re;
	const uint8_t *text;
	size_t len;
	unsigned n_slots; /* 0: no groups are requested */
	uint32_t *bounds; /* of the thread that is being added */
	uint64_t steps; /* pcs that were looked at */
};

/* ---- threads ---- */

static bool regex_match_is_word(uint8_t c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
	       c == '_';
}

static bool is_word_edge(const struct run *r, size_t at)
{
	bool before = at > 0 && regex_match_is_word(r->text[at - 1]);
	bool after = at < r->len && regex_match_is_word(r->text[at]);

	return before != after;
}

/* Marks a pc as a member of the list that is being made. Returns false if it is one already. */
static bool mark_pc_as_listed(struct regex *re, unsigned pc)
{
	if (re->seen[pc] == re->list)
		return false;
	re->seen[pc] = re->list;
	return true;
}

static void copy_slots(uint32_t *to, const uint32_t *from, unsigned n)
{
	for (unsigned i = 0; i < n; i += 2) { /* n is small: faster than memcpy() */
		to[i] = from[i];
		to[i + 1] = from[i + 1];
	}
}

static void append_thread(const struct run *r, struct regex_threads *t, unsigned pc)
{
	copy_slots(&t->slots[t->n * r->n_slots], r->bounds, r->n_slots);
	t->pcs[t->n++] = (uint16_t)pc;
}

static void regex_match_add_thread(struct run *r, struct regex_threads *t, unsigned pc, size_t at);

static void add_thread_after_save(struct run *r, struct regex_threads *t, unsigned pc, size_t at)
{
	unsigned slot = (unsigned)r->re->ops[pc].x;
	uint32_t before;

	if (slot >= r->n_slots) {
		regex_match_add_thread(r, t, pc + 1, at);
		return;
	}
	before = r->bounds[slot];
	r->bounds[slot] = (uint32_t)at;
	regex_match_add_thread(r, t, pc + 1, at);
	r->bounds[slot] = before;
}

/* Adds all pcs that can be reached from this one without a byte. The recursion is at most as
 * deep as the program is long. */
static void regex_match_add_thread(struct run *r, struct regex_threads *t, unsigned pc, size_t at)
{
	for (; mark_pc_as_listed(r->re, pc); pc++) {
		const struct regex_op *op = &r->re->ops[pc];

		r->steps++;
		switch ((enum regex_opcode)op->opcode) {
		case REGEX_SPLIT:
			regex_match_add_thread(r, t, pc + (unsigned)op->x, at);
			pc += (unsigned)op->y - 1;
			break;
		case REGEX_JUMP:
			pc += (unsigned)op->x - 1;
			break;
		case REGEX_SAVE:
			add_thread_after_save(r, t, pc, at);
			return;
		case REGEX_BEGIN:
			if (at > 0)
				return;
			break;
		case REGEX_END:
			if (at < r->len)
				return;
			break;
		case REGEX_WORD_EDGE:
			if (is_word_edge(r, at) == (op->x != 0))
				return;
			break;
		case REGEX_BYTE:
		case REGEX_SET:
		case REGEX_MATCH:
			append_thread(r, t, pc);
			return;
		}
	}
}

/* ---- one byte ---- */

static bool accepts_byte(const struct regex *re, const struct regex_op *op, uint8_t byte)
{
	if (op->opcode == REGEX_BYTE)
		return (uint8_t)op->x == byte;
	return op->opcode == REGEX_SET && regex_set_has(&re->sets[op->x], byte);
}

/* Advances the threads by the byte at `at`. Returns true if one of them is a match, and stores its
 * bounds in found. Threads after the match in the list have a lower preference and are dropped. */
static bool regex_match_step(struct run *r, size_t at, bool whole, uint32_t *found)
{
	struct regex *re = r->re;

	re->list++;
	for (unsigned i = 0; i < re->now.n; i++) {
		const uint32_t *slots = &re->now.slots[i * r->n_slots];
		unsigned pc = re->now.pcs[i];
		const struct regex_op *op = &re->ops[pc];

		if (op->opcode == REGEX_MATCH && (!whole || at == r->len)) {
			copy_slots(found, slots, r->n_slots);
			if (r->n_slots)
				found[1] = (uint32_t)at;
			return true;
		}
		if (at < r->len && accepts_byte(re, op, r->text[at])) {
			copy_slots(r->bounds, slots, r->n_slots);
			regex_match_add_thread(r, &re->next, pc + 1, at + 1);
		}
	}
	return false;
}

static void regex_match_start(struct run *r, size_t at)
{
	memset(r->bounds, 0xff, 2 * r->re->n_groups * sizeof(*r->bounds));
	r->bounds[0] = (uint32_t)at;
	regex_match_add_thread(r, &r->re->now, 0, at);
}

static void regex_match_swap_lists(struct regex *re)
{
	struct regex_threads old = re->now;

	re->now = re->next;
	re->next = old;
	re->next.n = 0;
}

/* Empties the lists for a run over n bytes. Restarts the numbering of lists before it would
 * overflow. */
static void begin_thread_lists(struct regex *re, size_t n)
{
	if (UINT32_MAX - re->list <= n + 2) {
		memset(re->seen, 0, re->n_ops * sizeof(*re->seen));
		re->list = 0;
	}
	re->list++;
	re->now.n = re->next.n = 0;
}

/* Returns 1, 0 or -E2BIG, as regex_match(). */
static int regex_match_run(struct run *r, enum regex_mode mode, size_t from, uint32_t *found,
			   uint64_t *budget)
{
	struct regex *re = r->re;
	bool matched = false;

	begin_thread_lists(re, r->len);
	for (size_t at = from; at <= r->len; at++) {
		bool searching = mode == REGEX_SEARCH && !matched;

		if (searching && re->now.n == 0 && !re->may_be_empty)
			while (at < r->len && !regex_set_has(&re->first, r->text[at]))
				at++;
		if (searching || at == from)
			regex_match_start(r, at);
		if (re->now.n == 0 && !searching)
			break;
		if (*budget <= r->steps)
			return -E2BIG;
		matched |= regex_match_step(r, at, mode == REGEX_WHOLE, found);
		regex_match_swap_lists(re);
	}
	return matched;
}

int regex_match(struct regex *re, enum regex_mode mode, const void *text, size_t len, size_t from,
		struct regex_span *spans, uint64_t *budget)
{
	struct run r = {
		.re = re,
		.text = text,
		.len = len,
		.n_slots = spans ? 2 * re->n_groups : 0,
		.bounds = re->bounds,
	};
	uint32_t *found = re->bounds + 2 * re->n_groups;
	int result;

	assert(from <= len);
	if (len >= UNSET / 2)
		return -E2BIG;
	result = regex_match_run(&r, mode, from, found, budget);
	*budget -= r.steps < *budget ? r.steps : *budget;
	if (result != 1 || !spans)
		return result;
	for (unsigned i = 0; i < re->n_groups; i++) {
		bool set = found[2 * i] != UNSET && found[2 * i + 1] != UNSET;

		spans[i].begin = set ? found[2 * i] : REGEX_UNSET;
		spans[i].end = set ? found[2 * i + 1] : REGEX_UNSET;
	}
	return 1;
}

/* ---- life ---- */

static int alloc_threads(struct regex_threads *t, const struct regex *re)
{
	t->pcs = calloc(re->n_ops, sizeof(*t->pcs));
	t->slots = calloc(re->n_ops, 2 * re->n_groups * sizeof(*t->slots));
	return t->pcs && t->slots ? 0 : -ENOMEM;
}

static void free_threads(struct regex_threads *t)
{
	free(t->pcs);
	free(t->slots);
}

/* Collects the bytes that a match from this pc can begin with. Assumes that ^, $, \b and \B
 * always match. */
static void collect_first_bytes(struct regex *re, unsigned pc)
{
	for (; mark_pc_as_listed(re, pc); pc++) {
		const struct regex_op *op = &re->ops[pc];

		switch ((enum regex_opcode)op->opcode) {
		case REGEX_SPLIT:
			collect_first_bytes(re, pc + (unsigned)op->x);
			pc += (unsigned)op->y - 1;
			break;
		case REGEX_JUMP:
			pc += (unsigned)op->x - 1;
			break;
		case REGEX_BYTE:
			regex_set_add(&re->first, (uint8_t)op->x);
			return;
		case REGEX_SET:
			for (size_t k = 0; k < ARRAY_SIZE(re->first.bits); k++)
				re->first.bits[k] |= re->sets[op->x].bits[k];
			return;
		case REGEX_MATCH:
			re->may_be_empty = true;
			return;
		case REGEX_SAVE:
		case REGEX_BEGIN:
		case REGEX_END:
		case REGEX_WORD_EDGE:
			break;
		}
	}
}

static int regex_match_compile(struct regex *re, const char *pattern, struct err_text *why)
{
	int r = regex_compile(pattern, re, why);

	if (r < 0)
		return r;
	re->bounds = calloc(4 * re->n_groups, sizeof(*re->bounds));
	re->seen = calloc(re->n_ops, sizeof(*re->seen));
	if (!re->bounds || !re->seen || alloc_threads(&re->now, re) < 0 ||
	    alloc_threads(&re->next, re) < 0)
		return -ENOMEM;
	re->list = 1;
	collect_first_bytes(re, 0);
	return 0;
}

int regex_new(const char *pattern, struct err_text *e, struct regex **ret)
{
	struct err_text why = {""};
	struct regex *re;
	int r;

	if (strlen(pattern) > REGEX_MAX_BYTES)
		return err_set(e, -EINVAL, "\"%.32s...\" has %zu bytes; the limit is %u", pattern,
			       strlen(pattern), REGEX_MAX_BYTES);
	re = calloc(1, sizeof(*re));
	r = re ? regex_match_compile(re, pattern, &why) : -ENOMEM;
	if (r == 0) {
		*ret = re;
		return 0;
	}
	regex_free(re);
	if (r == -ENOMEM)
		return err_set(e, r, "out of memory");
	return err_set(e, r, "\"%.256s\": %s", pattern, why.text);
}

void regex_free(struct regex *re)
{
	if (!re)
		return;
	free_threads(&re->now);
	free_threads(&re->next);
	free(re->bounds);
	free(re->seen);
	free(re->sets);
	free(re->ops);
	free(re);
}

size_t regex_groups(const struct regex *re)
{
	return re->n_groups;
}
