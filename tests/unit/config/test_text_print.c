/* SPDX-License-Identifier: Apache-2.0 */
#include <locale.h>
#include <math.h>

#include "config/test_config.pb-c.h"
#include "config/text.h"
#include "config/text_field.h"
#include "config/text_scalar.h"
#include "config/trace_config.pb-c.h"
#include "unit/config/handmade.h"
#include "unit/test.h"

static void expect_print(const ProtobufCMessage *m, const char *expected)
{
	struct strbuf out = {0};

	strbuf_add(&out, "", 0);
	text_print(m, &out);
	assert_string_equal(out.s, expected);
	strbuf_deinit(&out);
}

TEST(every_kind_of_field)
{
	Pb__TestConfig__DummyFields d = PB__TEST_CONFIG__DUMMY_FIELDS__INIT;
	uint8_t bytes[] = {0, 1, '"', 0xff};

	d.has_field_uint32 = d.has_field_int32 = d.has_field_uint64 = d.has_field_int64 = true;
	d.has_field_fixed64 = d.has_field_sfixed64 = d.has_field_fixed32 = d.has_field_sfixed32 =
		true;
	d.has_field_double = d.has_field_float = d.has_field_sint64 = d.has_field_sint32 = true;
	d.has_field_bytes = true;
	d.field_uint32 = UINT32_MAX;
	d.field_int32 = INT32_MIN;
	d.field_uint64 = UINT64_MAX;
	d.field_int64 = INT64_MIN;
	d.field_fixed64 = UINT64_MAX;
	d.field_sfixed64 = -1;
	d.field_fixed32 = UINT32_MAX;
	d.field_sfixed32 = -1;
	d.field_double = 0.1;
	d.field_float = -HUGE_VALF;
	d.field_sint64 = INT64_MAX;
	d.field_sint32 = 0;
	d.field_string = (char *)"a\tb\xc3\xa4'";
	d.field_bytes = (ProtobufCBinaryData){sizeof(bytes), bytes};
	expect_print(&d.base, "field_uint32: 4294967295\n"
			      "field_int32: -2147483648\n"
			      "field_uint64: 18446744073709551615\n"
			      "field_int64: -9223372036854775808\n"
			      "field_fixed64: 18446744073709551615\n"
			      "field_sfixed64: -1\n"
			      "field_fixed32: 4294967295\n"
			      "field_sfixed32: -1\n"
			      "field_double: 0.1\n"
			      "field_float: -inf\n"
			      "field_sint64: 9223372036854775807\n"
			      "field_sint32: 0\n"
			      "field_string: \"a\\tb\\303\\244'\"\n"
			      "field_bytes: \"\\000\\001\\\"\\377\"\n");
}

TEST(messages_enums_and_booleans)
{
	Pb__TraceConfig__BufferConfig a = PB__TRACE_CONFIG__BUFFER_CONFIG__INIT,
				      b = PB__TRACE_CONFIG__BUFFER_CONFIG__INIT;
	Pb__TraceConfig__BufferConfig *buffers[] = {&a, &b};
	Pb__TraceConfig c = PB__TRACE_CONFIG__INIT;

	expect_print(&c.base, "");
	a.has_fill_policy = a.has_transfer_on_clone = true;
	a.fill_policy = PB__TRACE_CONFIG__BUFFER_CONFIG__FILL_POLICY__DISCARD;
	b.has_fill_policy = b.has_transfer_on_clone = true;
	b.fill_policy = (Pb__TraceConfig__BufferConfig__FillPolicy)-7;
	b.transfer_on_clone = true;
	c.buffers = buffers;
	c.n_buffers = 2;
	expect_print(&c.base, "buffers {\n"
			      "  fill_policy: DISCARD\n"
			      "  transfer_on_clone: false\n"
			      "}\n"
			      "buffers {\n"
			      "  fill_policy: -7\n"
			      "  transfer_on_clone: true\n"
			      "}\n");
}

TEST(unknown_fields_are_what_their_bytes_say)
{
	/* Field 1000 of each wire type. */
	static const uint8_t bytes[] = {0xc0, 0x3e, 0xff, 0x01, 0xc1, 0x3e, 1,	  2, 3,
					4,    5,    6,	  7,	8,    0xc2, 0x3e, 3, 'a',
					'"',  0,    0xc5, 0x3e, 4,    3,    2,	  1};
	Pb__TraceConfig *c = pb__trace_config__unpack(NULL, sizeof(bytes), bytes);

	assert_non_null(c);
	expect_print(&c->base, "1000: 255\n"
			       "1000: 0x0807060504030201\n"
			       "1000: \"a\\\"\\000\"\n"
			       "1000: 0x01020304\n");
	pb__trace_config__free_unpacked(c, NULL);
}

TEST(only_what_is_set_is_printed)
{
	char raw_byte[] = "\xff";
	struct handmade m, sub;

	handmade_init(&m.base);
	handmade_init(&sub.base);
	expect_print(&m.base, "must: 0\n");
	m.name = (char *)"";
	m.has_raw = true;
	m.plain = 3;
	m.one_case = 8;
	m.sub = &sub;
	sub.one_case = 7;
	sub.number = 0;
	sub.raw = (ProtobufCBinaryData){1, (uint8_t *)raw_byte};
	expect_print(&m.base, "must: 0\n"
			      "raw: \"\\001\\002\"\n"
			      "plain: 3\n"
			      "sub {\n"
			      "  must: 0\n"
			      "  number: 0\n"
			      "}\n"
			      "name: \"\"\n");
	m.one_case = 6; /* a member that says it is there and is not */
	m.sub = NULL;
	m.has_raw = false;
	expect_print(&m.base, "must: 0\nplain: 3\nname: \"\"\n");
}

/* ---- any message, and back ---- */

static uint64_t seed;

/* xorshift64: the same numbers in every run. */
static uint64_t next_random(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed;
}

static ProtobufCMessage *random_message(const ProtobufCMessageDescriptor *type, unsigned depth);

/* Bytes of which few are plain; without NUL for strings. */
static char *random_bytes(size_t *ret_len, bool nul)
{
	size_t len = next_random() % 20;
	char *s = malloc(len + 1);

	for (size_t i = 0; i < len; i++) {
		s[i] = (char)next_random();
		if (!nul && !s[i])
			s[i] = '\\';
	}
	s[len] = '\0';
	*ret_len = len;
	return s;
}

static union text_scalar random_value(const ProtobufCFieldDescriptor *field, unsigned depth)
{
	const ProtobufCEnumDescriptor *e = field->descriptor;
	union text_scalar v = {.u64 = next_random() >> next_random() % 64};
	size_t len;

	switch (field->type) {
	case PROTOBUF_C_TYPE_BOOL:
		v.b = next_random() & 1;
		break;
	case PROTOBUF_C_TYPE_ENUM:
		v.u32 = (uint32_t)e->values[next_random() % e->n_values].value;
		break;
	case PROTOBUF_C_TYPE_FLOAT:
		v.f = isnan(v.f) ? -0.0f : v.f;
		break;
	case PROTOBUF_C_TYPE_DOUBLE:
		v.d = isnan(v.d) ? HUGE_VAL : v.d;
		break;
	case PROTOBUF_C_TYPE_STRING:
		v.string = random_bytes(&len, false);
		break;
	case PROTOBUF_C_TYPE_BYTES:
		v.bytes.data = (uint8_t *)random_bytes(&v.bytes.len, true);
		break;
	case PROTOBUF_C_TYPE_MESSAGE:
		v.message = random_message(field->descriptor, depth + 1);
		break;
	default:
		break;
	}
	return v;
}

static ProtobufCMessage *random_message(const ProtobufCMessageDescriptor *type, unsigned depth)
{
	ProtobufCMessage *m = malloc(type->sizeof_message);

	protobuf_c_message_init(type, m);
	for (unsigned i = 0; i < type->n_fields; i++) {
		const ProtobufCFieldDescriptor *f = &type->fields[i];
		unsigned n = next_random() % (depth + 2) == 0;

		if (f->type == PROTOBUF_C_TYPE_MESSAGE && depth > 6)
			continue;
		if ((f->flags & PROTOBUF_C_FIELD_FLAG_ONEOF) && text_field_oneof_member(m, f))
			continue;
		if (n && f->label == PROTOBUF_C_LABEL_REPEATED)
			n = next_random() % 5;
		while (n-- > 0) {
			union text_scalar v = random_value(f, depth);

			assert_int_equal(text_field_put(m, f, &v), 0);
		}
	}
	assert_true(protobuf_c_message_check(m));
	return m;
}

TEST(any_message_reads_back_as_it_was)
{
	size_t bytes = 0;

	seed = 0x9e3779b97f4a7c15;
	for (int i = 0; i < 1000; i++) {
		ProtobufCMessage *m = random_message(&pb__trace_config__descriptor, 0), *again;
		struct strbuf text = {0}, errors = {0}, second = {0};
		size_t n = protobuf_c_message_get_packed_size(m);
		uint8_t *a = malloc(n + 1), *b = malloc(n + 1);

		text_print(m, &text);
		if (text_parse(m->descriptor, "f", text.s, text.len, &errors, &again) < 0)
			fail_msg("%s", errors.s);
		assert_int_equal(protobuf_c_message_get_packed_size(again), n);
		protobuf_c_message_pack(m, a);
		protobuf_c_message_pack(again, b);
		assert_memory_equal(a, b, n);
		text_print(again, &second);
		assert_int_equal(second.len, text.len);
		if (text.len > 0)
			assert_memory_equal(second.s, text.s, text.len);
		bytes += n;
		protobuf_c_message_free_unpacked(m, NULL);
		protobuf_c_message_free_unpacked(again, NULL);
		strbuf_deinit(&text);
		strbuf_deinit(&second);
		free(a);
		free(b);
	}
	assert_in_range(bytes, 100000, 1000000000); /* they are not all empty */
}

/* The first locale of this machine that writes 1,5. */
static bool set_comma_locale(void)
{
	static const char *const names[] = {"de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8",
					    "it_IT.UTF-8", "ru_RU.UTF-8"};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (setlocale(LC_ALL, names[i]) && localeconv()->decimal_point[0] == ',')
			return true;
	return false;
}

static Pb__TestConfig__DummyFields *read_dummy(const char *text)
{
	struct strbuf errors = {0};
	ProtobufCMessage *m;

	if (text_parse(&pb__test_config__dummy_fields__descriptor, "f", text, strlen(text), &errors,
		       &m) < 0)
		fail_msg("%s", errors.s);
	return (Pb__TestConfig__DummyFields *)m;
}

TEST(the_locale_of_the_program_does_not_matter)
{
	static const char text[] = "field_double: 1.5\nfield_float: 2.5\n";
	Pb__TestConfig__DummyFields *d;

	if (!set_comma_locale())
		skip();
	d = read_dummy(text);
	assert_true(d->field_double == 1.5 && d->field_float == 2.5f);
	expect_print(&d->base, text);
	protobuf_c_message_free_unpacked(&d->base, NULL);
	setlocale(LC_ALL, "C");
}

TEST(every_byte_is_printed_so_that_it_reads_back)
{
	Pb__TestConfig__DummyFields d = PB__TEST_CONFIG__DUMMY_FIELDS__INIT, *again;
	struct strbuf text = {0};
	uint8_t all[512];

	for (size_t i = 0; i < sizeof(all); i++)
		all[i] = (uint8_t)(i < 256 ? i : i * 7); /* each byte before several others */
	d.has_field_bytes = true;
	d.field_bytes = (ProtobufCBinaryData){sizeof(all), all};
	text_print(&d.base, &text);
	for (size_t i = 0; i < text.len - 1; i++)
		assert_in_range((uint8_t)text.s[i], 0x20, 0x7e);
	again = read_dummy(text.s);
	assert_int_equal(again->field_bytes.len, sizeof(all));
	assert_memory_equal(again->field_bytes.data, all, sizeof(all));
	protobuf_c_message_free_unpacked(&again->base, NULL);
	strbuf_deinit(&text);
}

TEST(floats_are_read_as_the_compiler_reads_them)
{
	Pb__TestConfig__DummyFields *d = read_dummy("field_double: 5e-324 field_float: 0.1");

	assert_true(d->field_double == 5e-324 && d->field_float == 0.1f);
	protobuf_c_message_free_unpacked(&d->base, NULL);
}
