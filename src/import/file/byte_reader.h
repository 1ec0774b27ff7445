/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Reads little-endian numbers and strings one after another from a part of a file. A read beyond
 * the end returns 0 or NULL and sets `failed`, which stays set. The file is mapped, and another
 * process may change it: each byte is read once, into a variable of the caller. */
struct byte_reader {
	const uint8_t *at, *end;
	bool failed;
};

/* data may be NULL if len is 0. */
static inline struct byte_reader byte_reader_make(const uint8_t *data, size_t len)
{
	return (struct byte_reader){.at = data, .end = len ? data + len : data};
}

static inline size_t byte_reader_left(const struct byte_reader *r)
{
	return (size_t)(r->end - r->at);
}

/* Returns the next n bytes, or NULL. */
static inline const uint8_t *byte_reader_read(struct byte_reader *r, uint64_t n)
{
	const uint8_t *at = r->at;

	if (n > byte_reader_left(r)) {
		r->failed = true;
		r->at = r->end;
		return NULL;
	}
	r->at += n;
	return at;
}

static inline void byte_reader_number(struct byte_reader *r, void *ret, size_t size)
{
	const uint8_t *at = byte_reader_read(r, size);

	if (at)
		memcpy(ret, at, size);
}

static inline uint8_t byte_reader_u8(struct byte_reader *r)
{
	uint8_t v = 0;

	byte_reader_number(r, &v, sizeof(v));
	return v;
}

static inline uint16_t byte_reader_u16(struct byte_reader *r)
{
	uint16_t v = 0;

	byte_reader_number(r, &v, sizeof(v));
	return v;
}

static inline uint32_t byte_reader_u32(struct byte_reader *r)
{
	uint32_t v = 0;

	byte_reader_number(r, &v, sizeof(v));
	return v;
}

static inline uint64_t byte_reader_u64(struct byte_reader *r)
{
	uint64_t v = 0;

	byte_reader_number(r, &v, sizeof(v));
	return v;
}

/* Copies a string that ends with a NUL, cut to size - 1 bytes. ret is "" after a failure. */
static inline void byte_reader_string(struct byte_reader *r, char *ret, size_t size)
{
	size_t n = 0;
	char c;

	for (;;) {
		c = (char)byte_reader_u8(r);
		if (!c || r->failed)
			break;
		if (n + 1 < size)
			ret[n++] = c;
	}
	ret[r->failed ? 0 : n] = '\0';
}
