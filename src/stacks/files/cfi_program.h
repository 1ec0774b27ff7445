/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Call frame instructions (DWARF 5, 6.4.2): a program that defines for each address of a function
 * where the registers of its caller are. The instructions are hostile: each is read once, and a
 * wrong one ends the program. */
#define CFI_STATES_MAX 32 /* nested DW_CFA_remember_state; compilers nest 1 or 2 */

/* Borrowed from the section. */
struct cfi_bytes {
	const uint8_t *p;
	size_t len;
};

enum cfi_saved {
	CFI_UNSPECIFIED,
	CFI_UNDEFINED,
	CFI_SAME,
	CFI_AT_CFA, /* saved at CFA + offset */
	CFI_AT_EXPRESSION, /* saved at the address that the expression returns */
	CFI_OTHER, /* in another register, or a computed value */
};

struct cfi_register {
	uint8_t saved; /* enum cfi_saved */
	int64_t offset;
	struct cfi_bytes expression;
};

/* DWARF numbers of the registers that are followed; others are ignored. */
struct cfi_machine {
	bool is_arm64;
	uint8_t sp, fp, ra;
};

/* How the registers of the caller are found at an address. */
struct cfi_state {
	uint64_t cfa_register;
	int64_t cfa_offset;
	struct cfi_bytes cfa_expression; /* p is not NULL: instead of the register and its offset */
	struct cfi_register sp, fp, ra;
};

struct cfi_cie {
	uint64_t code_factor;
	int64_t data_factor;
	struct cfi_state initial; /* of each function that refers to this entry */
};

struct cfi_program {
	/* Set by the caller. */
	const struct cfi_machine *machine; /* borrowed, as is cie */
	const struct cfi_cie *cie;
	struct cfi_bytes left; /* instructions */
	uint64_t address, end; /* the next row's begin; the function's end */
	struct cfi_state state; /* of the row that cfi_program_next() returned */
	/* Zeroed by the caller. */
	uint32_t n_saved;
	struct cfi_state saved[CFI_STATES_MAX];
};

/* Finds the next row: `state` holds from *ret_begin up to *ret_end. Returns false at the end of the
 * function, and if an instruction is wrong: then p->address is the first address without a row. */
bool cfi_program_next(struct cfi_program *p, uint64_t *ret_begin, uint64_t *ret_end);

/* Executes the initial instructions of a CIE, which has its factors, and stores the result in
 * cie->initial. Returns false if an instruction is wrong. */
bool cfi_cie_execute(const struct cfi_machine *machine, struct cfi_cie *cie, struct cfi_bytes ops);

/* Remove a number from the start of *s. Return false if it is incomplete or too large. */
bool cfi_read_fixed(struct cfi_bytes *s, size_t n_bytes, uint64_t *ret);
bool cfi_read_uleb(struct cfi_bytes *s, uint64_t *ret);
bool cfi_read_sleb(struct cfi_bytes *s, int64_t *ret);
