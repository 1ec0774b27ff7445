/* SPDX-License-Identifier: Apache-2.0 */
#include "base/core/sha256.h"

#include <string.h>

#include "base/core/mem.h"

#define BLOCK 64

/* The first 32 bits of the fractional parts of the cube roots of the first 64 primes. */
static const uint32_t round_constants[64] = {
	0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4,
	0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe,
	0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f,
	0x4a7484aa, 0x5cb0a9dc, 0x76f988da, 0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7,
	0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967, 0x27b70a85, 0x2e1b2138, 0x4d2c6dfc,
	0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b,
	0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070, 0x19a4c116,
	0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
	0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7,
	0xc67178f2,
};

static uint32_t rotate_right(uint32_t v, unsigned n)
{
	return v >> n | v << (32 - n);
}

static void sha256_add_block(struct sha256 *s, const uint8_t *block)
{
	uint32_t w[64], a = s->state[0], b = s->state[1], c = s->state[2], d = s->state[3],
			e = s->state[4], f = s->state[5], g = s->state[6], h = s->state[7];

	for (unsigned i = 0; i < 16; i++)
		w[i] = (uint32_t)block[4 * i] << 24 | (uint32_t)block[4 * i + 1] << 16 |
		       (uint32_t)block[4 * i + 2] << 8 | block[4 * i + 3];
	for (unsigned i = 16; i < 64; i++) {
		uint32_t x = w[i - 15], y = w[i - 2];

		w[i] = w[i - 16] + w[i - 7] + (rotate_right(x, 7) ^ rotate_right(x, 18) ^ x >> 3) +
		       (rotate_right(y, 17) ^ rotate_right(y, 19) ^ y >> 10);
	}
	for (unsigned i = 0; i < 64; i++) {
		uint32_t sum1 = rotate_right(e, 6) ^ rotate_right(e, 11) ^ rotate_right(e, 25);
		uint32_t sum0 = rotate_right(a, 2) ^ rotate_right(a, 13) ^ rotate_right(a, 22);
		uint32_t t1 = h + sum1 + ((e & f) ^ (~e & g)) + round_constants[i] + w[i];
		uint32_t t2 = sum0 + ((a & b) ^ (a & c) ^ (b & c));

		h = g;
		g = f;
		f = e;
		e = d + t1;
		d = c;
		c = b;
		b = a;
		a = t1 + t2;
	}
	s->state[0] += a;
	s->state[1] += b;
	s->state[2] += c;
	s->state[3] += d;
	s->state[4] += e;
	s->state[5] += f;
	s->state[6] += g;
	s->state[7] += h;
}

void sha256_init(struct sha256 *s)
{
	*s = (struct sha256){.state = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f,
				       0x9b05688c, 0x1f83d9ab, 0x5be0cd19}};
}

void sha256_add(struct sha256 *s, const void *data, size_t len)
{
	const uint8_t *at = data;
	size_t used = s->bytes % BLOCK;

	s->bytes += len;
	if (used && len) {
		size_t n = MIN(len, BLOCK - used);

		memcpy(s->block + used, at, n);
		at += n;
		len -= n;
		if (used + n < BLOCK)
			return;
		sha256_add_block(s, s->block);
	}
	for (; len >= BLOCK; at += BLOCK, len -= BLOCK)
		sha256_add_block(s, at);
	if (len)
		memcpy(s->block, at, len);
}

void sha256_finish(struct sha256 *s, uint8_t ret[static SHA256_SIZE])
{
	static const uint8_t padding[BLOCK] = {0x80};
	size_t used = s->bytes % BLOCK;
	uint64_t bits = s->bytes * 8;
	uint8_t length[8];

	for (unsigned i = 0; i < 8; i++)
		length[i] = (uint8_t)(bits >> (56 - 8 * i));
	sha256_add(s, padding, used < 56 ? 56 - used : 120 - used);
	sha256_add(s, length, sizeof(length));
	for (unsigned i = 0; i < SHA256_SIZE; i++)
		ret[i] = (uint8_t)(s->state[i / 4] >> (24 - 8 * (i % 4)));
}

void sha256_of(const void *data, size_t len, uint8_t ret[static SHA256_SIZE])
{
	struct sha256 s;

	sha256_init(&s);
	sha256_add(&s, data, len);
	sha256_finish(&s, ret);
}

void hmac_sha256(const void *key, size_t key_len, const void *data, size_t len,
		 uint8_t ret[static SHA256_SIZE])
{
	uint8_t block[BLOCK] = {0}, inner[SHA256_SIZE];
	struct sha256 s;

	if (key_len > BLOCK)
		sha256_of(key, key_len, block);
	else if (key_len)
		memcpy(block, key, key_len);
	for (unsigned i = 0; i < BLOCK; i++)
		block[i] ^= 0x36;
	sha256_init(&s);
	sha256_add(&s, block, BLOCK);
	sha256_add(&s, data, len);
	sha256_finish(&s, inner);
	for (unsigned i = 0; i < BLOCK; i++)
		block[i] ^= 0x36 ^ 0x5c;
	sha256_init(&s);
	sha256_add(&s, block, BLOCK);
	sha256_add(&s, inner, sizeof(inner));
	sha256_finish(&s, ret);
	explicit_bzero(block, sizeof(block));
	explicit_bzero(&s, sizeof(s));
}

void sha256_to_hex(const uint8_t hash[static SHA256_SIZE], char ret[static SHA256_HEX_SIZE])
{
	static const char digits[] = "0123456789abcdef";

	for (unsigned i = 0; i < SHA256_SIZE; i++) {
		ret[2 * i] = digits[hash[i] >> 4];
		ret[2 * i + 1] = digits[hash[i] & 15];
	}
	ret[2 * SHA256_SIZE] = '\0';
}
