/* SPDX-License-Identifier: Apache-2.0 */
#include "base/text/span.h"
#include "unit/test.h"

static struct span of(const char *s)
{
	return (struct span){s, strlen(s)};
}

TEST(blanks_at_the_ends)
{
	assert_true(span_is(span_trim(of(" \t a b\r ")), "a b"));
	assert_true(span_is(span_trim(of(" \t ")), ""));
	assert_true(span_is(span_trim(of("")), ""));
	assert_false(span_is(of("ab"), "a"));
	assert_false(span_is(of("a"), "ab"));
	assert_true(span_ends(of("5-edge"), "-edge"));
	assert_false(span_ends(of("edge"), "-edge"));
}

TEST(lines)
{
	struct span text = of("a\n\nb\nc"), line;
	static const char *const want[] = {"a", "", "b", "c"};

	for (unsigned i = 0; i < 4; i++) {
		assert_true(span_next_line(&text, &line));
		assert_true(span_is(line, want[i]));
	}
	assert_false(span_next_line(&text, &line));
	text = of("\n");
	assert_true(span_next_line(&text, &line));
	assert_int_equal(line.len, 0);
	assert_false(span_next_line(&text, &line));
}

TEST(words)
{
	struct span text = of("  one\ttwo   three "), word;

	assert_true(span_next_word(&text, &word) && span_is(word, "one"));
	assert_true(span_next_word(&text, &word) && span_is(word, "two"));
	assert_true(span_next_word(&text, &word) && span_is(word, "three"));
	assert_false(span_next_word(&text, &word));
	assert_true(span_is(word, "three"));
}

TEST(keys_and_values)
{
	struct span key, value;

	assert_true(span_split(of("model name\t: a : b "), &key, &value));
	assert_true(span_is(key, "model name"));
	assert_true(span_is(value, "a : b"));
	assert_true(span_split(of(":"), &key, &value));
	assert_int_equal(key.len + value.len, 0);
	assert_false(span_split(of("none"), &key, &value));
	assert_false(span_split(of(""), &key, &value));
}
