/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two caches, indexed by a keyed hash: the results for pairs of expression and name, and the
 * compiled expressions, each of which is matched with the names of many producers. A new entry
 * replaces the one at its index.
 */
#include "service/session/name_regex.h"

#include <string.h>

#include "base/core/mem.h"
#include "base/core/siphash.h"
#include "base/text/regex.h"

#define N_ANSWERS 1024u
#define COMPILE_STEPS 4096u /* charge for the compilation of an expression */

static struct answer {
	uint64_t pair; /* hash of pattern and name; 0: none */
	bool matches;
} answers[N_ANSWERS];

#define N_COMPILED 16u /* each takes up to some hundred KB */

static struct compiled {
	uint64_t pattern; /* hash of the pattern */
	struct regex *re; /* owned; NULL: none */
} compiled[N_COMPILED];

int name_regex_check(const char *pattern, struct err_text *e)
{
	struct regex *re;
	int r = regex_new(pattern, e, &re);

	if (r == 0)
		regex_free(re);
	return r;
}

/* The key is secret, so no peer can find two texts with the same hash. The caches compare only
 * hashes. */
static uint64_t name_regex_hash(const char *text)
{
	return siphash_keyed(text, strlen(text));
}

static uint64_t hash_pattern_and_name(uint64_t pattern, const char *name)
{
	const uint64_t parts[2] = {pattern, name_regex_hash(name)};
	uint64_t h = siphash_keyed(parts, sizeof(parts));

	return h ? h : 1;
}

/* Returns the compiled expression, borrowed until the next call, or NULL if it cannot be compiled
 * or *budget is too small. Compiling it reduces *budget. */
static struct regex *name_regex_get_compiled(const char *pattern, uint64_t pattern_hash,
					     uint64_t *budget)
{
	struct compiled *c = &compiled[pattern_hash % N_COMPILED];
	struct regex *re;

	if (c->re && c->pattern == pattern_hash)
		return c->re;
	if (*budget <= COMPILE_STEPS) {
		*budget = 0;
		return NULL;
	}
	*budget -= COMPILE_STEPS;
	if (regex_new(pattern, NULL, &re) < 0)
		return NULL;
	regex_free(c->re);
	*c = (struct compiled){.pattern = pattern_hash, .re = re};
	return re;
}

bool name_regex_matches(const char *pattern, const char *name, uint64_t *budget)
{
	uint64_t pattern_hash = name_regex_hash(pattern),
		 pair = hash_pattern_and_name(pattern_hash, name);
	struct answer *a = &answers[pair % N_ANSWERS];
	struct regex *re;
	int r;

	if (a->pair == pair)
		return a->matches;
	re = name_regex_get_compiled(pattern, pattern_hash, budget);
	if (!re)
		return false;
	r = regex_match(re, REGEX_WHOLE, name, strlen(name), 0, NULL, budget);
	if (r >= 0)
		*a = (struct answer){.pair = pair, .matches = r == 1};
	return r == 1;
}
