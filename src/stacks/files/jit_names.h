/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The functions that a process compiled while it ran, by address, as the process describes them in
 * a file that it extends: a perf map (/tmp/perf-PID.map: a line "START SIZE NAME" for each
 * function, numbers in hexadecimal), or a jitdump (jit-PID.dump: binary records). The files are
 * hostile. Used by a process without rights (elf_reader.h).
 *
 * Memory is reused: of several functions at an address the last one in the file counts.
 */
#define JIT_FUNCTIONS_MAX (1u << 20) /* of a process; further ones are ignored */
#define JIT_NAME_MAX 1024 /* bytes of a name; longer ones are cut */
#define JIT_READ_MAX (64u << 20) /* bytes of a perf map that a call reads */
#define JIT_RECORDS_MAX (1u << 20) /* records of a jitdump that a call reads */
#define JIT_SORTS_MAX (1u << 24) /* functions that a call may sort to find those that moved */
#define JIT_OVERLAPS_MAX 64 /* functions that are looked at for an address */

struct jit_function {
	uint64_t start, end;
	uint64_t max_end; /* of this function and those before it */
	uint32_t name; /* offset in names */
	uint32_t number; /* in the order of the file */
};

struct jit_names {
	struct jit_function *functions; /* owned; the first n_sorted by start, then new ones */
	size_t n, cap, n_sorted;
	char *names; /* owned; a NUL ends each */
	size_t n_bytes, cap_bytes;
	uint64_t at; /* the file has been read up to here */
};

/* Read what was appended to the file since the last call; an unfinished line or record is left for
 * the next one. Functions beyond max_bytes are ignored. *ret_moved: whether an address that had a
 * name has another one now. Return 0 or -errno (-EBADMSG: not such a file). */
int jit_names_read_map(struct jit_names *j, int fd, size_t max_bytes, bool *ret_moved);
int jit_names_read_dump(struct jit_names *j, int fd, size_t max_bytes, bool *ret_moved);
/* Returns the name of the function at the address, borrowed from j; NULL: unknown. */
const char *jit_names_find(const struct jit_names *j, uint64_t address);
/* Returns the bytes of functions and names. */
size_t jit_names_bytes(const struct jit_names *j);
/* Frees all names. A zeroed struct is allowed. */
void jit_names_deinit(struct jit_names *j);
