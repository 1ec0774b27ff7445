/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <elf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/core/mem.h"
#include "unit/test.h"

/*
 * An ELF file made of sections and segments:
 *
 *	struct image *f = image_new(IMAGE_MAX);
 *
 *	image_add_function(f, SHT_SYMTAB, "f", 0x1000);
 *	image_end(f);
 *	fd = image_file(f);
 *
 * The caller frees the image. A test may change the headers in `sections` and `segments` before the
 * end, and the bytes after it.
 */
#define IMAGE_MAX (256u << 10)

struct image {
	size_t cap, len; /* of bytes */
	Elf64_Shdr sections[16];
	Elf64_Phdr segments[20];
	Elf64_Half n_sections, n_segments;
	char names[256]; /* of the sections */
	size_t n_names;
	bool is_32; /* its headers are those of a 32-bit file */
	_Alignas(Elf64_Ehdr) uint8_t bytes[];
};

static inline struct image *image_new(size_t cap)
{
	struct image *f = calloc(1, sizeof(*f) + cap);

	assert_non_null(f);
	f->cap = cap;
	f->len = sizeof(Elf64_Ehdr);
	f->n_sections = 1; /* the null section */
	f->n_names = 1;
	return f;
}

/* Appends bytes, and returns their offset. */
static inline size_t image_append(struct image *f, const void *bytes, size_t len)
{
	size_t at = f->len;

	assert_true(at + len + 8 <= f->cap);
	memcpy(f->bytes + at, bytes, len);
	f->len += (len + 7) / 8 * 8;
	return at;
}

/* Returns the header. */
static inline Elf64_Shdr *image_add(struct image *f, const char *name, uint32_t type,
				    const void *bytes, size_t len)
{
	Elf64_Shdr *h = &f->sections[f->n_sections++];

	assert_true(f->n_sections <= ARRAY_SIZE(f->sections));
	*h = (Elf64_Shdr){.sh_name = (uint32_t)f->n_names,
			  .sh_type = type,
			  .sh_offset = image_append(f, bytes, len),
			  .sh_size = len,
			  .sh_addralign = 4};
	strcpy(f->names + f->n_names, name);
	f->n_names += strlen(name) + 1;
	return h;
}

/* A segment that loads the whole file, at its offsets plus `shift`. */
static inline Elf64_Phdr *image_add_segment(struct image *f, uint32_t type, uint32_t flags,
					    uint64_t shift)
{
	Elf64_Phdr *p = &f->segments[f->n_segments++];

	assert_true(f->n_segments <= ARRAY_SIZE(f->segments));
	*p = (Elf64_Phdr){.p_type = type,
			  .p_flags = flags,
			  .p_vaddr = shift,
			  .p_filesz = f->cap,
			  .p_memsz = f->cap,
			  .p_align = 4};
	return p;
}

/* A section of symbols that has one function of 16 bytes. Returns the section's header. */
static inline Elf64_Shdr *image_add_function(struct image *f, uint32_t type, const char *name,
					     uint64_t address)
{
	const Elf64_Sym symbols[2] = {{0},
				      {.st_name = 1,
				       .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
				       .st_shndx = 1,
				       .st_value = address,
				       .st_size = 16}};
	char strings[64] = "";
	Elf64_Shdr *h;

	strcpy(strings + 1, name);
	image_add(f, ".strtab", SHT_STRTAB, strings, strlen(name) + 2);
	h = image_add(f, ".symtab", type, symbols, sizeof(symbols));
	h->sh_entsize = sizeof(*symbols);
	h->sh_link = f->n_sections - 2u;
	return h;
}

/* A note of 8 bytes. Returns the section's header. */
static inline Elf64_Shdr *image_add_build_id(struct image *f, uint8_t id)
{
	const struct {
		Elf64_Nhdr head;
		char name[4];
		uint8_t id[8];
	} note = {{4, 8, NT_GNU_BUILD_ID}, "GNU", {id}};

	return image_add(f, ".note.gnu.build-id", SHT_NOTE, &note, sizeof(note));
}

/* .gnu_debuglink */
static inline void image_add_link(struct image *f, const char *name, uint32_t crc)
{
	char section[64] = "";
	size_t at = strlen(name) / 4 * 4 + 4;

	strcpy(section, name);
	memcpy(section + at, &crc, sizeof(crc));
	image_add(f, ".gnu_debuglink", SHT_PROGBITS, section, at + sizeof(crc));
}

static inline void image_end_32(struct image *f)
{
	Elf32_Ehdr head = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS32, ELFDATA2LSB, EV_CURRENT},
			   .e_type = ET_DYN,
			   .e_machine = EM_386,
			   .e_version = EV_CURRENT,
			   .e_ehsize = sizeof(head),
			   .e_shentsize = sizeof(Elf32_Shdr),
			   .e_shnum = f->n_sections,
			   .e_shstrndx = f->n_sections - 1};

	head.e_shoff = (Elf32_Off)f->len;
	for (unsigned i = 0; i < f->n_sections; i++) {
		const Elf64_Shdr *h = &f->sections[i];
		const Elf32_Shdr s = {.sh_name = h->sh_name,
				      .sh_type = h->sh_type,
				      .sh_addr = (Elf32_Addr)h->sh_addr,
				      .sh_offset = (Elf32_Off)h->sh_offset,
				      .sh_size = (Elf32_Word)h->sh_size,
				      .sh_addralign = (Elf32_Word)h->sh_addralign};

		image_append(f, &s, sizeof(s));
	}
	memcpy(f->bytes, &head, sizeof(head));
}

/* Writes the headers. */
static inline void image_end(struct image *f)
{
	Elf64_Ehdr head = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
			   .e_type = ET_DYN,
			   .e_machine = EM_X86_64,
			   .e_version = EV_CURRENT,
			   .e_ehsize = sizeof(head),
			   .e_phentsize = sizeof(*f->segments),
			   .e_phnum = f->n_segments,
			   .e_shentsize = sizeof(*f->sections)};

	image_add(f, ".shstrtab", SHT_STRTAB, f->names, sizeof(f->names));
	if (f->is_32) {
		image_end_32(f);
		return;
	}
	head.e_shnum = f->n_sections;
	head.e_shstrndx = f->n_sections - 1;
	head.e_phoff = image_append(f, f->segments, f->n_segments * sizeof(*f->segments));
	head.e_shoff = image_append(f, f->sections, f->n_sections * sizeof(*f->sections));
	memcpy(f->bytes, &head, sizeof(head));
}

static inline int file_of(const void *bytes, size_t len)
{
	int fd = memfd_create("elf", MFD_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, bytes, len), len);
	return fd;
}

static inline int image_file(const struct image *f)
{
	return file_of(f->bytes, f->len);
}
