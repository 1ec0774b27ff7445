/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/test.h"
#include "wire/pb_read.h"

#define MESSAGE(s)                                                                                 \
	{                                                                                          \
		.id = 1, .data = (const uint8_t *)(s), .len = sizeof(s) - 1                        \
	}

TEST(fields_are_stored_as_the_types_of_the_variables_say)
{
	struct pb_field message = MESSAGE("\x08\x96\x01"
					  "\x11\x00\x00\x00\x00\x00\x00\xf8\x3f"
					  "\x1a\x03xyz"
					  "\x20\x02"
					  "\x28\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"
					  "\x28\xfe\xff\xff\xff\xff\xff\xff\xff\xff\x01");
	struct pb_field text = {0}, any = {0}, none = {0};
	uint64_t one = 0, missing = 7;
	double real = 0;
	int32_t last = 0;
	bool is = false;

	assert_true(pb_read(&message, PB_TO(1, &one), PB_TO(2, &real), PB_TO(3, &text),
			    PB_TO(4, &is), PB_TO(5, &last), PB_TO(6, &missing), PB_TO_ANY(1, &any),
			    PB_TO_ANY(6, &none)));
	assert_true(any.id == 1 && any.u64 == 150 && !any.data && !none.id);
	assert_int_equal(one, 150);
	assert_true(real == 1.5);
	assert_true(pb_field_is(&text, "xyz"));
	assert_true(is);
	assert_int_equal(last, -2);
	assert_int_equal(missing, 7);
}

TEST(a_field_of_another_wire_type_is_unknown)
{
	struct pb_field message = MESSAGE("\x0a\x01x\x10\x05"), text = {0};
	uint64_t number = 3;

	assert_true(pb_read(&message, PB_TO(1, &number), PB_TO(2, &text)));
	assert_int_equal(number, 3);
	assert_int_equal(text.id, 0);
}

TEST(an_invalid_message_keeps_the_fields_before_the_error)
{
	struct pb_field message = MESSAGE("\x08\x05\x10"), number = {.id = 1, .u64 = 9};
	uint64_t one = 0, two = 0;

	assert_false(pb_read(&message, PB_TO(1, &one), PB_TO(2, &two)));
	assert_int_equal(one, 5);
	assert_int_equal(two, 0);
	assert_false(pb_read(&number, PB_TO(1, &one)));
	assert_true(pb_read(&(struct pb_field){0}, PB_TO(1, &one)));
}

TEST(raw_fields_are_all_bytes_of_the_message)
{
	static const char bytes[] = "\x08\x96\x01\x1a\x03xyz\x10\x05";
	struct pb_field message = MESSAGE(bytes);
	size_t at = 0;

	pb_for_each_raw (r, &message) {
		assert_ptr_equal(r.data, bytes + at);
		assert_true(r.f.id >= 1 && r.f.id <= 3);
		at += r.len;
	}
	assert_int_equal(at, sizeof(bytes) - 1);
}

TEST(a_loop_over_the_fields_can_end_early)
{
	struct pb_field message = MESSAGE("\x08\x05\x10\x06\x18\x07");
	unsigned sum = 0, n = 0;

	pb_for_each (f, &message)
		sum += (unsigned)f.u64;
	assert_int_equal(sum, 18);
	pb_for_each (f, &message) {
		if (f.id == 2)
			break;
		n++;
	}
	assert_int_equal(n, 1);
}
