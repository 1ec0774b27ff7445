/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "analyze/store/table.h"
#include "base/text/str.h"

/* Interned strings: equal strings have one id. Id 0 is the empty string; NULL_U32 is NULL. */

struct string_block;

struct interned_string {
	const char *s; /* NUL-terminated; the string itself may contain NULs */
	uint32_t len;
	uint32_t hash;
};

struct strings {
	struct budget *budget;
	struct string_block *blocks; /* owned: the bytes */
	size_t block_left;
	struct interned_string *of; /* owned; by id */
	size_t n, cap;
	uint32_t *slots; /* owned: open addressing; id + 1, 0 is empty */
	uint32_t n_slots; /* a power of two */
};

void strings_init(struct strings *t, struct budget *budget);
void strings_deinit(struct strings *t);

/* Interns the string and returns its id. If out of memory, or if there are too many strings,
 * returns 0 and sets the budget's error. It also returns 0 for more than 1 GiB. s may be NULL if
 * len is 0. */
uint32_t strings_intern(struct strings *t, const void *s, size_t len);
uint32_t strings_intern_z(struct strings *t, const char *s);
uint32_t strings_intern_f(struct strings *t, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/* Interns the text of a buffer. If the buffer has failed, sets the budget's error and returns 0. */
uint32_t strings_intern_buf(struct strings *t, const struct strbuf *b);

/* Returns the id of a string that was interned before, or NULL_U32. */
uint32_t strings_find(const struct strings *t, const void *s, size_t len);

/* Returns the string of an id, or "" for NULL_U32 and any other id that does not exist. It is
 * valid until strings_deinit(). */
const char *strings_get(const struct strings *t, uint32_t id);
