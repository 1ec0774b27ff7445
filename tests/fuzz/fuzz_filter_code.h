/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "wire/pb_dec.h"
#include "wire/pb_varint.h"

/* Bytes that are meant as the words of a filter's bytecode, with the sum that they need behind
 * them: no fuzzer would find it. In memory of its own length, to be freed. */
static inline uint8_t *with_checksum(const uint8_t *data, size_t len, size_t *ret_len)
{
	const uint8_t *p = data, *end = data + len;
	uint64_t sum = 0xcbf29ce484222325, word;
	uint8_t tail[10], *code;
	size_t tail_len;

	while (p && p != end) {
		p = pb_get_varint(p, end, &word);
		for (unsigned shift = 0; p && shift < 32; shift += 8)
			sum = (sum ^ (word >> shift & 0xff)) * 0x100000001b3;
	}
	tail_len = (size_t)(pb_put_varint(tail, (uint32_t)sum) - tail);
	code = malloc(len + tail_len);
	assert(code);
	memcpy(code, data, len);
	memcpy(code + len, tail, tail_len);
	*ret_len = len + tail_len;
	return code;
}
