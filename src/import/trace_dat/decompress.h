/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define DECOMPRESS_MAX (256u << 20) /* bytes of one block */

/* Decompresses one block by the name of its compression, zstd or zlib, to exactly ret_len bytes.
 * Returns 0, or -EBADMSG. */
int decompress_block(const char *compression, const uint8_t *data, size_t len, uint8_t *ret,
		     size_t ret_len);
