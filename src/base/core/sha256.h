/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* SHA-256 (FIPS 180-4) and HMAC-SHA-256 (RFC 2104). */

#define SHA256_SIZE 32 /* bytes */
#define SHA256_HEX_SIZE (2 * SHA256_SIZE + 1) /* with the NUL */

struct sha256 {
	uint32_t state[8];
	uint64_t bytes;
	uint8_t block[64];
};

void sha256_init(struct sha256 *s);
void sha256_add(struct sha256 *s, const void *data, size_t len);
/* Writes the hash of all that was added. s must be initialised again before its next use. */
void sha256_finish(struct sha256 *s, uint8_t ret[static SHA256_SIZE]);

void sha256_of(const void *data, size_t len, uint8_t ret[static SHA256_SIZE]);
void hmac_sha256(const void *key, size_t key_len, const void *data, size_t len,
		 uint8_t ret[static SHA256_SIZE]);

/* Writes a hash in lower-case hex. */
void sha256_to_hex(const uint8_t hash[static SHA256_SIZE], char ret[static SHA256_HEX_SIZE]);
