/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/*
 * The kernel's functions by address: /proc/kallsyms, packed into about 10 bytes a function. Made by
 * symbol_table_build.h, then only read.
 *
 * An address belongs to the symbol at or before it, because no function tells its end. What does
 * end one: the next symbol, also one that is no function (which has no name here), and SYMBOL_TABLE_REACH.
 */
#define SYMBOL_TABLE_NAME_MAX 511u /* bytes of a name; the kernel's own limit */
#define SYMBOL_TABLE_REACH (1u << 20) /* no function is as long */
#define SYMBOL_TABLE_BLOCK 32u /* symbols between two addresses that are written out */

/* Symbols that lie one after another in bytes; see symbol_table_put_symbol. */
struct symbol_table_block {
	uint64_t address; /* of its first symbol */
	uint32_t at; /* in bytes; the block ends where the next begins */
};

struct symbol_table {
	struct symbol_table_block *blocks; /* owned; by address */
	uint32_t n_blocks;
	uint32_t n_functions;
	uint8_t *bytes; /* owned */
	size_t n_bytes;
	char *words; /* owned: what names are made of, one after another */
	uint32_t *word_at; /* owned: n_words + 1 places in words */
	uint32_t n_words;
};

/* Zeroed is fine. */
void symbol_table_deinit(struct symbol_table *k);

/* Copies the name of the function that an address lies in, without a NUL; gives its length, or 0
 * where there is none. */
size_t symbol_table_name(const struct symbol_table *k, uint64_t address, char *ret_name);

/* Bytes of memory that it takes. */
size_t symbol_table_size(const struct symbol_table *k);

/*
 * The number of a word, by how often it occurs: 192 of one byte, 16128 of two, the others of four.
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
