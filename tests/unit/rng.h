/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Reproducible random numbers for tests: the seed is part of the test. */

/* splitmix64: any seed is good, 0 too. */
static inline uint64_t rng_next(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
	z = (z ^ z >> 27) * 0x94d049bb133111eb;
	return z ^ z >> 31;
}

/* 0..n-1 */
static inline uint32_t rng_below(uint64_t *state, uint32_t n)
{
	return (uint32_t)((rng_next(state) >> 32) * n >> 32);
}

/* A number of 0..64 significant bits, each length as likely as any other. */
static inline uint64_t rng_any_size(uint64_t *state)
{
	uint32_t bits = rng_below(state, 65);

	return bits == 0 ? 0 : rng_next(state) >> (64 - bits);
}

static inline void rng_bytes(uint64_t *state, void *to, size_t n)
{
	for (size_t i = 0; i < n; i++)
		((uint8_t *)to)[i] = (uint8_t)rng_next(state);
}
