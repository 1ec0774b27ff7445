/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/*
 * SipHash-1-3 (Aumasson, Bernstein: "SipHash: a fast short-input PRF", 2012) with a secret key: a
 * peer that chooses the keys of a hash table cannot make them collide.
 */

struct siphash_key {
	uint64_t k0, k1;
};

uint64_t siphash(const struct siphash_key *key, const void *data, size_t len);

/* Uses a random key (getrandom) that is made at the first call and kept for the life of the
 * process. Any thread may call it. The result differs between processes: it shows others only which
 * inputs are equal. */
uint64_t siphash_keyed(const void *data, size_t len);
