/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
#pragma once

/*
 * The tables by which BPF programs unwind stacks of programs without frame pointers.
 * src/stacks/unwind fills them in from .eh_frame; bpf/unwind.h reads them.
 *
 *	file      where its rows are; the program finds the file that is mapped at an address in
 *	          the mappings of the running process
 *	row       this rule holds from this address up to the next row. A push or pop changes only the
 *	          distance of the CFA from sp: half of these changes are in the row before
 *	rule      how to find the caller's frame
 *
 * Rows are written before the file that refers to them. Before their space is used again, the file
 * is removed and unwind_state.changes increased: a program that has read rows meanwhile discards
 * the stack. It bounds every access, and a wrong row can only end the stack.
 */

#define UNWIND_ROWS_MAX (1u << 21) /* rows of all files: 16 MiB */
#define UNWIND_RULES_MAX (1u << 14) /* different rules of all files */
#define UNWIND_FILES_MAX 4097 /* those of the file reader, and the vDSO */
#define UNWIND_SEGMENTS_MAX 4 /* executable ones of a file; further ones have no rows */
#define UNWIND_FRAMES_MAX 127

/* Rules with these numbers are not in the table. */
enum {
	UNWIND_NO_RULE, /* no function is known here: there may be frame pointers */
	UNWIND_NO_CALLER, /* no rule finds the caller of this function: the stack ends here */
	UNWIND_END, /* the outermost function of a thread */
	UNWIND_SIGNAL, /* the registers are in the signal frame at sp */
	UNWIND_RULES_FIRST
};

struct unwind_row {
	__u32 address; /* in the ELF file, from its lowest executable address */
	__u16 rule;
	__u8 next; /* from address + next on the CFA is 8 * step bytes further; 0: nowhere */
	__s8 step;
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

/* Identifies a file by fields that stat(2) also reports: a file that was changed in place is
 * another one. All fields are 0 for the vDSO. */
struct unwind_file_key {
	__u64 inode, size;
	__u64 changed_s; /* st_ctim */
	__u32 changed_ns;
	__u32 device; /* major << 20 | minor */
};

struct unwind_file {
	__u64 used_ns; /* about when a stack used it last, CLOCK_MONOTONIC; set by programs */
	__u32 first_row, n_rows; /* n_rows 0: the file has no rows */
	struct {
		__u64 offset, end; /* in the file; end 0: there is no such segment */
		__u64 bias; /* a row's address is the offset in the file, + bias */
	} segments[UNWIND_SEGMENTS_MAX];
};
#define UNWIND_USED_NS 100000000 /* resolution of used_ns */

/* The only element of unwind_state. */
struct unwind_state {
	__u32 changes; /* how often space was used again */
	__u32 page_shift; /* 0: there are no tables */
};
