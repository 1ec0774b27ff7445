/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The kernel's functions by address: /proc/kallsyms, packed into about 11 bytes a function. Built by
 * symbol_table_build_feed() and symbol_table_build_step(), then read-only.
 *
 * kallsyms does not contain the size of a function. So an address belongs to the nearest symbol at
 * or below it, unless that symbol is not a function or is more than SYMBOL_TABLE_REACH away.
 */
#define SYMBOL_TABLE_NAME_MAX 511u /* bytes of a name; the kernel's limit */
#define SYMBOL_TABLE_REACH (1u << 20) /* bytes; no function is longer */
#define SYMBOL_TABLE_BLOCK                                                                         \
	32u /* symbols in a block; the address of its first one is stored in full */

/* A run of symbols in bytes. Each symbol is stored as the difference to the address before it, and
 * its name. */
struct symbol_table_block {
	uint64_t address; /* of the first symbol */
	uint32_t at; /* offset in bytes; the block ends where the next one begins */
};

struct symbol_table {
	struct symbol_table_block *blocks; /* owned; sorted by address */
	uint32_t n_blocks;
	uint32_t n_functions;
	uint8_t *bytes; /* owned */
	size_t n_bytes;
	char *words; /* owned: the words that names consist of, concatenated */
	uint32_t *word_at; /* owned: n_words + 1 offsets in words */
	uint32_t n_words;
};

/* Frees the table. A zeroed one is allowed. */
void symbol_table_deinit(struct symbol_table *k);

/* Copies the name of the function that contains the address, without a NUL, to ret_name, which has
 * room for SYMBOL_TABLE_NAME_MAX bytes. Returns its length, or 0 if there is no function. */
size_t symbol_table_find_name(const struct symbol_table *k, uint64_t address, char *ret_name);

/* Returns the bytes of memory that the table uses. */
size_t symbol_table_size(const struct symbol_table *k);

/*
 * The encoding of a word's number. Frequent words have small numbers: 192 numbers take one byte,
 * 16128 take two, the others four.
 *
 *	00..bf                the number
 *	c0..fe  xx            192 + 256 * (first - c0) + xx
 *	ff  xx xx xx          little-endian
 */
#define SYMBOL_TABLE_ONE_BYTE 192u
#define SYMBOL_TABLE_TWO_BYTES (SYMBOL_TABLE_ONE_BYTE + 63u * 256u)
#define SYMBOL_TABLE_MAX_WORDS (1u << 24)

static inline uint8_t *symbol_table_put_word(uint8_t *p, uint32_t word)
{
	if (word < SYMBOL_TABLE_ONE_BYTE) {
		*p++ = (uint8_t)word;
	} else if (word < SYMBOL_TABLE_TWO_BYTES) {
		*p++ = (uint8_t)(SYMBOL_TABLE_ONE_BYTE + (word - SYMBOL_TABLE_ONE_BYTE) / 256);
		*p++ = (uint8_t)((word - SYMBOL_TABLE_ONE_BYTE) % 256);
	} else {
		*p++ = 0xff;
		*p++ = (uint8_t)word;
		*p++ = (uint8_t)(word >> 8);
		*p++ = (uint8_t)(word >> 16);
	}
	return p;
}

static inline const uint8_t *symbol_table_get_word(const uint8_t *p, uint32_t *ret_word)
{
	if (p[0] < SYMBOL_TABLE_ONE_BYTE) {
		*ret_word = p[0];
		return p + 1;
	}
	if (p[0] < 0xff) {
		*ret_word = SYMBOL_TABLE_ONE_BYTE + 256u * (p[0] - SYMBOL_TABLE_ONE_BYTE) + p[1];
		return p + 2;
	}
	*ret_word = p[1] | (uint32_t)p[2] << 8 | (uint32_t)p[3] << 16;
	return p + 4;
}

struct symbol_table_build;

int symbol_table_build_new(struct symbol_table_build **ret); /* returns 0 or -ENOMEM */
/* Returns NULL. NULL is allowed. */
struct symbol_table_build *symbol_table_build_free(struct symbol_table_build *b);

/* Adds a part of the text of kallsyms. Returns 0 or -ENOMEM; after an error b may only be freed. */
int symbol_table_build_feed(struct symbol_table_build *b, const char *text, size_t len);
/* Returns 1 if there is more to do, 0 if the table is complete, or -ENOMEM. Feed no text after the
 * first step. */
int symbol_table_build_step(struct symbol_table_build *b);
/* Returns the table, which may be empty, and frees b. The caller owns the table. */
struct symbol_table symbol_table_build_finish(struct symbol_table_build *b);
