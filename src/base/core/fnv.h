/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/*
 * FNV-1a in 64 bits (Fowler, Noll, Vo), the hash of bytes that no other process chooses. Its values
 * are the same in each process: uuids of tracks are made from it. For tables whose keys others
 * choose, see base/core/siphash.h.
 */
#define FNV1A_START 0xcbf29ce484222325ull

/*
 * Continues the hash h (FNV1A_START: of no bytes) with these bytes. Returns the hash of all of
 * them.
 */
static inline uint64_t fnv1a(uint64_t h, const void *data, size_t len)
{
	const uint8_t *p = data;

	for (size_t i = 0; i < len; i++)
		h = (h ^ p[i]) * 0x100000001b3ull;
	return h;
}
