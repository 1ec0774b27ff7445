/* SPDX-License-Identifier: Apache-2.0 */

#include "service/filter/filter_bytecode.h"
#include "service/ipc/limits.h"
#include "unit/rng.h"
#include "unit/service/filter_words.h"
#include "unit/test.h"

static struct err_text e;

static struct filter_bytecode *load_with(struct filter_code code, struct filter_code overlay)
{
	struct filter_bytecode *b;

	if (filter_bytecode_new(code.bytes, code.len, overlay.bytes, overlay.len, &e, &b) < 0)
		fail_msg("%s", e.text);
	return b;
}

static struct filter_bytecode *load(struct filter_code code)
{
	return load_with(code, (struct filter_code){.len = 0});
}

static void assert_refused_with(struct filter_code code, struct filter_code overlay,
				const char *why)
{
	struct filter_bytecode *b = NULL;

	e.text[0] = '\0';
	assert_int_equal(
		filter_bytecode_new(code.bytes, code.len, overlay.bytes, overlay.len, &e, &b),
		-EINVAL);
	assert_null(b);
	if (!strstr(e.text, why))
		fail_msg("\"%s\" does not say \"%s\"", e.text, why);
}

static void assert_refused(struct filter_code code, const char *why)
{
	assert_refused_with(code, (struct filter_code){.len = 0}, why);
}

static void assert_action(const struct filter_bytecode *b, uint32_t message, uint64_t field,
			  enum filter_action action, uint32_t argument)
{
	uint32_t got = 12345;

	if (filter_bytecode_action(b, message, field, &got) != action)
		fail_msg("field %llu", (unsigned long long)field);
	if (action == FILTER_NESTED || action == FILTER_STRING)
		assert_int_equal(got, argument);
}

static void assert_kept(const struct filter_bytecode *b, uint64_t first, uint64_t last)
{
	for (uint64_t i = first; i <= last; i++)
		assert_action(b, 1, i, FILTER_KEEP, 0);
}

static void assert_dropped(const struct filter_bytecode *b, uint64_t first, uint64_t last)
{
	for (uint64_t i = first; i <= last; i++)
		assert_action(b, 1, i, FILTER_DROP, 0);
}

TEST(each_instruction_has_its_action)
{
	struct filter_bytecode *b = load(CODE(
		W_NESTED(1u, 2), W_END, W_FIELD(5u), W_END, W_FIELD(8u), W_RANGE(10u, 3),
		W_NESTED(20u, 1), W_STRING(21u), W_STRING_OF(22u, 1), W_STRING_OF(23u, 77), W_END));

	assert_int_equal(filter_bytecode_root(b), 2);
	assert_action(b, 2, 8, FILTER_KEEP, 0);
	assert_action(b, 2, 9, FILTER_DROP, 0);
	for (uint32_t i = 10; i < 13; i++)
		assert_action(b, 2, i, FILTER_KEEP, 0);
	assert_action(b, 2, 13, FILTER_DROP, 0);
	assert_action(b, 2, 20, FILTER_NESTED, 1);
	assert_action(b, 2, 21, FILTER_STRING, 0);
	assert_action(b, 2, 22, FILTER_STRING, 1);
	assert_action(b, 2, 23, FILTER_STRING, FILTER_OTHER_TYPE);
	assert_action(b, 2, 0, FILTER_DROP, 0);
	assert_action(b, 2, 24, FILTER_DROP, 0);
	assert_action(b, 1, 5, FILTER_KEEP, 0);
	assert_action(b, 1, 8, FILTER_DROP, 0);
	assert_action(b, 0, 2, FILTER_DROP, 0);
	filter_bytecode_free(b);
}

TEST(large_numbers_are_found)
{
	struct filter_bytecode *b =
		load(CODE(W_TRACE, W_RANGE(100u, 100), W_FIELD(300u), W_RANGE(301u, 2),
			  W_NESTED(5000u, 1), W_RANGE(1u << 20, 1u << 30), W_END));

	assert_dropped(b, 0, 99);
	assert_kept(b, 100, 199);
	assert_dropped(b, 200, 299);
	assert_kept(b, 300, 302);
	assert_dropped(b, 303, 4999);
	assert_action(b, 1, 5000, FILTER_NESTED, 1);
	assert_dropped(b, 5001, 5001);
	assert_dropped(b, (1u << 20) - 1, (1u << 20) - 1);
	assert_kept(b, 1u << 20, 1u << 20);
	assert_kept(b, (1u << 29) - 1, (1u << 29) - 1);
	/* no field has such numbers */
	assert_dropped(b, 1u << 29, 1u << 29);
	assert_dropped(b, 1ull << 60, 1ull << 60);
	filter_bytecode_free(b);
}

TEST(small_numbers_may_come_in_any_order)
{
	struct filter_bytecode *b =
		load(CODE(W_TRACE, W_FIELD(900u), W_STRING(127u), W_RANGE(1u, 10), W_STRING(3u),
			  W_RANGE(5u, 0), W_RANGE(950u, 0), W_END));

	assert_kept(b, 1, 2);
	assert_action(b, 1, 3, FILTER_STRING, 0);
	assert_kept(b, 4, 10);
	assert_dropped(b, 11, 126);
	assert_action(b, 1, 127, FILTER_STRING, 0);
	assert_kept(b, 900, 900);
	assert_dropped(b, 950, 950);
	filter_bytecode_free(b);
}

TEST(broken_bytecode_is_refused)
{
	static const uint8_t cut[] = {0x0b, 0x81}, large[] = {0xff, 0xff, 0xff, 0xff, 0x7f, 0};
	struct filter_code c = {.len = sizeof(cut)};

	memcpy(c.bytes, cut, sizeof(cut));
	assert_refused(c, "not a list of 32-bit varints");
	memcpy(c.bytes, large, sizeof(large));
	c.len = sizeof(large);
	assert_refused(c, "not a list of 32-bit varints");
	assert_refused(CODE_WRONG_BY(1, W_TRACE, W_FIELD(8u), W_END), "checksum");
	assert_refused((struct filter_code){.len = 0}, "not Trace");
	assert_refused(CODE(W_END), "not Trace");
	assert_refused(CODE(W_NESTED(2u, 1), W_END, W_END), "not Trace");
	assert_refused(CODE(W_FIELD(1u), W_END, W_END), "not Trace");
	assert_refused(CODE(W_TRACE, W_FIELD(8u)), "ends in the middle");
	assert_refused(CODE(W_TRACE, 8u << 3 | 2), "ends in the middle");
	assert_refused(CODE(W_TRACE, 8u << 3 | 3), "ends in the middle");
	assert_refused(CODE(W_TRACE, 8u << 3 | 5), "ends in the middle");
	assert_refused(CODE(W_TRACE, 8u << 3 | 6, W_END), "unknown opcode");
	assert_refused(CODE(W_TRACE, 8u << 3 | 7, W_END), "unknown opcode");
	assert_refused(CODE(W_TRACE, W_FIELD(0u), W_END), "number 0");
	assert_refused(CODE(W_NESTED(1u, 1), W_END), "does not exist");
	assert_refused(CODE(W_TRACE, W_NESTED(8u, 2), W_END), "does not exist");
	assert_refused(CODE(W_TRACE, W_NESTED(800u, UINT32_MAX), W_END), "does not exist");
	assert_refused(CODE(W_TRACE, W_RANGE(8u, UINT32_MAX), W_END),
		       "above the largest field number");
	assert_refused(CODE(W_TRACE, W_FIELD(900u), W_FIELD(800u), W_END), "not in order");
	assert_refused(CODE(W_TRACE, W_FIELD(900u), W_FIELD(900u), W_END), "not in order");
	assert_refused(CODE(W_TRACE, W_RANGE(100u, 200), W_FIELD(250u), W_END), "not in order");
}

/* ---- overlays ---- */

#define BASE                                                                                       \
	CODE(W_TRACE, W_FIELD(1u), W_RANGE(10u, 5), W_FIELD(200u), W_RANGE(300u, 10),              \
	     W_NESTED(400u, 1), W_END)

TEST(overlays_add_and_replace)
{
	struct filter_bytecode *b =
		load_with(BASE, CODE(1, W_STRING(1u), 0, 1, W_FIELD(2u), 9, 1, W_STRING_OF(12u, 3),
				     1, W_FIELD(201u), 0, 1, W_STRING(300u), 0, 1, W_STRING(305u),
				     0, 1, W_FIELD(400u), 0, 1, W_FIELD(1000u), 0));

	assert_action(b, 1, 1, FILTER_STRING, 0);
	assert_kept(b, 2, 2);
	assert_dropped(b, 3, 9);
	assert_kept(b, 10, 11);
	assert_action(b, 1, 12, FILTER_STRING, 3);
	assert_kept(b, 13, 14);
	assert_kept(b, 200, 201);
	assert_dropped(b, 202, 299);
	assert_action(b, 1, 300, FILTER_STRING, 0);
	assert_kept(b, 301, 304);
	assert_action(b, 1, 305, FILTER_STRING, 0);
	assert_kept(b, 306, 309);
	assert_dropped(b, 310, 399);
	assert_kept(b, 400, 400);
	assert_kept(b, 1000, 1000);
	filter_bytecode_free(b);
	filter_bytecode_free(load_with(BASE, CODE(0, W_FIELD(2u), 0, 1, W_FIELD(2u), 0)));
}

TEST(broken_overlays_are_refused)
{
	assert_refused_with(BASE, CODE_WRONG_BY(1, 1, W_FIELD(2u), 0), "checksum");
	assert_refused_with(BASE, CODE(1, W_FIELD(2u)), "ends inside");
	assert_refused_with(BASE, CODE(1, W_FIELD(2u), 0, 1), "ends inside");
	assert_refused_with(BASE, CODE(1, W_RANGE(2u, 3)), "must not contain");
	assert_refused_with(BASE, CODE(1, W_NESTED(2u, 1)), "must not contain");
	assert_refused_with(BASE, CODE(1, 2u << 3, 0), "must not contain");
	assert_refused_with(BASE, CODE(1, 2u << 3 | 6, 0), "must not contain");
	assert_refused_with(BASE, CODE(1, W_FIELD(0u), 0), "number 0");
	assert_refused_with(BASE, CODE(1, W_FIELD(3u), 0, 1, W_FIELD(2u), 0), "not sorted");
	assert_refused_with(BASE, CODE(1, W_FIELD(3u), 0, 1, W_FIELD(3u), 0), "not sorted");
	assert_refused_with(BASE, CODE(1, W_FIELD(3u), 0, 0, W_FIELD(3u), 0), "not sorted");
	assert_refused_with(BASE, CODE(2, W_FIELD(3u), 0), "does not exist");
	assert_refused_with(BASE, CODE(0, W_FIELD(1u), 0), "not Trace");
}

/* ---- against a plain list of fields ---- */

#define FIELDS 700u

/* One message of random density: each field's action must be what the words said. */
static void compare_random(uint64_t seed)
{
	uint32_t words[900] = {W_TRACE}, n = 3, one_in = 1 + rng_below(&seed, 12);
	struct filter_bytecode *b;
	uint8_t want[FIELDS + 300] = {0};

	for (uint32_t i = 1; i < FIELDS && n < 120;) {
		uint32_t count = 1;

		if (rng_below(&seed, one_in)) {
			i += 1 + rng_below(&seed, 3);
			continue;
		}
		switch (rng_below(&seed, 3)) {
		case 0:
			words[n++] = W_FIELD(i);
			want[i] = FILTER_KEEP;
			break;
		case 1:
			words[n++] = W_STRING(i);
			want[i] = FILTER_STRING;
			break;
		case 2:
			count = rng_below(&seed, 40);
			words[n++] = i << 3 | 2;
			words[n++] = count;
			memset(want + i, FILTER_KEEP, count);
			break;
		}
		i += count;
	}
	words[n++] = W_END;
	b = load(filter_code_of(words, n, 0));
	for (uint32_t i = 0; i < sizeof(want); i++)
		assert_action(b, 1, i, want[i], 0);
	filter_bytecode_free(b);
}

TEST(tables_say_what_the_words_say)
{
	for (uint64_t seed = 0; seed < 300; seed++)
		compare_random(seed);
}

/* Messages without fields, as many as there may be words; the checksum is one. */
TEST(words_are_counted)
{
	static uint8_t words[MAX_FILTER_WORDS + 20];
	uint64_t sum = 0xcbf29ce484222325, prime = 0x100000001b3;
	struct filter_bytecode *b = NULL;
	size_t len = MAX_FILTER_WORDS - 1;

	memcpy(words, (uint8_t[]){W_TRACE}, 3);
	for (size_t i = 0; i < len; i++)
		sum = (sum ^ words[i]) * prime * prime * prime * prime; /* three bytes of 0 */
	len += (size_t)(pb_put_varint(words + len, (uint32_t)sum) - words) - len;
	if (filter_bytecode_new(words, len, NULL, 0, &e, &b) < 0)
		fail_msg("%s", e.text);
	filter_bytecode_free(b);
	b = NULL;
	memmove(words + 1, words, len);
	words[0] = 0;
	assert_int_equal(filter_bytecode_new(words, len + 1, NULL, 0, &e, &b), -EINVAL);
	assert_null(b);
	assert_non_null(strstr(e.text, "too long"));
}
