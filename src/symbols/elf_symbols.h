/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "symbols/elf_sections.h"

/*
 * The functions and variables of an ELF file, for addresses in processes that map it, and for
 * probes by name. The file is hostile: libelf reads it, limits bound what is kept. Used by
 * processes without rights (stacks/files/elf_reader.c, program_reader.c).
 *
 * Names come from .symtab if the file has one, otherwise from .dynsym and from the symbol table in
 * .gnu_debugdata, which is compressed; or from the .symtab of a separate debug file. An address has
 * the name of the function or variable whose range contains it. A symbol without a size ends at the
 * next symbol.
 */
#define ELF_BUILD_ID_MAX 64 /* bytes; the linkers write 8 to 32 */
#define ELF_SEGMENTS_MAX 16 /* executable segments, or writable ones; further ones are ignored */
#define ELF_SYMBOLS_MAX (4u << 20) /* further ones are ignored */
#define ELF_NOTES_MAX (64u << 10) /* bytes of notes of a file; further ones are ignored */
#define ELF_NOTE_SEGMENTS_MAX 16 /* likewise */
#define ELF_DEBUG_LINK_MAX 256 /* bytes of the name of the separate debug file, with a NUL */
#define ELF_DEBUG_FILE_MAX (512u << 20) /* bytes of a debug file that has no build id */
#define ELF_UNPACKED_MAX (32u << 20) /* bytes of .gnu_debugdata; if it is larger it is ignored */
#define ELF_UNPACK_MEMORY (80u << 20) /* bytes that unpacking may take; xz -9 takes 65 MiB */

struct elf_segment {
	uint64_t offset, size; /* in the file; size of a writable one: in memory, with .bss */
	uint64_t address; /* in the ELF file's address space */
};

struct elf_facts {
	/* Of the file, as stat(2) reports. Set by elf_reader.c */
	uint64_t size;
	int64_t changed_s; /* st_ctim */
	uint32_t changed_ns;
	uint32_t n_build_id; /* 0: it has none */
	uint8_t build_id[ELF_BUILD_ID_MAX];
	uint32_t n_segments;
	struct elf_segment segments[ELF_SEGMENTS_MAX]; /* the executable ones */
	uint32_t n_data;
	struct elf_segment data[ELF_SEGMENTS_MAX]; /* the writable ones */
	uint32_t is_stripped; /* it has no .symtab, but a separate debug file may have one */
	uint32_t machine; /* e_machine */
	uint32_t debug_link_crc; /* of the debug file that it names: .gnu_debuglink */
	char debug_link[ELF_DEBUG_LINK_MAX]; /* the name, without a directory; "": none */
};

struct elf_symbol {
	uint64_t address, end;
	uint32_t name; /* offset in names */
	uint16_t rank; /* of several names at an address the lowest rank comes first */
	uint8_t is_variable;
	uint8_t is_chosen_at_load; /* STT_GNU_IFUNC: the code at the address chooses the function */
};

struct elf_symbols {
	struct elf_facts facts;
	struct elf_symbol *symbols; /* owned; sorted by address */
	size_t n_symbols;
	char *names; /* owned; a NUL ends each */
	size_t n_names; /* bytes */
	bool keeps_aliases; /* all names of an address are kept, not the first one only */
};

/* Reads the file. The caller keeps fd. Functions beyond max_bytes of symbols and names are ignored.
 * Returns 0; -ENOEXEC if it is not an ELF file; or -errno, and *ret is unchanged. */
int elf_symbols_read(int fd, size_t max_bytes, struct elf_symbols *ret);
/* Like elf_symbols_read(), but keeps all names of an address: for a search by name. */
int elf_symbols_read_aliases(int fd, size_t max_bytes, struct elf_symbols *ret);
/* Replaces the functions of s by those of a separate debug file. The caller keeps fd. Returns 0;
 * -ESTALE if the file belongs to another file: build ids differ, or without a build id the CRC;
 * -ENODATA if it has no functions; or -errno. On failure s is unchanged. */
int elf_symbols_replace_by_debug_file(struct elf_symbols *s, int fd, size_t max_bytes);
/* Returns the bytes of symbols and names. */
size_t elf_symbols_bytes(const struct elf_symbols *s);
/* A zeroed struct is allowed. */
void elf_symbols_deinit(struct elf_symbols *s);

/* Returns the function or variable at the address, borrowed from s; NULL: unknown. */
const struct elf_symbol *elf_symbols_find(const struct elf_symbols *s, uint64_t address);
/* Returns its name, borrowed from s; NULL: unknown. */
const char *elf_symbols_find_name(const struct elf_symbols *s, uint64_t address);
