/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Bytecode of trace filters, written by hand. */

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "wire/pb_varint.h"

/* The words of service/filter/filter_bytecode.h. */
#define W_FIELD(field) (field) << 3 | 1
#define W_RANGE(field, count) (field) << 3 | 2, count
#define W_NESTED(field, message) (field) << 3 | 3, message
#define W_STRING(field) (field) << 3 | 4
#define W_STRING_OF(field, type) (field) << 3 | 5, type
#define W_END 0
/* Message 0, of a trace: its packets are message 1. */
#define W_TRACE W_NESTED(1u, 1), W_END

struct filter_code {
	uint8_t bytes[1024];
	size_t len;
};

static inline struct filter_code filter_code_of(const uint32_t *words, size_t n, uint32_t wrong_by)
{
	uint64_t sum = 0xcbf29ce484222325;
	struct filter_code c;
	uint8_t *p = c.bytes;

	for (size_t i = 0; i < n && p < c.bytes + sizeof(c.bytes) - 20; i++) {
		p = pb_put_varint(p, words[i]);
		for (unsigned shift = 0; shift < 32; shift += 8)
			sum = (sum ^ (words[i] >> shift & 0xff)) * 0x100000001b3;
	}
	c.len = (size_t)(pb_put_varint(p, (uint32_t)sum + wrong_by) - c.bytes);
	return c;
}

#define CODE(...) CODE_WRONG_BY(0, __VA_ARGS__)
#define CODE_WRONG_BY(n, ...)                                                                      \
	filter_code_of((const uint32_t[]){__VA_ARGS__},                                            \
		       sizeof((const uint32_t[]){__VA_ARGS__}) / sizeof(uint32_t), n)

/* As a string of the config's text. */
static inline const char *filter_code_text(const struct filter_code *c)
{
	static char texts[2][4 * sizeof(c->bytes) + 3];
	static unsigned turn;
	char *text = texts[turn++ % 2], *p = text;

	*p++ = '"';
	for (size_t i = 0; i < c->len; i++)
		p += sprintf(p, "\\%03o", c->bytes[i]);
	strcpy(p, "\"");
	return text;
}
