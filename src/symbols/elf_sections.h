/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <gelf.h>
#include <stddef.h>
#include <stdint.h>

/* The sections of a hostile ELF file that its readers need. If several have the same name or type,
 * the first one is used for symbols, and the last one for the others. */
#define ELF_SECTIONS_MAX 65536 /* further ones are ignored */
#define ELF_NAME_MAX 1024 /* bytes of a name; longer ones are cut */

struct elf_sections {
	Elf_Scn *symtab, *dynsym;
	Elf_Scn *packed; /* .gnu_debugdata */
	Elf_Scn *link; /* .gnu_debuglink */
	Elf_Scn *usdt; /* .note.stapsdt */
	uint64_t usdt_base; /* address of .stapsdt.base; 0: there is none */
};

void elf_sections_find(Elf *elf, struct elf_sections *ret);

/* Returns the string at an offset, cut to ELF_NAME_MAX bytes; NULL: none. elf_strptr() would search
 * the whole table for a NUL at each call, if the file is made that way. */
const char *elf_sections_string(const Elf_Data *strings, size_t at, size_t *ret_len);
