/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "stacks/files/cfi_program.h"

/* The entries of .eh_frame and .debug_frame: common information entries (CIE), and functions (FDE),
 * each of which refers to a CIE. The bytes are hostile. All results are borrowed from the
 * section. */
struct cfi_section {
	struct cfi_bytes bytes;
	uint64_t address; /* in the ELF file's address space */
	bool is_debug_frame;
	bool is_open_ended; /* the bytes continue after it: it ends with an entry of length 0 */
};

struct cfi_entry {
	bool is_cie;
	uint64_t cie; /* of a function: the offset of its CIE */
	struct cfi_bytes body; /* after the id of a CIE, or after the pointer to it */
};

struct cfi_cie_entry {
	struct cfi_cie cie;
	uint8_t encoding; /* of addresses in functions: DW_EH_PE_... */
	bool is_signal; /* its functions are signal frames */
	bool has_size; /* the augmentation data of functions are there, after their size */
};

/* Reads the entry at *at, and moves *at past it. Returns false at the end of the section. */
bool cfi_next_entry(const struct cfi_section *s, uint64_t *at, struct cfi_entry *ret);
/* Returns false if the entry is wrong, or of a form that no compiler writes. */
bool cfi_read_cie(const struct cfi_machine *machine, struct cfi_bytes body,
		  struct cfi_cie_entry *ret);
/* Reads the range of addresses and the instructions of a function. Returns false as cfi_read_cie()
 * does. */
bool cfi_read_function(const struct cfi_section *s, const struct cfi_cie_entry *cie,
		       struct cfi_bytes body, uint64_t *ret_begin, uint64_t *ret_end,
		       struct cfi_bytes *ret_ops);
/* Removes an encoded address from the start of *s; its bytes are at the address `place`. Returns
 * false as cfi_read_cie() does. */
bool cfi_read_address(struct cfi_bytes *s, uint8_t encoding, uint64_t place, uint64_t *ret);
