/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The expected values are those of AWS' documentation: "Examples: Signature Calculations in AWS
 * Signature Version 4" and "Deriving the signing key".
 */
#include "cli/s3/s3_sign.h"

#include "base/core/mem.h"
#include "unit/test.h"

#define EMPTY "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

TEST(the_key_of_a_day)
{
	uint8_t key[SHA256_SIZE];
	char hex[SHA256_HEX_SIZE];

	s3_signing_key("wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY", "20120215", "us-east-1", "iam",
		       key);
	sha256_to_hex(key, hex);
	assert_string_equal(hex,
			    "f4780e2d9f65fa895f9c67b32ce1baf0b0d8a43505a000a1a9e090d414db404d");
}

static void assert_signature(const char *method, const char *path, const char *query,
			     struct s3_pair *headers, size_t n, const char *hash,
			     const char *expected)
{
	const struct s3_signing s = {
		.method = method,
		.path = path,
		.query = query,
		.headers = headers,
		.n_headers = n,
		.payload_hash = hash,
		.time = "20130524T000000Z",
		.region = "us-east-1",
		.access_key = "AKIAIOSFODNN7EXAMPLE",
		.secret_key = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
	};
	struct strbuf b = {0};

	s3_put_authorization(&b, &s);
	assert_string_equal(b.s, expected);
	strbuf_deinit(&b);
}

#define CREDENTIAL                                                                                 \
	"AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request, "

TEST(a_get_with_a_range)
{
	struct s3_pair headers[] = {
		{"x-amz-date", "20130524T000000Z"},
		{"range", "bytes=0-9"},
		{"x-amz-content-sha256", EMPTY},
		{"host", "examplebucket.s3.amazonaws.com"},
	};

	assert_signature("GET", "/test.txt", "", headers, ARRAY_SIZE(headers), EMPTY,
			 CREDENTIAL
			 "SignedHeaders=host;range;x-amz-content-sha256;x-amz-date, Signature="
			 "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41");
}

TEST(a_put_with_a_body_and_a_key_that_is_encoded)
{
	struct s3_pair headers[] = {
		{"date", "Fri, 24 May 2013 00:00:00 GMT"},
		{"host", "examplebucket.s3.amazonaws.com"},
		{"x-amz-content-sha256",
		 "44ce7dd67c959e0d3524ffac1771dfbba87d2b6b4b4e99e42034a8b803f8b072"},
		{"x-amz-date", "20130524T000000Z"},
		{"x-amz-storage-class", "REDUCED_REDUNDANCY"},
	};
	struct strbuf path = {0};

	s3_put_encoded(&path, "/test$file.text", true);
	assert_string_equal(path.s, "/test%24file.text");
	assert_signature(
		"PUT", path.s, "", headers, ARRAY_SIZE(headers),
		"44ce7dd67c959e0d3524ffac1771dfbba87d2b6b4b4e99e42034a8b803f8b072",
		CREDENTIAL
		"SignedHeaders=date;host;x-amz-content-sha256;x-amz-date;x-amz-storage-class, "
		"Signature=98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd");
	strbuf_deinit(&path);
}

TEST(queries_with_and_without_values)
{
	struct s3_pair headers[] = {
		{"host", "examplebucket.s3.amazonaws.com"},
		{"x-amz-content-sha256", EMPTY},
		{"x-amz-date", "20130524T000000Z"},
	};
	struct s3_pair pairs[] = {{"prefix", "J"}, {"max-keys", "2"}};
	struct strbuf query = {0};

	s3_put_query(&query, pairs, 2);
	assert_signature("GET", "/", query.s, headers, ARRAY_SIZE(headers), EMPTY,
			 CREDENTIAL
			 "SignedHeaders=host;x-amz-content-sha256;x-amz-date, Signature="
			 "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7");
	strbuf_clear(&query);
	pairs[0] = (struct s3_pair){"lifecycle", ""};
	s3_put_query(&query, pairs, 1);
	assert_string_equal(query.s, "lifecycle=");
	assert_signature("GET", "/", query.s, headers, ARRAY_SIZE(headers), EMPTY,
			 CREDENTIAL
			 "SignedHeaders=host;x-amz-content-sha256;x-amz-date, Signature="
			 "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543");
	strbuf_deinit(&query);
}

static void assert_encoded(const char *text, bool keep_slash, const char *expected)
{
	struct strbuf b = {0};

	s3_put_encoded(&b, text, keep_slash);
	assert_string_equal(b.s, expected);
	strbuf_deinit(&b);
}

TEST(every_byte_but_the_unreserved_ones_is_encoded_in_upper_case)
{
	assert_encoded("v1/date=2026-11-27/a b+c.d_e~f", true,
		       "v1/date%3D2026-11-27/a%20b%2Bc.d_e~f");
	assert_encoded("a/b", false, "a%2Fb");
	assert_encoded("%41*'()!@:&?#", true, "%2541%2A%27%28%29%21%40%3A%26%3F%23");
	assert_encoded("\xc3\xa4\x7f\x01", true, "%C3%A4%7F%01");
	assert_encoded("//a//", true, "//a//");
}
