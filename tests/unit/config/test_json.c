/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "config/json.h"
#include "config/test_config.pb-c.h"
#include "config/trace_config.pb-c.h"
#include "unit/test.h"

static void expect_json(const ProtobufCMessage *m, const char *expected)
{
	struct strbuf out = {0};

	json_print(m, &out);
	assert_false(out.failed);
	assert_string_equal(out.s, expected);
	strbuf_deinit(&out);
}

TEST(every_kind_of_field)
{
	Pb__TestConfig__DummyFields d = PB__TEST_CONFIG__DUMMY_FIELDS__INIT;
	uint8_t bytes[] = "Man!";

	d.has_field_uint32 = d.has_field_int64 = d.has_field_uint64 = d.has_field_double = true;
	d.has_field_float = d.has_field_bytes = true;
	d.field_uint32 = UINT32_MAX;
	d.field_int64 = INT64_MIN;
	d.field_uint64 = UINT64_MAX;
	d.field_double = 0.1;
	d.field_float = -HUGE_VALF;
	d.field_string = (char *)"a\t\"b\\\xc3\xa4\xff";
	d.field_bytes = (ProtobufCBinaryData){4, bytes};
	expect_json(&d.base, "{\"field_uint32\":4294967295,\"field_uint64\":18446744073709551615,"
			     "\"field_int64\":-9223372036854775808,\"field_double\":0.1,"
			     "\"field_float\":null,\"field_string\":\"a\\u0009\\\"b\\\\\xc3\xa4?\","
			     "\"field_bytes\":\"TWFuIQ==\"}");
}

TEST(messages_lists_and_enums)
{
	Pb__TraceConfig__BufferConfig a = PB__TRACE_CONFIG__BUFFER_CONFIG__INIT,
				      b = PB__TRACE_CONFIG__BUFFER_CONFIG__INIT;
	Pb__TraceConfig__BufferConfig *buffers[] = {&a, &b};
	Pb__TraceConfig c = PB__TRACE_CONFIG__INIT;

	expect_json(&c.base, "{}");
	a.has_fill_policy = a.has_transfer_on_clone = b.has_fill_policy = true;
	a.fill_policy = PB__TRACE_CONFIG__BUFFER_CONFIG__FILL_POLICY__DISCARD;
	a.transfer_on_clone = true;
	b.fill_policy = 77;
	c.n_buffers = 2;
	c.buffers = buffers;
	c.has_duration_ms = true;
	expect_json(&c.base,
		    "{\"buffers\":[{\"fill_policy\":\"DISCARD\",\"transfer_on_clone\":true},"
		    "{\"fill_policy\":77}],\"duration_ms\":0}");
}
