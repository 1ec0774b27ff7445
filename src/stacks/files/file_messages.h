/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdint.h>
#include <sys/types.h>

#include "stacks/files/eh_rows.h"
#include "symbols/elf_symbols.h"

/* Messages of the file reader (file_reader.h). Native byte order: the processes are forks of one
 * program. */
enum file_request_kind {
	FILE_REQUEST_MAPS, /* the executable mappings of a process */
	FILE_REQUEST_ELF, /* a mapped file: its build id and segments */
	FILE_REQUEST_NAMES, /* functions and variables of a file by address */
	FILE_REQUEST_DATA_MAPS, /* the mappings of a process that contain certain addresses */
	FILE_REQUEST_DEBUG_FILE, /* the debug file of a mapped file, for later names; no answer */
	FILE_REQUEST_ROWS, /* unwind rows of a mapped file, or of the vDSO */
	FILE_REQUEST_PERF_MAP, /* names of code that a process compiled: its /tmp/perf-PID.map */
	FILE_REQUEST_JITDUMP, /* names of such code, from a jitdump that the process maps */
	FILE_REQUEST_CLOSE_ALL, /* close all files; no answer */
};

#define FILE_PATH_MAX 4096 /* with a NUL */
#define FILE_NAMES_MAX 56 /* addresses of a request */
#define FILE_ANSWER_MAX (60u << 10) /* bytes after the head */

struct file_request {
	uint32_t kind;
	uint32_t user; /* copied into the answer, as is id */
	uint64_t id;
	/* MAPS, DATA_MAPS: both; ELF, DEBUG_FILE, ROWS: a process that maps the file, 0: none */
	int32_t pid, tid;
	uint64_t start, end; /* ELF, JITDUMP, ROWS: where it is mapped */
	uint64_t inode; /* ELF, JITDUMP, ROWS: of the mapped file, as are major and minor */
	uint32_t major, minor;
	/* From the answer of ELF. NAMES: or of PERF_MAP, JITDUMP. ROWS: or FILE_VDSO */
	uint32_t file;
	uint32_t n; /* NAMES, DATA_MAPS: number of addresses */
	/* PERF_MAP, JITDUMP: the process. Its file must belong to that user and be younger. */
	uint32_t uid;
	int32_t pid_inside; /* in its own namespace */
	uint64_t started; /* CLOCK_REALTIME, ns */
	uint32_t has_ended; /* the process, or its program */
	union {
		char path[FILE_PATH_MAX]; /* ELF, JITDUMP, ROWS; DEBUG_FILE: a list */
		uint64_t addresses
			[FILE_NAMES_MAX]; /* NAMES: of the ELF file; DATA_MAPS: of the process */
	};
};
#define FILE_VDSO UINT32_MAX /* that of this machine, for 64-bit programs */
#define FILE_REQUEST_HEAD offsetof(struct file_request, path)

/* The head of the answers to ROWS. */
struct file_rows {
	uint64_t base; /* of the rows' addresses, in the ELF file's address space */
	uint32_t owner; /* user id; that of the vDSO is root */
	uint32_t n_rows; /* in all further answers together; 0: the file has none */
	uint32_t is_cut; /* see struct eh_rows */
	uint32_t unused;
};
#define FILE_ROWS_MAX (FILE_ANSWER_MAX / sizeof(struct unwind_row))

struct file_answer {
	uint32_t kind;
	uint32_t user;
	uint64_t id;
	int32_t result; /* 0 or -errno */
	uint32_t file; /* ELF, PERF_MAP, JITDUMP */
	uint32_t has_more; /* MAPS, ROWS: further answers to the same request follow */
	uint32_t n; /* number of records; PERF_MAP, JITDUMP: of functions */
	uint32_t has_moved; /* PERF_MAP, JITDUMP: an address has another name than before */
	uint32_t n_bytes; /* of the body */
	union {
		char body[FILE_ANSWER_MAX];
		struct elf_facts elf;
		struct {
			struct file_rows head;
			struct unwind_rule rules[EH_RULES_MAX];
		} rules; /* ROWS: the first answer; n rules */
		struct unwind_row rows[FILE_ROWS_MAX]; /* ROWS: further answers; n rows */
	};
};
#define FILE_ANSWER_HEAD offsetof(struct file_answer, body)

/* A record of MAPS; path_len bytes follow it, then padding to 8 bytes. */
struct file_mapping {
	uint64_t start, end;
	uint64_t offset; /* in the file */
	uint64_t inode;
	uint32_t major, minor; /* device of the file */
	uint32_t path_len;
	uint32_t generation; /* of the inode: differs for each use of its number; 0: unknown */
};

/* A record of DATA_MAPS; m.path_len bytes follow it, then padding to 8 bytes. An address without a
 * mapping has no record. If is_behind is set, the address is in anonymous memory that follows the
 * mapping m of a file: in its .bss, if the writable segments of the file reach that far. */
struct file_data_mapping {
	struct file_mapping m;
	uint32_t address; /* its index in the request */
	uint32_t is_behind;
};

/* A record of NAMES is a uint16_t, the length of the name (0: unknown), and the name, that of a
 * variable with the offset in it ("+0x10"). All names of a request fit. */
#define FILE_OFFSET_MAX 20
_Static_assert(FILE_NAMES_MAX *(sizeof(uint16_t) + ELF_NAME_MAX + FILE_OFFSET_MAX) <=
		       FILE_ANSWER_MAX,
	       "names fit");
_Static_assert(sizeof(struct file_answer) - FILE_ANSWER_HEAD == FILE_ANSWER_MAX, "rules fit");
