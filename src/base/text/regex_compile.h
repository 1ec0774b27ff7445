/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdint.h>

#include "base/text/regex.h"

/*
 * The compiled form of an expression: regex_compile.c writes it, regex_match.c executes it.
 *
 *	x(a|b)*		BYTE x; SPLIT +1 +8; SAVE 2; SPLIT +1 +3; BYTE a; JUMP +2; BYTE b; SAVE 3;
 *			JUMP -7; MATCH
 *
 * Jumps are relative, so a repeated piece can be copied unchanged.
 */

enum regex_opcode {
	REGEX_BYTE, /* x: the byte */
	REGEX_SET, /* x: number of the set */
	REGEX_SPLIT, /* continues at x and at y; x comes first */
	REGEX_JUMP, /* x */
	REGEX_SAVE, /* x: 2 * group, and 1 more for its end */
	REGEX_BEGIN, /* ^ */
	REGEX_END, /* $ */
	REGEX_WORD_EDGE, /* \b; x: 1 for \B */
	REGEX_MATCH,
};

struct regex_op {
	uint16_t opcode;
	int16_t x, y;
};

struct regex_set {
	uint64_t bits[4];
};

/* Active threads of the matcher: their program counters and the bounds of their groups so
 * far. */
struct regex_threads {
	uint16_t *pcs; /* in ops, the preferred first */
	uint32_t *slots; /* for each: 2 * n_groups bounds */
	unsigned n;
};

struct regex {
	struct regex_op *ops; /* owned */
	unsigned n_ops;
	struct regex_set *sets; /* owned */
	unsigned n_sets;
	unsigned n_groups;
	struct regex_set first; /* bytes that a match can begin with */
	bool may_be_empty; /* a match can be empty: `first` is not used */

	struct regex_threads now, next; /* owned */
	uint32_t *seen; /* owned; for each pc: number of the list that it was last added to */
	uint32_t list; /* number of the list that is being made */
	uint32_t *bounds; /* owned: of the groups of the added thread, then of the match */
};

static inline void regex_set_add(struct regex_set *s, unsigned byte)
{
	s->bits[byte / 64] |= 1ull << byte % 64;
}

static inline bool regex_set_has(const struct regex_set *s, unsigned byte)
{
	return s->bits[byte / 64] >> byte % 64 & 1;
}

/* Compiles pattern into a zeroed re, without the working memory of matching. Returns 0, -ENOMEM, or
 * -EINVAL and sets why. The caller frees re (regex_free()), also after an error. */
int regex_compile(const char *pattern, struct regex *re, struct err_text *why);
