/* SPDX-License-Identifier: Apache-2.0 */

#include "service/filter/filter_bytecode.h"
#include "service/filter/filter_message.h"
#include "service/filter/filter_strings.h"
#include "service/ipc/limits.h"
#include "unit/rng.h"
#include "unit/service/filter_words.h"
#include "unit/service/rig.h"
#include "unit/test.h"

/* A packet: 900 a node, 901 anything, 902 a string. A node: 1 and 2 anything, 3 a node, 4 a
 * string. */
static struct filter_bytecode *code;
static struct filter_strings *strings; /* of "secret: x" only the first part stays */

static int setup(void **state)
{
	const struct filter_code c =
		CODE(W_TRACE, W_FIELD(60u), W_NESTED(900u, 2), W_FIELD(901u), W_STRING(902u), W_END,
		     W_FIELD(1u), W_FIELD(2u), W_NESTED(3u, 2), W_STRING(4u), W_END);
	Pb__TraceConfig *config = peer_parse_config(
		"trace_filter { string_filter_chain { rules { policy: SFP_MATCH_REDACT_GROUPS "
		"regex_pattern: 'secret: (.*)' } } }");

	assert_int_equal(filter_bytecode_new(c.bytes, c.len, NULL, 0, NULL, &code), 0);
	assert_int_equal(
		filter_strings_new(config->trace_filter->string_filter_chain, NULL, NULL, &strings),
		0);
	pb__trace_config__free_unpacked(config, NULL);
	return 0;
}

static int teardown(void **state)
{
	filter_bytecode_free(code);
	filter_strings_free(strings);
	return 0;
}

struct message {
	uint8_t bytes[4096];
	size_t len;
};

/* ---- writing messages ---- */

static struct message raw(const void *data, size_t len)
{
	struct message m = {.len = len};

	memcpy(m.bytes, data, len);
	return m;
}
#define RAW(text) raw(text, sizeof(text) - 1)

static struct message number(uint32_t field, uint64_t v)
{
	struct message m;

	m.len = (size_t)(pb_put_varint(pb_put_varint(m.bytes, pb_tag(field, PB_WIRE_VARINT)), v) -
			 m.bytes);
	return m;
}

/* width: of its length; 0: as short as can be. */
static struct message nested_in(uint32_t field, struct message inner, unsigned width)
{
	struct message m;
	uint8_t *p = pb_put_varint(m.bytes, pb_tag(field, PB_WIRE_BYTES));

	if (width == 4) {
		pb_put_varint4(p, (uint32_t)inner.len);
		p += 4;
	} else {
		p = pb_put_varint(p, inner.len);
	}
	memcpy(p, inner.bytes, inner.len);
	m.len = (size_t)(p + inner.len - m.bytes);
	return m;
}

static struct message nested(uint32_t field, struct message inner)
{
	return nested_in(field, inner, 0);
}

static struct message text(uint32_t field, const char *s)
{
	return nested(field, raw(s, strlen(s)));
}

static struct message join(struct message a, struct message b)
{
	memcpy(a.bytes + a.len, b.bytes, b.len);
	a.len += b.len;
	return a;
}

/* ---- filtering them ---- */

/* The input has memory of its own length, so that a step over its end is seen. In place and not. */
static int filter(struct message in, struct message *ret)
{
	uint8_t *source = malloc(in.len ? in.len : 1), *out = malloc(in.len ? in.len : 1);
	uint64_t budget = MAX_FILTER_STEPS;
	size_t len = 0, in_place = 0;
	int r;

	assert_true(source && out);
	memcpy(source, in.bytes, in.len);
	r = filter_message(code, strings, source, in.len, out, &len, &budget);
	assert_memory_equal(source, in.bytes, in.len);
	budget = MAX_FILTER_STEPS;
	assert_int_equal(filter_message(code, strings, source, in.len, source, &in_place, &budget),
			 r);
	if (r == 0) {
		assert_int_equal(len, in_place);
		assert_memory_equal(source, out, len);
		assert_true(len <= in.len);
		memcpy(ret->bytes, out, len);
		ret->len = len;
	}
	free(source);
	free(out);
	return r;
}

static void assert_filtered(struct message in, struct message want)
{
	struct message got;

	assert_int_equal(filter(in, &got), 0);
	assert_int_equal(got.len, want.len);
	assert_memory_equal(got.bytes, want.bytes, want.len);
}

static void assert_refused(struct message in)
{
	struct message got;

	assert_int_equal(filter(in, &got), -EBADMSG);
}

TEST(what_is_not_allowed_goes)
{
	struct message inner = join(text(1, "hi"), join(number(7, 9), number(2, 3)));

	assert_filtered(nested(900, inner), nested(900, join(text(1, "hi"), number(2, 3))));
	assert_filtered(nested(901, inner), nested(901, inner));
	assert_filtered(nested(800, inner), RAW(""));
	assert_filtered(join(number(60, 1), join(nested(800, inner), number(901, 2))),
			join(number(60, 1), number(901, 2)));
	assert_filtered(nested(900, nested(3, nested(3, inner))),
			nested(900, nested(3, nested(3, join(text(1, "hi"), number(2, 3))))));
	assert_filtered(nested(900, number(7, 1)), nested(900, RAW("")));
	assert_filtered(RAW(""), RAW(""));
	assert_filtered(join(nested(900, RAW("")), text(902, "")),
			join(nested(900, RAW("")), text(902, "")));
	assert_filtered(join(nested(900, number(2, 1)), nested(900, number(2, 2))),
			join(nested(900, number(2, 1)), nested(900, number(2, 2))));
}

TEST(nested_lengths_keep_their_width)
{
	char x[201];
	struct message wide;

	memset(x, 'x', 200);
	x[200] = '\0';
	wide = join(text(7, x), number(2, 1));
	assert_filtered(nested(900, wide), RAW("\xa2\x38\x82\x00\x10\x01"));
	/* a length that was longer than it had to be is no longer so */
	assert_filtered(nested_in(900, join(number(7, 1), number(2, 1)), 4),
			nested(900, number(2, 1)));
	assert_filtered(nested_in(901, number(7, 1), 4), nested_in(901, number(7, 1), 4));
}

TEST(wrong_wire_types_go)
{
	assert_filtered(join(number(900, 5), number(901, 6)), number(901, 6));
	assert_filtered(RAW("\xa5\x38\x05\0\0\0\xa1\x38\x06\0\0\0\0\0\0\0"), RAW(""));
	assert_filtered(RAW("\xad\x38\x05\0\0\0\xa9\x38\x06\0\0\0\0\0\0\0"),
			RAW("\xad\x38\x05\0\0\0\xa9\x38\x06\0\0\0\0\0\0\0"));
	assert_filtered(join(number(902, 5), text(902, "s")), text(902, "s"));
}

TEST(strings_go_through_the_rules)
{
	assert_filtered(text(902, "secret: abc"), text(902, "secret: P60"));
	assert_filtered(text(901, "secret: abc"), text(901, "secret: abc"));
	assert_filtered(
		join(text(800, "x"), nested(900, join(number(9, 1), text(4, "secret: abc")))),
		nested(900, text(4, "secret: P60")));
	assert_filtered(text(902, "not secret"), text(902, "not secret"));
}

TEST(what_is_no_message_is_refused)
{
	assert_refused(nested(900, RAW("\x0a\x05hi"))); /* ends in a field */
	assert_refused(nested(900, RAW("\x10\x01\x13\x10\x01\x14"))); /* groups */
	assert_refused(nested(900, RAW("\x10\x01\x4b\x10\x01\x4c")));
	assert_refused(nested(900, RAW("\x10\x01\x16"))); /* wire types 6, 7 */
	assert_refused(nested(900, RAW("\x10\x01\x17")));
	assert_refused(nested(900, RAW("\x10\xff"))); /* ends in a varint, in a number */
	assert_refused(nested(900, RAW("\x10\x01\x11"
				       "abc")));
	assert_refused(nested(900, RAW("\x10\x01\x15"
				       "abc")));
	assert_refused(nested(900, RAW("\x10\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01")));
	assert_refused(nested(900, RAW("\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01")));
	assert_refused(nested(900, RAW("\xff")));
	assert_refused(nested(900, nested(3, RAW("\x0a"))));
	/* what is not looked at may be anything */
	assert_filtered(join(nested(800, RAW("\xff\xff")), nested(901, RAW("\xff"))),
			nested(901, RAW("\xff")));
	/* fields that no message can have */
	assert_filtered(nested(900, RAW("\x00\x01\x10\x04")), nested(900, number(2, 4)));
	assert_filtered(nested(900, RAW("\x88\x80\x80\x80\x80\x80\x01\x05\x10\x04")),
			nested(900, number(2, 4)));
}

static struct message deep(unsigned levels)
{
	struct message m = number(2, 1);

	for (unsigned i = 1; i < levels; i++)
		m = nested(3, m);
	return nested(900, m);
}

TEST(depth_is_limited)
{
	assert_filtered(deep(MAX_FILTER_DEPTH - 1), deep(MAX_FILTER_DEPTH - 1));
	assert_refused(deep(MAX_FILTER_DEPTH));
}

TEST(expressions_have_a_budget)
{
	uint64_t budget = 5;
	uint8_t out[64];
	struct message m = text(902, "secret: something");
	size_t len;

	assert_int_equal(filter_message(code, strings, m.bytes, m.len, out, &len, &budget), -E2BIG);
	assert_true(budget <= 5);
}

TEST(fields_have_a_budget)
{
	size_t len = 2 * (MAX_FILTER_FIELDS + 1), got;
	uint64_t budget = MAX_FILTER_STEPS;
	uint8_t *fields = malloc(len);

	assert_non_null(fields);
	for (size_t i = 0; i < len; i += 2)
		memcpy(fields + i, "\x08\x01", 2);
	assert_int_equal(filter_message(code, strings, fields, len, fields, &got, &budget), -E2BIG);
	assert_int_equal(filter_message(code, strings, fields, len - 2, fields, &got, &budget), 0);
	free(fields);
}

TEST_GROUP(setup, teardown)
