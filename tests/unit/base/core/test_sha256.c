/* SPDX-License-Identifier: Apache-2.0 */
/* The vectors are those of FIPS 180-4 and RFC 4231. */
#include "base/core/sha256.h"

#include "unit/test.h"

static void assert_hash(const uint8_t hash[static SHA256_SIZE], const char *expected)
{
	char hex[SHA256_HEX_SIZE];

	sha256_to_hex(hash, hex);
	assert_string_equal(hex, expected);
}

TEST(the_published_vectors)
{
	static const char two_blocks[] = "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq";
	uint8_t hash[SHA256_SIZE];

	sha256_of("", 0, hash);
	assert_hash(hash, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
	sha256_of("abc", 3, hash);
	assert_hash(hash, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
	sha256_of(two_blocks, strlen(two_blocks), hash);
	assert_hash(hash, "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
}

TEST(pieces_of_any_length_give_the_hash_of_the_whole)
{
	static char million[1000000];

	memset(million, 'a', sizeof(million));
	for (size_t piece = 1; piece < 200; piece += 7) {
		uint8_t hash[SHA256_SIZE];
		struct sha256 s;

		sha256_init(&s);
		for (size_t at = 0; at < sizeof(million); at += piece)
			sha256_add(&s, million + at,
				   sizeof(million) - at < piece ? sizeof(million) - at : piece);
		sha256_finish(&s, hash);
		assert_hash(hash,
			    "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
	}
}

TEST(hmac_with_short_and_long_keys)
{
	uint8_t key[131], hash[SHA256_SIZE];

	memset(key, 0xaa, sizeof(key));
	hmac_sha256("Jefe", 4, "what do ya want for nothing?", 28, hash);
	assert_hash(hash, "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
	hmac_sha256(key, sizeof(key), "Test Using Larger Than Block-Size Key - Hash Key First", 54,
		    hash);
	assert_hash(hash, "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
}
