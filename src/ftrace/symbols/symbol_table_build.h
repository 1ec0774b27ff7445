/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "ftrace/symbols/symbol_table.h"

/*
 * Packs the text of /proc/kallsyms, in turns of bounded length:
 *
 *	while there is text:  symbol_table_build_feed      pieces of any length, cut anywhere
 *	while it says so:     symbol_table_build_step      sorts and packs, about a millisecond each
 *	                      symbol_table_build_take
 *
 * Format: lines  ADDRESS TYPE NAME[\t[MODULE]], of the kernel first (by address), then of modules
 * and BPF programs (in any order). Functions are of type t, T, w and W. Left out are lines of
 * another form, addresses of 0 (they are hidden), marks of the architecture ($x), and the gaps
 * before functions (__pfx_), which belong to what is before them. Where an address has several
 * names, the first line counts, as it does for the kernel. What the compiler's checks append (.cfi,
 * .cfi_jt) is no part of a name.
 */
#define SYMBOL_TABLE_MAX_SYMBOLS (1u << 22) /* further ones are left out */

struct symbol_table_build;

int symbol_table_build_new(struct symbol_table_build **ret); /* 0 or -ENOMEM */
/* NULL is fine. */
struct symbol_table_build *symbol_table_build_free(struct symbol_table_build *b);

/* 0 or -ENOMEM, after which b can only be freed. */
int symbol_table_build_feed(struct symbol_table_build *b, const char *text, size_t len);
/* 1: there is more to do; 0: done; -ENOMEM. No more text after the first step. */
int symbol_table_build_step(struct symbol_table_build *b);
/* Hands the table over, which may be empty. b is freed. */
struct symbol_table symbol_table_build_take(struct symbol_table_build *b);
