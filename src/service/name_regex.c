/* SPDX-License-Identifier: Apache-2.0 */
#include "service/name_regex.h"

#include <string.h>

#include "base/ecma_regex.h"

/* What any expression and name of the limits' lengths may take. */
#define STEPS (1u << 24)

int name_regex_check(const char *pattern, struct err_text *e)
{
	struct ecma_regex *re;
	int r = ecma_regex_new(pattern, e, &re);

	if (r == 0)
		ecma_regex_free(re);
	return r;
}

bool name_regex_matches(const char *pattern, const char *name)
{
	uint64_t steps = STEPS;
	struct ecma_regex *re;
	bool matches;

	if (ecma_regex_new(pattern, NULL, &re) < 0)
		return false;
	matches = ecma_regex_match(re, ECMA_REGEX_WHOLE, name, strlen(name), 0, NULL, &steps) == 1;
	ecma_regex_free(re);
	return matches;
}
