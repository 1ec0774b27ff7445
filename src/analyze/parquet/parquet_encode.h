/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/text/str.h"

/*
 * The encodings of Parquet that the writer uses. Each appends to a buffer; if out of memory, the
 * buffer has failed (strbuf.failed).
 *
 * Source of the format: Encodings.md of Apache Parquet.
 */
enum parquet_encoding {
	PARQUET_PLAIN = 0,
	PARQUET_RLE = 3,
	PARQUET_DELTA_BINARY_PACKED = 5,
	PARQUET_DELTA_LENGTH_BYTE_ARRAY = 6,
	PARQUET_RLE_DICTIONARY = 8,
	PARQUET_BYTE_STREAM_SPLIT = 9,
};

/* Returns the number of bits that values up to `most` take. */
unsigned parquet_bit_width(uint64_t most);
/* Appends the values as one run if all are equal, else as groups of eight values of `width` bits,
 * at most 32. */
void parquet_put_hybrid(struct strbuf *to, const uint64_t *values, size_t n, unsigned width);
/* Appends the levels of a page, which are 0 or 1, in the same way, after their length in bytes. */
void parquet_put_levels(struct strbuf *to, const uint8_t *levels, size_t n);
/* Appends the values as blocks of differences from value to value. whole_bytes: each difference
 * takes whole bytes, in which a compressor finds more. */
void parquet_put_deltas(struct strbuf *to, const int64_t *values, size_t n, bool whole_bytes);
/* Appends the values as BYTE_STREAM_SPLIT: the first bytes of all values, then the second bytes,
 * and so on. */
void parquet_put_split(struct strbuf *to, const uint64_t *values, size_t n);
void parquet_put_u32(struct strbuf *to, uint32_t v);
