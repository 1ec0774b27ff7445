/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The kernel's functions by address: /proc/kallsyms, packed into about 19 bytes a function. Built
 * by symbol_table_build_feed() and symbol_table_build_step(), then read-only.
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
};

/* Frees the table. A zeroed one is allowed. */
void symbol_table_deinit(struct symbol_table *k);

/* Copies the name of the function that contains the address, without a NUL, to ret_name, which has
 * room for SYMBOL_TABLE_NAME_MAX bytes. Returns its length, or 0 if there is no function. */
size_t symbol_table_find_name(const struct symbol_table *k, uint64_t address, char *ret_name);

/* Returns the bytes of memory that the table uses. */
size_t symbol_table_size(const struct symbol_table *k);

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
