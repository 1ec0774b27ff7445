/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Answers are kept in a table, at the place that a keyed hash of expression and name gives; a later
 * pair replaces an earlier one there.
 */
#include "service/session/name_regex.h"

#include <string.h>

#include "base/text/regex.h"
#include "base/core/mem.h"
#include "base/core/siphash.h"

#define N_ANSWERS 1024u
#define COMPILE_STEPS 4096u /* what compiling an expression counts as */

static struct answer {
	uint64_t pair; /* its hash; 0: none */
	bool matches;
} answers[N_ANSWERS];

int name_regex_check(const char *pattern, struct err_text *e)
{
	struct regex *re;
	int r = regex_new(pattern, e, &re);

	if (r == 0)
		regex_free(re);
	return r;
}

/* 64 bits with a secret key stand for the pair: no peer can find another pair that has them. */
static uint64_t hash_pair(const char *pattern, const char *name)
{
	const uint64_t parts[2] = {siphash_keyed(pattern, strlen(pattern)),
				   siphash_keyed(name, strlen(name))};
	uint64_t h = siphash_keyed(parts, sizeof(parts));

	return h ? h : 1;
}

/* 1, 0, or -errno. */
static int match(const char *pattern, const char *name, uint64_t *budget)
{
	struct regex *re;
	int r = regex_new(pattern, NULL, &re);

	if (r < 0)
		return r;
	r = regex_match(re, REGEX_WHOLE, name, strlen(name), 0, NULL, budget);
	regex_free(re);
	return r;
}

bool name_regex_matches(const char *pattern, const char *name, uint64_t *budget)
{
	uint64_t pair = hash_pair(pattern, name);
	struct answer *a = &answers[pair % N_ANSWERS];
	int r;

	if (a->pair == pair)
		return a->matches;
	if (*budget <= COMPILE_STEPS) {
		*budget = 0;
		return false;
	}
	*budget -= COMPILE_STEPS;
	r = match(pattern, name, budget);
	if (r >= 0)
		*a = (struct answer){.pair = pair, .matches = r == 1};
	return r == 1;
}
