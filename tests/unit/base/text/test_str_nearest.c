/* SPDX-License-Identifier: Apache-2.0 */

#include "base/text/str.h"
#include "unit/rng.h"
#include "unit/test.h"

static const char *nearest(const char *word, const char *const *candidates)
{
	struct str_nearest n;

	str_nearest_init(&n, word);
	for (; *candidates; candidates++)
		str_nearest_try(&n, *candidates);
	return str_nearest_get(&n);
}

#define NEAREST(word, ...) nearest(word, (const char *const[]){__VA_ARGS__, NULL})

TEST(one_edit_of_each_kind)
{
	assert_string_equal(NEAREST("shed_switch", "sched_switch"), "sched_switch");
	assert_string_equal(NEAREST("schedd_switch", "sched_switch"), "sched_switch");
	assert_string_equal(NEAREST("sched_swotch", "sched_switch"), "sched_switch");
	assert_string_equal(NEAREST("sched_swithc", "sched_switch"), "sched_switch");
	assert_string_equal(NEAREST("sched_switch", "sched_switch"), "sched_switch");
	/* a swap is one edit: "ab" -> "ba" would be two of three bytes else */
	assert_string_equal(NEAREST("abc", "bac"), "bac");
}

TEST(the_nearest_wins_and_of_equals_the_first_in_the_alphabet)
{
	assert_string_equal(NEAREST("sched_waking", "sched_wakeup", "sched_wakin", "sched_wak"),
			    "sched_wakin");
	assert_string_equal(NEAREST("sched_wak", "sched_waka", "sched_wakb"), "sched_waka");
	assert_string_equal(NEAREST("sched_wak", "sched_wakb", "sched_waka"), "sched_waka");
	assert_string_equal(NEAREST("buffers", "buffer", "duffers", "buffers"), "buffers");
}

TEST(the_nearest_is_kept_for_candidates_that_do_not_last)
{
	static const char *const candidates[] = {"sched_wak", "sched_wakin", "sched_wakeup"};
	char best[STR_NEAREST_SIZE], candidate[32];
	struct str_nearest n;

	str_nearest_init(&n, "sched_waking");
	for (unsigned i = 0; i < 3; i++) {
		snprintf(candidate, sizeof(candidate), "%s", candidates[i]);
		str_nearest_try_copy(&n, candidate, best);
	}
	assert_string_equal(str_nearest_get(&n), "sched_wakin");
	assert_ptr_equal(str_nearest_get(&n), best);
	/* The longest of all words has room. */
	str_nearest_init(&n, "1234567890123456789012345678901234567890123456789012345678901234");
	str_nearest_try_copy(&n, "123456789012345678901234567890123456789012345678901234567890123x",
			     best);
	assert_int_equal(strlen(best), STR_NEAREST_SIZE - 1);
}

TEST(nothing_near_gives_nothing)
{
	assert_null(NEAREST("irq", "sched_switch", "softirq_entry"));
	assert_null(NEAREST("ab", "ac")); /* one of two is more than a third */
	assert_string_equal(NEAREST("abc", "abd"), "abd");
	assert_null(NEAREST("abcde", "abcxy")); /* two of five as well */
	assert_string_equal(NEAREST("abcdef", "abcdxy"), "abcdxy");
	assert_null(NEAREST("", "a"));
	assert_null(NEAREST("abcdef", ""));
	assert_string_equal(NEAREST("", ""), "");
}

TEST(very_long_words_have_no_neighbours)
{
	char a[500], b[500];

	memset(a, 'a', sizeof(a));
	a[sizeof(a) - 1] = '\0';
	memcpy(b, a, sizeof(b));
	assert_null(NEAREST(a, b));
	a[64] = b[64] = '\0';
	b[3] = 'b';
	assert_string_equal(NEAREST(a, b), b);
	a[64] = 'a';
	a[65] = '\0';
	assert_null(NEAREST(a, b));
}

/* Straight from the definition: the whole table, no short cuts. */
static unsigned plain_distance(const char *a, const char *b)
{
	size_t na = strlen(a), nb = strlen(b);
	unsigned d[40][40];

	for (size_t i = 0; i <= na; i++)
		for (size_t j = 0; j <= nb; j++) {
			if (i == 0 || j == 0) {
				d[i][j] = (unsigned)(i + j);
				continue;
			}
			d[i][j] = d[i - 1][j - 1] + (a[i - 1] != b[j - 1]);
			d[i][j] = MIN(d[i][j], MIN(d[i - 1][j], d[i][j - 1]) + 1);
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
				d[i][j] = MIN(d[i][j], d[i - 2][j - 2] + 1);
		}
	return d[na][nb];
}

TEST(agrees_with_the_definition)
{
	uint64_t rng = 11;
	unsigned found = 0;

	for (int round = 0; round < 3000; round++) {
		char word[32], candidates[6][32];
		const char *best = NULL, *got;
		struct str_nearest n;
		unsigned least;

		for (int c = -1; c < 6; c++) {
			char *w = c < 0 ? word : candidates[c];
			uint32_t len = rng_below(&rng, 14);

			for (uint32_t i = 0; i < len; i++)
				w[i] = (char)('a' + rng_below(&rng, 3));
			w[len] = '\0';
		}
		least = (unsigned)strlen(word) / 3 + 1;
		str_nearest_init(&n, word);
		for (int c = 0; c < 6; c++) {
			unsigned d = plain_distance(word, candidates[c]);

			if (d < least || (best && d == least && strcmp(candidates[c], best) < 0)) {
				least = d;
				best = candidates[c];
			}
			str_nearest_try(&n, candidates[c]);
		}
		got = str_nearest_get(&n);
		assert_ptr_equal(got, best);
		found += best != NULL;
	}
	assert_in_range(found, 300, 2900);
}
