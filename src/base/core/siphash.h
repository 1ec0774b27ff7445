/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/*
 * SipHash-1-3 (Aumasson, Bernstein: "SipHash: a fast short-input PRF", 2012) with a key of this
 * process: a peer that chooses the keys of a hash table cannot choose them so that they collide.
 */

struct siphash_key {
	uint64_t k0, k1;
};

uint64_t siphash(const struct siphash_key *key, const void *data, size_t len);

/* The same with a random key (getrandom) that is made at the first call and kept for the life of
 * the process. Not stable: never written to a file or sent. */
uint64_t siphash_keyed(const void *data, size_t len);
