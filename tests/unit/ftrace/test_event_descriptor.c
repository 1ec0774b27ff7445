// SPDX-License-Identifier: Apache-2.0
/* Read back by protobuf-c: the descriptor is a google.protobuf.DescriptorProto. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/descriptor.pb-c.h"
#include "ftrace/event_descriptor.h"
#include "gen/fields.h"
#include "wire/pb_dec.h"
#include "wire/pb_mem.h"

static void test_what_a_reader_needs(void **state)
{
	static const struct field_op ops[] = {
		{.kind = FIELD_S32},	   {.kind = FIELD_PID},	      {.kind = FIELD_U8},
		{.kind = FIELD_DEV32},	   {.kind = FIELD_SYM64},     {.kind = FIELD_COMM},
		{.kind = FIELD_PTR64_STR}, {.kind = FIELD_LOC_BYTES},
	};
	static const char *const names[] = {"a", "b", "c", "d", "e", "f", "g", "h"};
	static const unsigned types[] = {3, 3, 4, 4, 4, 9, 9, 12};
	Pb__DescriptorProto *message = NULL;
	struct pb_mem m;
	struct pb_field f;
	struct pb_dec d;

	(void)state;
	assert_int_equal(pb_mem_init(&m), 0);
	event_descriptor_write(&m.enc, 65540, "rcu", "rcu_utilization", ops, names, 8);

	pb_dec_init(&d, m.buf, pb_mem_len(&m));
	assert_true(pb_dec_next(&d, &f));
	assert_int_equal(f.id, PB_FTRACE_EVENT_BUNDLE_GENERIC_EVENT_DESCRIPTOR_FIELD_ID);
	assert_int_equal(f.u64, 65540);
	assert_true(pb_dec_next(&d, &f));
	assert_int_equal(f.id, PB_FTRACE_EVENT_BUNDLE_GENERIC_EVENT_DESCRIPTOR_EVENT_DESCRIPTOR);
	message = pb__descriptor_proto__unpack(NULL, f.len, f.data);
	assert_non_null(message);
	assert_string_equal(message->name, "rcu_utilization");
	assert_int_equal(message->n_field, 8);
	for (unsigned i = 0; i < 8; i++) {
		assert_string_equal(message->field[i]->name, names[i]);
		assert_int_equal(message->field[i]->number, i + 1);
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_a_reader_needs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
