/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
#pragma once

/*
 * The tables by which BPF programs unwind stacks of programs without frame pointers.
 * src/stacks/unwind fills them in from .eh_frame; bpf/unwind.h reads them.
 *
 *	process   its executable mappings, by thread group
 *	mapping   a range of addresses, and the rows of its file
 *	row       from this address on, up to the next row, this rule holds
 *	rule      how to find the caller's frame
 *
 * Rows are written before the mappings that refer to them, and their space is used again only
 * after these mappings are gone. A program that reads meanwhile may find wrong rows: it bounds
 * every access, and a wrong row can only end the stack.
 */

#define UNWIND_ROWS_MAX (1u << 21) /* rows of all files: 16 MiB */
#define UNWIND_RULES_MAX (1u << 14) /* different rules of all files */
#define UNWIND_PROCESSES_MAX 2048 /* 10 MiB */
#define UNWIND_MAPPINGS_MAX 128 /* of a process; further ones are unwound by frame pointers */
#define UNWIND_FRAMES_MAX 127

/* Rules with these numbers are no entries of the table. */
enum {
	UNWIND_NO_RULE, /* no function is known here: there may be frame pointers */
	UNWIND_NO_CALLER, /* a function whose caller no rule finds: the stack ends here */
	UNWIND_END, /* the outermost function of a thread */
	UNWIND_SIGNAL, /* the registers are in the signal frame at sp */
	UNWIND_RULES_FIRST
};

struct unwind_row {
	__u32 address; /* in the ELF file, from its lowest executable address */
	__u16 rule;
	__u16 unused;
};

/* The canonical frame address (CFA) is the value of sp before the call. */
enum unwind_base {
	UNWIND_BASE_SP, /* CFA = sp + cfa_offset */
	UNWIND_BASE_FP, /* CFA = fp + cfa_offset */
	UNWIND_BASE_AT_SP, /* CFA = the 8 bytes at sp + cfa_offset, + cfa_plus */
	UNWIND_BASE_AT_FP, /* CFA = the 8 bytes at fp + cfa_offset, + cfa_plus: realigned stacks */
	UNWIND_BASE_PLT /* CFA = sp + 8 + 8 * (pc % 16 >= cfa_offset): an entry of .plt */
};
enum unwind_saved {
	UNWIND_SAME, /* the register has the caller's value */
	UNWIND_AT_CFA, /* the caller's value is at CFA + offset */
	UNWIND_AT_FP, /* the caller's value is at fp + offset, with fp of this frame */
	UNWIND_UNKNOWN
};

struct unwind_rule {
	__u8 base; /* enum unwind_base */
	__s8 cfa_plus;
	/* enum unwind_saved. ra of x86-64 is UNWIND_AT_CFA with -8; of arm64 it is that or SAME. */
	__u8 fp, ra;
	__s32 cfa_offset;
	__s16 fp_offset, ra_offset;
};

struct unwind_mapping {
	__u64 start, end;
	__u64 bias; /* a row's address is pc - bias */
	__u32 first_row, n_rows; /* n_rows 0: the file has no rows */
};

struct unwind_process {
	__u32 n; /* mappings */
	__u32 generation; /* another one each time that the element is replaced */
	struct unwind_mapping mappings[UNWIND_MAPPINGS_MAX]; /* sorted by start */
};
