/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Reads what parquet_encode.h writes. The bytes are hostile: each function moves `at` behind what
 * it has read, and returns false if the bytes are not n such values. */
struct parquet_bytes {
	const uint8_t *at, *end; /* borrowed */
};

#define PARQUET_WIDTH_MAX 20u /* bits of a number in a dictionary */

bool parquet_read_u32(struct parquet_bytes *b, uint32_t *ret);
/* Cuts off a piece of n bytes. */
bool parquet_read_piece(struct parquet_bytes *b, uint64_t n, struct parquet_bytes *ret);
bool parquet_read_hybrid(struct parquet_bytes *b, uint32_t *to, size_t n, unsigned width);
bool parquet_read_deltas(struct parquet_bytes *b, uint64_t *to, size_t n);
bool parquet_read_split(struct parquet_bytes *b, uint64_t *to, size_t n);
bool parquet_read_plain(struct parquet_bytes *b, uint64_t *to, size_t n);
