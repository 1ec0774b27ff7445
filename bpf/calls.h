/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
#pragma once

#include <linux/types.h>

#include "program_names.h"

/*
 * System calls with what their arguments point to: what calls.bpf.c reads and src/ebpf/calls
 * writes. The ring "calls" has two kinds of records:
 *
 *	CALL_BEGUN	at the start of a call with memory to read: only head and pieces
 *	CALL_ENDED	at the end of each call: the whole record, and the pieces available only now
 *
 * Memory that is absent at the start is read again at the end, when the kernel has used it. If it
 * is still absent then, it is counted.
 */

/* Bits of sonda_settings.switches. */
#define CALLS_OF_PIDS 1u /* of the processes in the map "followed" */
#define CALLS_OF_USER 2u /* of the user calls_settings.uid: processes that this user may trace */

/* Numbers of calls: those of the machine's own table, then those of 32-bit programs, then one for
 * all others. The index of the map "specs". */
#define CALLS_NUMBERS 512
#define CALLS_COMPAT CALLS_NUMBERS
#define CALLS_OTHER (2 * CALLS_NUMBERS)
#define CALLS_SPECS (CALLS_OTHER + 1)

#define CALLS_FOLLOWED_MAX 16384
#define CALLS_OWN_MAX 16
#define CALLS_NAME 16
#define CALL_ARGS 6
#define CALLS_STRING_MAX 4095 /* without the NUL: the longest path */

/* The section .rodata.calls, set before the load. */
struct calls_settings {
	__u32 uid;
	__u32 string_max; /* at most CALLS_STRING_MAX */
	__u32 n_programs; /* 0: all */
	char programs[PROGRAM_NAMES_MAX][PROGRAM_NAME_SIZE];
	__u32 own[CALLS_OWN_MAX]; /* processes of the recorder; 0 after the last one */
};

/* What an argument points to. The length comes from the call: its next argument or its return
 * value. */
enum call_memory {
	CALL_NOTHING,
	/* Read at the begin. */
	CALL_STRING,
	CALL_SOCKADDR, /* its length is the next argument */
	CALL_STRINGS, /* pointers up to NULL: argv */
	CALL_OPEN_HOW,
	CALL_TIMESPEC,
	CALL_CLONE_ARGS,
	/* Read at the end, if the call has not failed. */
	CALL_TEXT_OUT, /* as many bytes as the call returns */
	CALL_SOCKADDR_OUT, /* the next argument points to the length */
	CALL_FDS_OUT, /* two descriptors */
	CALL_MEMORIES
};

#define CALL_FIRST_OUT CALL_TEXT_OUT

#define CALL_READS 1u /* an argument points to memory */
#define CALL_OPENS 4u /* it returns the descriptor of a file */
#define CALL_EXECS 2u /* after success its addresses belong to another program */

struct call_spec {
	__u8 is_wanted;
	__u8 reads; /* bits CALL_READS, CALL_EXECS, CALL_OPENS */
	__u8 memory[CALL_ARGS]; /* enum call_memory */
};

enum call_type { CALL_BEGUN = 1, CALL_ENDED };

/* Bits of call_record.flags. */
#define CALL_IS_COMPAT 1u
#define CALL_NEVER_RETURNED 2u /* its thread ended */
#define CALL_STILL_RUNS 4u /* at the end of the recording */

/* A piece: this head, then len bytes. Several of CALL_STRINGS have the same arg. */
struct call_piece {
	__u8 arg;
	__u8 memory; /* enum call_memory */
	__u8 is_cut; /* there was more than len bytes */
	__u8 unused;
	__u32 len;
};

#define CALLS_PIECES 16384 /* bytes; a power of two */
#define CALLS_STRINGS_MAX 64
#define CALLS_STRINGS_BYTES 4096 /* of all strings of an argument together, approximately */

struct call_head {
	__u16 type; /* enum call_type */
	__u16 n_bytes; /* of pieces, after the head (CALL_BEGUN) or the record (CALL_ENDED) */
	__u32 tid; /* at the begin of the call */
	__u32 tgid;
	__u32 sequence; /* of the thread's call: the same in both records */
};

struct call_record {
	struct call_head head;
	__u32 flags;
	__s32 number;
	__u64 since, until; /* ns of CLOCK_BOOTTIME */
	__s64 result;
	__u64 args[CALL_ARGS];
	char comm[CALLS_NAME];
	__u64 inode; /* of the file that a call with CALL_OPENS has opened; 0: unknown */
	__u32 dev; /* its dev_t in the kernel */
	__u32 unused;
};

/* The single value of the per-CPU array "cpus". */
struct calls_cpu {
	__u64 calls; /* records of calls in the ring */
	__u64 ring_full; /* records of calls that found no room in the ring */
	__u64 no_slot; /* calls that are not recorded: no memory for their begin */
	__u64 texts_lost; /* the ring, or the record, had no room */
	__u64 texts_absent; /* memory that was absent at both times */
	__u64 children_lost; /* children of followed processes: no room in "followed" */
};
