/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* 64-bit FNV-1a (Fowler, Noll, Vo), for bytes that no other process chooses. Its values are the
 * same in every process: uuids of tracks are made from it. For tables whose keys others choose, see
 * base/core/siphash.h. */
#define FNV1A_START 0xcbf29ce484222325ull

/* Adds these bytes to the hash h of the bytes before them (FNV1A_START: there are none). Returns
 * the hash of all bytes. */
static inline uint64_t fnv1a(uint64_t h, const void *data, size_t len)
{
	const uint8_t *p = data;

	for (size_t i = 0; i < len; i++)
		h = (h ^ p[i]) * 0x100000001b3ull;
	return h;
}
