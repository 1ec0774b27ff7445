// SPDX-License-Identifier: Apache-2.0
/* Read back by protobuf-c: the descriptor is a google.protobuf.DescriptorProto. */

#include "unit/test.h"
#include "common/descriptor.pb-c.h"
#include "ftrace/encode/event_compile.c"
#include "gen/fields.h"
#include "wire/pb_dec.h"
#include "wire/pb_mem.h"

TEST(test_what_a_reader_needs)
{
	static const struct described_field fields[] = {
		{"a", "", 1, FIELD_S32},	{"b", "", 2, FIELD_PID},
		{"c", "", 3, FIELD_U8},		{"d", "", 4, FIELD_DEV32},
		{"e", "", 5, FIELD_SYM64},	{"e", "_symbol", 6, FIELD_SYMBOL64},
		{"g", "", 7, FIELD_PTR64_STR},	{"h", "", 1000, FIELD_LOC_BYTES},
		{"i", "", 2047, FIELD_STACK64}, {"j", "", 8, FIELD_REST_BYTES},
	};
	static const char *const names[] = {"a",	"b", "c", "d", "e",
					    "e_symbol", "g", "h", "i", "j"};
	static const unsigned types[] = {3, 3, 4, 4, 4, 9, 9, 12, 9, 12};
	Pb__DescriptorProto *message = NULL;
	struct pb_mem m;
	struct pb_field f;
	struct pb_dec d;

	assert_int_equal(pb_mem_init(&m), 0);
	write_event_descriptor(&m.enc, 65540, "rcu", "rcu_utilization", fields, ARRAY_SIZE(fields));

	pb_dec_init(&d, m.buf, pb_mem_len(&m));
	assert_true(pb_dec_next(&d, &f));
	assert_int_equal(f.id, PB_FTRACE_EVENT_BUNDLE_GENERIC_EVENT_DESCRIPTOR_FIELD_ID);
	assert_int_equal(f.u64, 65540);
	assert_true(pb_dec_next(&d, &f));
	assert_int_equal(f.id, PB_FTRACE_EVENT_BUNDLE_GENERIC_EVENT_DESCRIPTOR_EVENT_DESCRIPTOR);
	message = pb__descriptor_proto__unpack(NULL, f.len, f.data);
	assert_non_null(message);
	assert_string_equal(message->name, "rcu_utilization");
	assert_int_equal(message->n_field, ARRAY_SIZE(fields));
	for (unsigned i = 0; i < ARRAY_SIZE(fields); i++) {
		assert_string_equal(message->field[i]->name, names[i]);
		assert_int_equal(message->field[i]->number, fields[i].number);
		assert_int_equal(message->field[i]->type, types[i]);
	}
	pb__descriptor_proto__free_unpacked(message, NULL);
	assert_true(pb_dec_next(&d, &f));
	assert_int_equal(f.id, PB_FTRACE_EVENT_BUNDLE_GENERIC_EVENT_DESCRIPTOR_GROUP_NAME);
	assert_true(pb_field_is(&f, "rcu"));
	assert_false(pb_dec_next(&d, &f));
	assert_true(pb_dec_ok(&d));
	pb_mem_deinit(&m);
}
