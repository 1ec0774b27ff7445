/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdint.h>
#include <string.h>

/* Loads of integers at any address. The kernel does not align fields of a record. */

static inline uint64_t load64(const uint8_t *at)
{
	uint64_t v;

	memcpy(&v, at, sizeof(v));
	return v;
}

static inline uint32_t load32(const uint8_t *at)
{
	uint32_t v;

	memcpy(&v, at, sizeof(v));
	return v;
}

static inline uint16_t load16(const uint8_t *at)
{
	uint16_t v;

	memcpy(&v, at, sizeof(v));
	return v;
}

/* Converts a device number: the kernel packs a 12-bit major above a 20-bit minor, user space
 * spreads both over 64 bits. */
static inline uint64_t convert_dev_to_user_space(uint64_t dev)
{
	uint64_t major = dev >> 20, minor = dev & 0xfffff;

	return (major & 0xfffff000) << 32 | (major & 0xfff) << 8 | (minor & 0xffffff00) << 12 |
	       (minor & 0xff);
}
