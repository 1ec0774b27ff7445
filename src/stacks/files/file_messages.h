/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdint.h>
#include <sys/types.h>

#include "stacks/files/elf_symbols.h"

/*
 * Messages of the file reader (file_reader.h). Native byte order: the processes are forks of one
 * program.
 */
enum file_request_kind {
	FILE_REQUEST_MAPS, /* the executable mappings of a process */
	FILE_REQUEST_ELF, /* a mapped file: its build id and segments */
	FILE_REQUEST_NAMES, /* functions of a file by address */
	FILE_REQUEST_DEBUG_FILE, /* its separate debug file, for later names; no answer */
	FILE_REQUEST_FORGET, /* close all files; no answer */
};

#define FILE_PATH_MAX 4096 /* with a NUL */
#define FILE_NAMES_MAX 56 /* addresses of a request */
#define FILE_ANSWER_MAX (60u << 10) /* bytes after the head */

struct file_request {
	uint32_t kind;
	uint32_t user; /* copied into the answer, as is id */
	uint64_t id;
	int32_t pid, tid; /* MAPS: both; ELF, DEBUG_FILE: a process that maps the file, 0: none */
	uint64_t start, end; /* ELF: where it is mapped */
	uint64_t inode; /* ELF: of the mapped file, as are major and minor */
	uint32_t major, minor;
	uint32_t file; /* NAMES, DEBUG_FILE: from the answer of ELF */
	uint32_t n; /* NAMES: number of addresses */
	union {
		char path[FILE_PATH_MAX]; /* ELF; DEBUG_FILE: several, each with a NUL */
		uint64_t addresses[FILE_NAMES_MAX]; /* of the ELF file */
	};
};
#define FILE_REQUEST_HEAD offsetof(struct file_request, path)

struct file_answer {
	uint32_t kind;
	uint32_t user;
	uint64_t id;
	int32_t result; /* 0 or -errno */
	uint32_t file; /* ELF */
	uint32_t has_more; /* MAPS: further answers to the same request follow */
	uint32_t n; /* MAPS, NAMES: number of records */
	uint32_t n_bytes; /* of the body */
	union {
		char body[FILE_ANSWER_MAX];
		struct elf_facts elf;
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
	uint32_t unused;
};

/* A record of NAMES is a uint16_t, the length of the name (0: unknown), and the name. All names of
 * a request fit. */
_Static_assert(FILE_NAMES_MAX *(sizeof(uint16_t) + ELF_NAME_MAX) <= FILE_ANSWER_MAX, "names fit");
