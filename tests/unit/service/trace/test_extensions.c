/* SPDX-License-Identifier: Apache-2.0 */
#include <zlib.h>

#include "base/system/fs.h"
#include "service/trace/extensions.h"
#include "unit/temp_dir.h"
#include "unit/test.h"

/* file { name: "x.proto" } */
static const char set[] = "\x0a\x09\x0a\x07x.proto";
#define SET_LEN (sizeof(set) - 1)

static const char *write_bytes(void **state, const void *data, size_t len)
{
	const char *path = temp_dir_path(state, 0, "set");
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	assert_int_equal(fwrite(data, 1, len, f), len);
	fclose(f);
	return path;
}

/* The bytes in gzip's format. */
static size_t zip(const void *data, size_t len, uint8_t *out, size_t room)
{
	z_stream z = {.next_in = (Bytef *)(uintptr_t)data,
		      .avail_in = (uInt)len,
		      .next_out = out,
		      .avail_out = (uInt)room};

	assert_int_equal(deflateInit2(&z, 9, Z_DEFLATED, MAX_WBITS + 16, 8, Z_DEFAULT_STRATEGY),
			 Z_OK);
	assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
	deflateEnd(&z);
	return z.total_out;
}

static int load(void **state, struct extensions *x, const void *data, size_t len)
{
	struct err_text e = {""};
	int r = extensions_load(x, write_bytes(state, data, len), &e);

	assert_true((r == 0) == (e.text[0] == '\0'));
	return r;
}

#define FIXTURE_TEST(name) TEST_WITH(name, temp_dir_setup, temp_dir_teardown)

FIXTURE_TEST(files_are_kept_as_they_are)
{
	struct extensions x = {0};
	uint8_t zipped[256];
	size_t n = zip(set, SET_LEN, zipped, sizeof(zipped));

	assert_int_equal(load(state, &x, set, SET_LEN), 0);
	assert_int_equal(load(state, &x, zipped, n), 0);
	assert_int_equal(x.n, 2);
	assert_false(x.list[0].gzip);
	assert_int_equal(x.list[0].len, SET_LEN);
	assert_memory_equal(x.list[0].data, set, SET_LEN);
	assert_true(x.list[1].gzip);
	assert_int_equal(x.list[1].len, n);
	assert_memory_equal(x.list[1].data, zipped, n);
	extensions_deinit(&x);
}

FIXTURE_TEST(what_is_no_set_is_refused)
{
	static const char *const bad[] = {"",
					  "text",
					  "\x0a\x7f",
					  "\x12\x01x",
					  "\x08\x01",
					  "\x1f\x8b",
					  "\x1f\x8bnonsense that is not compressed"};
	struct extensions x = {0};
	uint8_t zipped[256];
	size_t n;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(load(state, &x, bad[i], strlen(bad[i])), -EINVAL);
	n = zip("text", 4, zipped, sizeof(zipped));
	assert_int_equal(load(state, &x, zipped, n), -EINVAL);
	n = zip(set, SET_LEN, zipped, sizeof(zipped));
	for (size_t k = 1; k < n; k++)
		assert_int_equal(load(state, &x, zipped, k), -EINVAL);
	zipped[n] = 0;
	assert_int_equal(load(state, &x, zipped, n + 1), -EINVAL);
	assert_int_equal(x.n, 0);
	assert_int_equal(extensions_load(&x, "/no/such/file", &(struct err_text){""}), -ENOENT);
	extensions_deinit(&x);
}

FIXTURE_TEST(there_are_limits)
{
	size_t len = MAX_EXTENSION_SET_BYTES + 5;
	uint8_t *large = calloc(1, len), *zipped = malloc(len);
	struct extensions x = {0};
	size_t n;

	assert_non_null(large);
	assert_non_null(zipped);
	assert_int_equal(load(state, &x, large, MAX_EXTENSION_BYTES + 1), -EFBIG);
	/* a file of that length, after a tag and four bytes that say it */
	memcpy(large, "\x0a\x80\x80\x80\x08", 5);
	n = zip(large, len, zipped, len);
	assert_true(n < MAX_EXTENSION_BYTES);
	assert_int_equal(load(state, &x, zipped, n), -EINVAL);
	for (int i = 0; i < MAX_EXTENSIONS; i++)
		assert_int_equal(load(state, &x, set, SET_LEN), 0);
	assert_int_equal(load(state, &x, set, SET_LEN), -ENOBUFS);
	extensions_deinit(&x);
	free(large);
	free(zipped);
}
