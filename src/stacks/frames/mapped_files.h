/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>

#include "stacks/files/file_messages.h"

/* The files that processes of a session have mapped as executable, each once, by number. A number
 * stays valid until mapped_files_deinit(). */
#define MAPPED_FILES_MAX 65536 /* further ones are MAPPED_FILE_UNKNOWN */
#define STACKS_SEQUENCES 2 /* packet sequences that a session writes call stacks to */
#define MAPPED_FILES_BYTES_MAX (32u << 20) /* of paths; files beyond are unknown, too */

enum { MAPPED_FILE_KERNEL, MAPPED_FILE_UNKNOWN, MAPPED_FILES_FIRST };

enum mapped_file_state {
	MAPPED_FILE_NEW, /* not requested yet */
	MAPPED_FILE_ASKED,
	MAPPED_FILE_READ, /* elf is valid */
	MAPPED_FILE_UNREADABLE, /* also the kernel, and mappings without a file */
};

struct mapped_file {
	char *path; /* owned */
	uint64_t inode;
	uint32_t major, minor, generation; /* as in file_mapping */
	uint8_t state; /* enum mapped_file_state */
	bool is_debug_file_asked;
	bool is_memory; /* code in it was made by the process: no file, or a file in memory */
	bool is_jitdump; /* by its name: it describes such code */
	int error; /* UNREADABLE: the reason, -errno */
	uint32_t reader_file; /* READ: its number at the file reader */
	struct elf_facts *elf; /* owned; READ */
	/* generations of the interned data */
	uint32_t path_written[STACKS_SEQUENCES], build_id_written[STACKS_SEQUENCES];
};

struct mapped_files {
	struct mapped_file *items; /* owned */
	size_t n, cap;
	size_t n_bytes; /* of paths */
	uint32_t *slots; /* owned: numbers by path and inode; 0 is free */
	size_t n_slots;
};

/* Returns 0 or -ENOMEM. */
int mapped_files_init(struct mapped_files *f);
void mapped_files_deinit(struct mapped_files *f);
/* Returns the number of the file, which it adds if it is new. path has m->path_len bytes.
 * MAPPED_FILE_UNKNOWN: above a limit, or memory runs out. */
uint32_t mapped_files_add(struct mapped_files *f, const struct file_mapping *m, const char *path);
/* Handles an answer of the file reader about file `number`. */
void mapped_files_handle_answer(struct mapped_files *f, uint32_t number,
				const struct file_answer *a);
/* Returns the difference between an address in the ELF file and its offset in the file, for the
 * segment that contains the offset. 0 if that is unknown. */
uint64_t mapped_file_load_bias(const struct mapped_file *f, uint64_t offset);
/* Returns the address in the ELF file of data that a mapping with this offset has at `at`, an
 * offset in the file, which for .bss is beyond its end. UINT64_MAX: it is in no writable
 * segment. */
uint64_t mapped_file_data_address(const struct mapped_file *f, uint64_t offset, uint64_t at);
