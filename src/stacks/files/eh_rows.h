/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <linux/types.h>

#include "bpf/unwind_tables.h"

/*
 * The unwind rows of an ELF file, from .eh_frame, or from .debug_frame if there is no .eh_frame.
 * The file is hostile; limits bound memory and time, which is linear in the size of the section.
 * Used by a process without rights (elf_reader.c).
 *
 * x86-64 and arm64, 64-bit. A file of another machine has no rows.
 *
 * Addresses without a function have the rule UNWIND_NO_RULE; addresses whose rule does not fit into
 * struct unwind_rule have UNWIND_NO_CALLER. If two functions overlap, the one that begins later has
 * all addresses from its begin, as in the C++ runtime, which searches the begins. Functions must
 * lie in an executable segment; those of discarded sections are at address 0 and have no rows. The
 * entry of the file has UNWIND_END if no function is there.
 */
#define EH_SECTION_MAX (64u << 20) /* bytes; the rows of a larger section are not read */
#define EH_FUNCTIONS_MAX (1u << 20) /* further ones are ignored */
#define EH_CIES_MAX 4096 /* common information entries; functions of further ones are ignored */
#define EH_ENTRY_MAX 128 /* bytes of the entry; those of the C library take 80 */
#define EH_ROWS_MAX (1u << 20) /* addresses after the last row have no rule */
#define EH_STEPS_MAX (4 * EH_ROWS_MAX) /* rows before equal neighbours are merged; as above */
#define EH_RULES_MAX 2048 /* different rules; addresses with others have UNWIND_NO_CALLER */

struct eh_rows {
	uint64_t base; /* a row's address 0, in the ELF file's address space */
	/* Sorted by address; neighbours have different rules. The first has address 0 or a rule. */
	struct unwind_row *rows; /* owned */
	size_t n_rows;
	struct unwind_rule *rules; /* owned; the first is UNWIND_RULES_FIRST */
	size_t n_rules;
	uint32_t n_functions;
	uint32_t n_refused; /* functions with an instruction that is wrong, or above a limit */
	bool is_cut; /* a limit above left out functions, rows or rules */
};

/* Reads the unwind rows of an ELF file. The caller keeps ownership of fd. Rows beyond max_rows are
 * ignored. Returns 0, also if the file has no rows; -ENOEXEC if it is not an ELF file of a machine
 * above; or -errno. *ret is unchanged on failure. */
int eh_rows_read(int fd, size_t max_rows, struct eh_rows *ret);
/* Frees the members of r, which may be zeroed. */
void eh_rows_deinit(struct eh_rows *r);
