/* SPDX-License-Identifier: Apache-2.0 */
#include "base/text/base64.h"
#include "unit/test.h"

static void check(const char *text, bool good, const char *bytes, size_t len)
{
	struct strbuf b = {0};

	assert_int_equal(strbuf_put_decoded_base64(&b, text, strlen(text)), good);
	if (good) {
		assert_int_equal(b.len, len);
		assert_memory_equal(b.s ? b.s : "", bytes, len);
	}
	strbuf_deinit(&b);
}

TEST(padding_is_optional)
{
	check("", true, "", 0);
	check("Zg==", true, "f", 1);
	check("Zg", true, "f", 1);
	check("Zm8=", true, "fo", 2);
	check("Zm9v", true, "foo", 3);
	check("+/8A", true, "\xfb\xff\0", 3);
}

TEST(other_texts_are_refused)
{
	check("Z", false, NULL, 0);
	check("Zm9vZ", false, NULL, 0);
	check("Zg=A", false, NULL, 0);
	check("Zg===", false, NULL, 0);
	check("Zm 9v", false, NULL, 0);
	check("-_8A", false, NULL, 0);
}

TEST(decodes_what_strbuf_put_base64_writes)
{
	char data[256];
	struct strbuf text = {0}, back = {0};

	for (size_t i = 0; i < sizeof(data); i++)
		data[i] = (char)i;
	for (size_t len = 0; len <= sizeof(data); len++) {
		strbuf_clear(&text);
		strbuf_clear(&back);
		strbuf_put_base64(&text, data, len);
		assert_true(strbuf_put_decoded_base64(&back, text.s ? text.s : "", text.len));
		assert_int_equal(back.len, len);
		assert_memory_equal(back.s ? back.s : "", data, len);
	}
	strbuf_deinit(&text);
	strbuf_deinit(&back);
}
