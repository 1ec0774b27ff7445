/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "symbols/symbol_table.h"

/*
 * Builds a symbol table from the text of /proc/kallsyms in time slices:
 *
 *	for each piece of text:  symbol_table_build_feed   any length, split anywhere
 *	while it returns 1:      symbol_table_build_step   sorts and packs: some ms each (the sort: 20)
 *	                         symbol_table_build_finish
 *
 * Format: lines ADDRESS TYPE NAME[\t[MODULE]], first those of the kernel sorted by address, then
 * those of modules and BPF programs in any order. Functions have type t, T, w or W.
 *
 * Skipped: malformed lines, addresses of 0 (hidden), mapping symbols of the architecture ($x), and
 * padding before functions (__pfx_). If an address has several names, the first line wins, as in
 * the kernel. Suffixes of control-flow integrity (.cfi, .cfi_jt) are removed.
 */
#define SYMBOL_TABLE_MAX_SYMBOLS (1u << 22) /* further symbols are ignored */

struct symbol_table_build;

int symbol_table_build_new(struct symbol_table_build **ret); /* returns 0 or -ENOMEM */
/* Returns NULL. NULL is allowed. */
struct symbol_table_build *symbol_table_build_free(struct symbol_table_build *b);

/* Returns 0 or -ENOMEM; after an error b may only be freed. */
int symbol_table_build_feed(struct symbol_table_build *b, const char *text, size_t len);
/*
 * Returns 1 if there is more to do, 0 if the table is complete, or -ENOMEM. Feed no text after the
 * first step.
 */
int symbol_table_build_step(struct symbol_table_build *b);
/* Returns the table, which may be empty, and frees b. The caller owns the table. */
struct symbol_table symbol_table_build_finish(struct symbol_table_build *b);
