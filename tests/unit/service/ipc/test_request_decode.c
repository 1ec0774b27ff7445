/* SPDX-License-Identifier: Apache-2.0 */

#include "service/ipc/request_decode.h"
#include "unit/test.h"

static struct pb_field field(const char *bytes, size_t len)
{
	return (struct pb_field){.data = (const uint8_t *)bytes, .len = len};
}

TEST(string_is_copied_and_ended)
{
	struct pb_field f = field("hello world", 5);
	char *s = NULL;

	assert_int_equal(decode_string(&f, 5, &s), 0);
	assert_string_equal(s, "hello");
	f = field("", 0);
	assert_int_equal(decode_string(&f, 5, &s), 0);
	assert_string_equal(s, "");
	free(s);
}

TEST(bad_string_leaves_the_old_one)
{
	struct pb_field f = field("old", 3);
	char *s = NULL;

	assert_int_equal(decode_string(&f, 8, &s), 0);
	f = field("123456789", 9);
	assert_int_equal(decode_string(&f, 8, &s), -EMSGSIZE);
	f = field("a\0b", 3);
	assert_int_equal(decode_string(&f, 8, &s), -EINVAL);
	assert_string_equal(s, "old");
	free(s);
}

/* What a request of one number field 3 and one bytes field 4 means. */
static void sum(const char *bytes, size_t len, uint64_t *ret_number, size_t *ret_len)
{
	struct pb_field f;
	struct pb_dec d;

	*ret_number = *ret_len = 0;
	pb_dec_init(&d, bytes, len);
	while (pb_dec_next(&d, &f))
		switch (FIELD_KEY(f)) {
		case KEY_VARINT(3):
			*ret_number = f.u64;
			break;
		case KEY_BYTES(4):
			*ret_len = f.len;
			break;
		}
}

TEST(keys_tell_wire_types_apart)
{
	uint64_t number;
	size_t len;

	sum("\x18\x07\x22\x02xy", 6, &number, &len);
	assert_int_equal(number, 7);
	assert_int_equal(len, 2);
	/* The same numbers with each other's types, and fixed32. */
	sum("\x1a\x02xy\x20\x07\x1d\x01\x02\x03\x04", 11, &number, &len);
	assert_int_equal(number, 0);
	assert_int_equal(len, 0);
}

TEST(what_nobody_looks_at_must_parse)
{
	assert_int_equal(check_request_parses(NULL, 0), 0);
	assert_int_equal(check_request_parses((const uint8_t *)"\x18\x07\x22\x02xy", 6), 0);
	assert_int_equal(check_request_parses((const uint8_t *)"\x18\x07\x22\x03xy", 6), -EBADMSG);
	assert_int_equal(check_request_parses((const uint8_t *)"\xff", 1), -EBADMSG);
}
