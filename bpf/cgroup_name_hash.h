/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
#pragma once

#include <linux/types.h>

/* A hash of a name, by bytes (FNV-1a, 64 bits): BPF programs compare it, since a comparison with
 * each of many long names is too much for the verifier. Names with the same hash cannot be
 * distinguished: then another group is recorded, too. */
#define CGROUP_HASH_BEGIN 0xcbf29ce484222325ull

static inline __attribute__((always_inline)) __u64 cgroup_hash_add(__u64 hash, __u8 byte)
{
	return (hash ^ byte) * 0x100000001b3ull;
}
