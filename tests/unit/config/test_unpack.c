/* SPDX-License-Identifier: Apache-2.0 */

#include "config/trace_config.pb-c.h"
#include "config/unpack.h"
#include "protovm/vm_program.pb-c.h"
#include "unit/test.h"
#include "wire/pb_varint.h"

#define NESTED_TAG 0x3a /* VmInstruction.nested_instructions = 7 */
#define FRAME_MAX 131068u

/* Fills the end of buf with as many levels as asked for or fit; gives where they begin. */
static const uint8_t *nest(uint8_t *buf, size_t size, unsigned levels, size_t *ret_len)
{
	size_t at = size, len = 0;

	while (levels-- > 0 && at > 12) {
		unsigned n = pb_varint_len(len);

		at -= n + 1;
		buf[at] = NESTED_TAG;
		pb_put_varint(buf + at + 1, len);
		len = size - at;
	}
	*ret_len = len;
	return buf + at;
}

static int unpack_nested(unsigned levels)
{
	uint8_t *buf = malloc(FRAME_MAX);
	ProtobufCMessage *m;
	const uint8_t *data;
	size_t len;
	int r;

	data = nest(buf, FRAME_MAX, levels, &len);
	r = unpack_untrusted(&pb__vm_instruction__descriptor, data, len, &m);
	if (r == 0)
		protobuf_c_message_free_unpacked(m, NULL);
	free(buf);
	return r;
}

TEST(nesting_has_a_limit)
{
	assert_int_equal(unpack_nested(0), 0);
	assert_int_equal(unpack_nested(UNPACK_MAX_DEPTH), 0);
	assert_int_equal(unpack_nested(UNPACK_MAX_DEPTH + 1), -EBADMSG);
	assert_int_equal(unpack_nested(FRAME_MAX), -EBADMSG);
}

TEST(only_messages_count_as_nested)
{
	uint8_t buf[1024];
	const uint8_t *data;
	ProtobufCMessage *m;
	size_t len;

	/* For a TraceConfig field 7 is another message, whose field 7 is not examined. */
	data = nest(buf, sizeof(buf), UNPACK_MAX_DEPTH + 50, &len);
	assert_int_equal(unpack_untrusted(&pb__trace_config__descriptor, data, len, &m), 0);
	protobuf_c_message_free_unpacked(m, NULL);
}

TEST(unpacks_what_protobuf_c_unpacks)
{
	static const uint8_t bytes[] = {0x0a, 0x02, 0x08, 0x40, 0x18, 0x05, 0x98, 0xe2, 0x09, 0x01};
	ProtobufCMessage *m;
	Pb__TraceConfig *c;
	uint8_t again[sizeof(bytes)];

	assert_int_equal(unpack_untrusted(&pb__trace_config__descriptor, bytes, sizeof(bytes), &m),
			 0);
	c = (Pb__TraceConfig *)m;
	assert_int_equal(c->n_buffers, 1);
	assert_int_equal(c->buffers[0]->size_kb, 64);
	assert_int_equal(c->duration_ms, 5);
	/* An unknown field is kept for readers that know it. */
	assert_int_equal(m->n_unknown_fields, 1);
	assert_int_equal(protobuf_c_message_pack(m, again), sizeof(bytes));
	assert_memory_equal(again, bytes, sizeof(bytes));
	protobuf_c_message_free_unpacked(m, NULL);
}

TEST(every_cut_or_changed_message_has_an_answer)
{
	static const uint8_t bytes[] = {0x0a, 0x04, 0x08, 0x40, 0x20, 0x01, 0x12, 0x06, 0x0a,
					0x04, 0x0a, 0x02, 'a',	'b',  0x18, 0xff, 0xff, 0x03};

	for (size_t len = 0; len <= sizeof(bytes); len++)
		for (size_t i = 0; i < len; i++)
			for (int bit = 0; bit < 8; bit++) {
				uint8_t *copy = malloc(len);
				ProtobufCMessage *m;
				int r;

				memcpy(copy, bytes, len);
				copy[i] ^= (uint8_t)(1 << bit);
				r = unpack_untrusted(&pb__trace_config__descriptor, copy, len, &m);
				assert_true(r == 0 || r == -EBADMSG);
				if (r == 0)
					protobuf_c_message_free_unpacked(m, NULL);
				free(copy);
			}
}

TEST(nothing_at_all_is_an_empty_message)
{
	ProtobufCMessage *m;

	assert_int_equal(unpack_untrusted(&pb__trace_config__descriptor, "", 0, &m), 0);
	assert_int_equal(protobuf_c_message_get_packed_size(m), 0);
	protobuf_c_message_free_unpacked(m, NULL);
}

/* Two bytes of TraceConfig.data_sources each, and as many structures. */
TEST(what_it_takes_has_a_limit)
{
	enum { N = 60000 };
	uint8_t *data = malloc(2 * N);
	ProtobufCMessage *m;
	size_t bytes = 7, more;

	assert_non_null(data);
	for (size_t i = 0; i < N; i++) {
		data[2 * i] = 0x12;
		data[2 * i + 1] = 0;
	}
	assert_int_equal(
		unpack_limited(&pb__trace_config__descriptor, data, 2 * N, 1 << 20, &m, &bytes),
		-E2BIG);
	assert_int_equal(bytes, 7);
	assert_int_equal(
		unpack_limited(&pb__trace_config__descriptor, data, 2 * N, 100 << 20, &m, &bytes),
		0);
	assert_true(bytes > N * sizeof(Pb__TraceConfig__DataSource));
	protobuf_c_message_free_unpacked(m, NULL);
	/* As much as it took is enough. */
	assert_int_equal(
		unpack_limited(&pb__trace_config__descriptor, data, 2 * N, bytes, &m, &more), 0);
	assert_int_equal(more, bytes);
	protobuf_c_message_free_unpacked(m, NULL);
	assert_int_equal(
		unpack_limited(&pb__trace_config__descriptor, data, 2 * N, bytes - 1, &m, &more),
		-E2BIG);
	free(data);
}
