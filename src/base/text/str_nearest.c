/* SPDX-License-Identifier: Apache-2.0 */
/*
 * "Did you mean": optimal string alignment, row by row.
 *
 *	           c a n d i d a t e
 *	  above2   . x . . . . . . .      swap of neighbours comes from two rows above
 *	  above    . . a b . . . . .      d = min(a + replace, b + delete, c + insert, x + 1)
 *	  row      . . c d
 */
#include <string.h>

#include "base/core/mem.h"
#include "base/text/str.h"

#define MAX_WORD (STR_NEAREST_SIZE - 1) /* longer ones are nobody's typing error */

void str_nearest_init(struct str_nearest *n, const char *word)
{
	n->word = word;
	n->best = NULL;
	n->best_distance = (unsigned)(strlen(word) / 3 + 1);
}

static unsigned min3(unsigned a, unsigned b, unsigned c)
{
	return MIN(MIN(a, b), c);
}

/* The number of edits between two words of at most MAX_WORD bytes; limit or more: limit. */
static unsigned distance(const char *a, size_t na, const char *b, size_t nb, unsigned limit)
{
	unsigned rows[3][MAX_WORD + 1];

	for (size_t j = 0; j <= nb; j++)
		rows[0][j] = (unsigned)j;
	for (size_t i = 1; i <= na; i++) {
		const unsigned *above = rows[(i - 1) % 3], *above2 = rows[(i + 1) % 3];
		unsigned *row = rows[i % 3], least = row[0] = (unsigned)i;

		for (size_t j = 1; j <= nb; j++) {
			bool same = a[i - 1] == b[j - 1];

			row[j] = min3(above[j - 1] + !same, above[j] + 1, row[j - 1] + 1);
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
				row[j] = MIN(row[j], above2[j - 2] + 1);
			least = MIN(least, row[j]);
		}
		if (least > limit)
			return limit;
	}
	return MIN(rows[na % 3][nb], limit);
}

void str_nearest_try(struct str_nearest *n, const char *candidate)
{
	size_t na = strlen(n->word), nb = strlen(candidate);
	unsigned d;

	if (na > MAX_WORD || nb > MAX_WORD || na + n->best_distance <= nb ||
	    nb + n->best_distance <= na)
		return;
	d = distance(n->word, na, candidate, nb, n->best_distance);
	if (d < n->best_distance) {
		n->best_distance = d;
		n->best = candidate;
	}
}

void str_nearest_try_copy(struct str_nearest *n, const char *candidate,
			  char best[static STR_NEAREST_SIZE])
{
	str_nearest_try(n, candidate);
	if (n->best == candidate) {
		memcpy(best, candidate, strlen(candidate) + 1);
		n->best = best;
	}
}

const char *str_nearest_get(const struct str_nearest *n)
{
	return n->best;
}
