/* SPDX-License-Identifier: Apache-2.0 */

#include "unit/test.h"
#include "unit/config/handmade.h"
#include "config/text_field.h"
#include "config/trace_config.pb-c.h"

static struct handmade *new_handmade(void)
{
	struct handmade *m = malloc(sizeof(*m));

	handmade_init(&m->base);
	return m;
}

static void free_handmade(struct handmade *m)
{
	/* Memory that was not put, or put twice, shows under a sanitizer. */
	protobuf_c_message_free_unpacked(&m->base, NULL);
}

TEST(an_empty_message_has_only_what_is_required)
{
	struct handmade *m = new_handmade();

	for (unsigned i = 0; i < handmade_type.n_fields; i++)
		assert_int_equal(text_field_count(&m->base, &handmade_fields[i]), i == 0);
	free_handmade(m);
}

TEST(a_string_replaces_its_borrowed_default)
{
	struct handmade *m = new_handmade();
	char *s = strdup("own");

	assert_int_equal(text_field_put(&m->base, HANDMADE(word), &s), 0);
	assert_int_equal(text_field_count(&m->base, HANDMADE(word)), 1);
	assert_string_equal(m->word, "own");
	assert_ptr_equal(*(char *const *)text_field_get(&m->base, HANDMADE(word), 0), s);
	free_handmade(m);
}

TEST(bytes_replace_their_default_and_are_marked)
{
	struct handmade *m = new_handmade();
	ProtobufCBinaryData none = {0, NULL};

	assert_int_equal(text_field_put(&m->base, HANDMADE(raw), &none), 0);
	assert_true(m->has_raw);
	assert_int_equal(text_field_count(&m->base, HANDMADE(raw)), 1);
	assert_int_equal(m->raw.len, 0);
	free_handmade(m);
}

TEST(fields_without_presence_are_there_when_not_zero)
{
	struct handmade *m = new_handmade();
	uint32_t zero = 0, one = 1;
	char *empty = strdup(""), *full;

	text_field_put(&m->base, HANDMADE(plain), &zero);
	text_field_put(&m->base, HANDMADE(line), &empty);
	assert_int_equal(text_field_count(&m->base, HANDMADE(plain)), 0);
	assert_int_equal(text_field_count(&m->base, HANDMADE(line)), 0);
	text_field_put(&m->base, HANDMADE(plain), &one);
	assert_int_equal(text_field_count(&m->base, HANDMADE(plain)), 1);
	free(m->line);
	full = strdup("x");
	text_field_put(&m->base, HANDMADE(line), &full);
	assert_int_equal(text_field_count(&m->base, HANDMADE(line)), 1);
	free_handmade(m);
}

TEST(a_oneof_knows_its_member)
{
	struct handmade *m = new_handmade(), *sub = new_handmade();

	assert_null(text_field_member(&m->base, HANDMADE(text)));
	assert_int_equal(text_field_put(&m->base, HANDMADE(sub), &sub), 0);
	assert_int_equal(m->one_case, 8);
	assert_ptr_equal(text_field_member(&m->base, HANDMADE(text)), HANDMADE(sub));
	assert_int_equal(text_field_count(&m->base, HANDMADE(text)), 0);
	assert_int_equal(text_field_count(&m->base, HANDMADE(number)), 0);
	assert_int_equal(text_field_count(&m->base, HANDMADE(sub)), 1);
	free_handmade(m);
}

TEST(arrays_grow_and_keep_their_order)
{
	struct handmade *m = new_handmade();

	for (size_t i = 0; i < 1000; i++) {
		ProtobufCBinaryData d = {i, malloc(i + 1)};

		memset(d.data, (int)i, i + 1);
		assert_int_equal(text_field_put(&m->base, HANDMADE(blobs), &d), 0);
		assert_int_equal(text_field_count(&m->base, HANDMADE(blobs)), i + 1);
	}
	for (size_t i = 0; i < 1000; i++) {
		const ProtobufCBinaryData *d = text_field_get(&m->base, HANDMADE(blobs), i);

		assert_int_equal(d->len, i);
		assert_int_equal(d->data[i], (uint8_t)i);
	}
	free_handmade(m);
}

/* Reads what protobuf-c itself has unpacked. */
TEST(agrees_with_unpack)
{
	static const uint8_t bytes[] = {0x0a, 0x02, 0x08, 0x40, 0x0a, 0x00,
					0x18, 0x00, 0xb2, 0x01, 0x01, 'x'};
	Pb__TraceConfig *c = pb__trace_config__unpack(NULL, sizeof(bytes), bytes);
	const ProtobufCMessageDescriptor *type = &pb__trace_config__descriptor;
	size_t sum = 0;

	assert_non_null(c);
	for (unsigned i = 0; i < type->n_fields; i++)
		sum += text_field_count(&c->base, &type->fields[i]);
	assert_int_equal(sum, 4); /* two buffers, duration_ms, unique_session_name */
	assert_int_equal(text_field_count(&c->base, &type->fields[0]), 2);
	assert_ptr_equal(*(void *const *)text_field_get(&c->base, &type->fields[0], 1),
			 c->buffers[1]);
	pb__trace_config__free_unpacked(c, NULL);
}
