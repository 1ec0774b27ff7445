/* SPDX-License-Identifier: Apache-2.0 */
/* Names that are not in the file itself: .gnu_debugdata, and separate debug files. */
#include <elf.h>
#include <lzma.h>
#include <sys/mman.h>

#include "symbols/elf_symbols.h"
#include "unit/test.h"

#define IMAGE_MAX (256u << 10)
#define ADDRESS 0x1000

/* An ELF file of sections, of which the first one has the names of all. */
struct image {
	uint8_t bytes[IMAGE_MAX];
	size_t len;
	Elf64_Shdr sections[8];
	Elf64_Half n_sections;
	char names[256];
	size_t n_names;
};

static void image_add(struct image *f, const char *name, uint32_t type, const void *bytes,
		      size_t len)
{
	assert_true(f->len + len + 8 <= IMAGE_MAX);
	f->sections[f->n_sections++] = (Elf64_Shdr){.sh_name = (uint32_t)f->n_names,
						    .sh_type = type,
						    .sh_offset = f->len,
						    .sh_size = len,
						    .sh_addralign = 4};
	memcpy(f->bytes + f->len, bytes, len);
	f->len += (len + 7) / 8 * 8;
	strcpy(f->names + f->n_names, name);
	f->n_names += strlen(name) + 1;
}

static struct image *image_new(void)
{
	struct image *f = calloc(1, sizeof(*f));

	f->len = sizeof(Elf64_Ehdr);
	f->n_sections = 1; /* the null section */
	f->n_names = 1;
	return f;
}

static void image_add_function(struct image *f, uint32_t type, const char *name)
{
	Elf64_Sym symbols[2] = {{0},
				{.st_name = 1,
				 .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
				 .st_shndx = 1,
				 .st_value = ADDRESS,
				 .st_size = 16}};
	char strings[64] = "";

	strcpy(strings + 1, name);
	image_add(f, ".strtab", SHT_STRTAB, strings, strlen(name) + 2);
	image_add(f, ".symtab", type, symbols, sizeof(symbols));
	f->sections[f->n_sections - 1].sh_entsize = sizeof(*symbols);
	f->sections[f->n_sections - 1].sh_link = f->n_sections - 2u;
}

static void image_add_build_id(struct image *f, uint8_t id)
{
	const struct {
		Elf64_Nhdr head;
		char name[4];
		uint8_t id[8];
	} note = {{4, 8, NT_GNU_BUILD_ID}, "GNU", {id}};

	image_add(f, ".note.gnu.build-id", SHT_NOTE, &note, sizeof(note));
}

static void image_add_link(struct image *f, const char *name, uint32_t crc)
{
	char section[64] = "";
	size_t at = strlen(name) / 4 * 4 + 4;

	strcpy(section, name);
	memcpy(section + at, &crc, sizeof(crc));
	image_add(f, ".gnu_debuglink", SHT_PROGBITS, section, at + sizeof(crc));
}

/* Writes the headers. */
static void image_end(struct image *f)
{
	Elf64_Ehdr head = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
			   .e_type = ET_DYN,
			   .e_machine = EM_X86_64,
			   .e_version = EV_CURRENT,
			   .e_ehsize = sizeof(Elf64_Ehdr),
			   .e_shentsize = sizeof(Elf64_Shdr)};

	image_add(f, ".shstrtab", SHT_STRTAB, f->names, sizeof(f->names));
	head.e_shoff = f->len;
	head.e_shnum = f->n_sections;
	head.e_shstrndx = f->n_sections - 1;
	memcpy(f->bytes, &head, sizeof(head));
	memcpy(f->bytes + f->len, f->sections, f->n_sections * sizeof(*f->sections));
	f->len += f->n_sections * sizeof(*f->sections);
}

static int image_file(const struct image *f)
{
	int fd = memfd_create("elf", MFD_CLOEXEC);

	assert_true(fd >= 0 && write(fd, f->bytes, f->len) == (ssize_t)f->len);
	return fd;
}

/* A file that has a .symtab with one function only. */
static struct image *debug_image(const char *name, uint8_t build_id)
{
	struct image *f = image_new();

	image_add_function(f, SHT_SYMTAB, name);
	if (build_id)
		image_add_build_id(f, build_id);
	image_end(f);
	return f;
}

/* Adds .gnu_debugdata with these bytes. */
static void image_add_packed(struct image *f, const void *bytes, size_t len)
{
	static uint8_t packed[IMAGE_MAX / 2];
	size_t n = 0;

	assert_int_equal(lzma_easy_buffer_encode(6, LZMA_CHECK_CRC32, NULL, bytes, len, packed, &n,
						 sizeof(packed)),
			 LZMA_OK);
	image_add(f, ".gnu_debugdata", SHT_PROGBITS, packed, n);
}

static struct elf_symbols read_image(struct image *f)
{
	_cleanup_(closep) int fd = -1;
	struct elf_symbols s = {0};

	image_end(f);
	fd = image_file(f);
	assert_int_equal(elf_symbols_read(fd, SIZE_MAX, &s), 0);
	return s;
}

TEST(functions_in_gnu_debugdata_have_names)
{
	_cleanup_(freep) struct image *f = image_new(), *inner = debug_image("packed_function", 0);
	struct elf_symbols s;

	image_add_function(f, SHT_DYNSYM, "exported_function");
	f->bytes[f->sections[f->n_sections - 1].sh_offset + sizeof(Elf64_Sym) +
		 offsetof(Elf64_Sym, st_value) + 1] = 0x20; /* at 0x2000 */
	image_add_packed(f, inner->bytes, inner->len);
	s = read_image(f);
	assert_true(s.facts.is_stripped);
	assert_string_equal(elf_symbols_find_name(&s, ADDRESS + 1), "packed_function");
	assert_string_equal(elf_symbols_find_name(&s, 0x2000), "exported_function");
	elf_symbols_deinit(&s);
}

TEST(gnu_debugdata_that_is_too_large_or_spoiled_is_ignored)
{
	_cleanup_(freep) struct image *f = image_new(), *spoiled = image_new(),
				      *inner = debug_image("packed_function", 0);
	_cleanup_(freep) char *zeros = calloc(1, ELF_UNPACKED_MAX + 4096);
	struct elf_symbols s;

	memcpy(zeros, inner->bytes, inner->len);
	image_add_packed(f, zeros, ELF_UNPACKED_MAX + 4096);
	s = read_image(f);
	assert_int_equal(s.n_symbols, 0);
	elf_symbols_deinit(&s);

	image_add_packed(spoiled, inner->bytes, inner->len);
	spoiled->bytes[spoiled->sections[1].sh_offset + 40] ^= 1;
	s = read_image(spoiled);
	assert_int_equal(s.n_symbols, 0);
	elf_symbols_deinit(&s);
}

static int read_debug_image(struct elf_symbols *s, const struct image *f)
{
	_cleanup_(closep) int fd = image_file(f);

	return elf_symbols_replace_by_debug_file(s, fd, SIZE_MAX);
}

TEST(a_debug_file_has_the_build_id_of_its_file)
{
	_cleanup_(freep) struct image *f = image_new(), *right = debug_image("right", 7),
				      *wrong = debug_image("wrong", 8),
				      *none = debug_image("none", 0);
	struct elf_symbols s;
	Elf64_Phdr notes = {.p_type = PT_NOTE, .p_align = 4};

	image_add_function(f, SHT_DYNSYM, "exported");
	image_add_build_id(f, 7);
	notes.p_offset = f->sections[f->n_sections - 1].sh_offset;
	notes.p_filesz = f->sections[f->n_sections - 1].sh_size;
	image_add(f, "segments", SHT_PROGBITS, &notes, sizeof(notes));
	image_end(f);
	((Elf64_Ehdr *)f->bytes)->e_phoff = f->sections[f->n_sections - 2].sh_offset;
	((Elf64_Ehdr *)f->bytes)->e_phnum = 1;
	((Elf64_Ehdr *)f->bytes)->e_phentsize = sizeof(Elf64_Phdr);
	{
		_cleanup_(closep) int fd = image_file(f);

		assert_int_equal(elf_symbols_read(fd, SIZE_MAX, &s), 0);
	}
	assert_int_equal(s.facts.n_build_id, 8);
	assert_int_equal(read_debug_image(&s, wrong), -ESTALE);
	assert_int_equal(read_debug_image(&s, none), -ESTALE);
	assert_string_equal(elf_symbols_find_name(&s, ADDRESS), "exported");
	assert_int_equal(read_debug_image(&s, right), 0);
	assert_string_equal(elf_symbols_find_name(&s, ADDRESS), "right");
	assert_int_equal(s.facts.n_build_id, 8);
	elf_symbols_deinit(&s);
}

TEST(a_debug_file_by_link_has_the_crc)
{
	_cleanup_(freep) struct image *f = image_new(), *right = debug_image("right", 0),
				      *wrong = debug_image("wrong", 0);
	struct elf_symbols s;

	image_add_link(f, "program.debug", lzma_crc32(right->bytes, right->len, 0));
	s = read_image(f);
	assert_string_equal(s.facts.debug_link, "program.debug");
	assert_int_equal(read_debug_image(&s, wrong), -ESTALE);
	assert_int_equal(s.n_symbols, 0);
	assert_int_equal(read_debug_image(&s, right), 0);
	assert_string_equal(elf_symbols_find_name(&s, ADDRESS), "right");
	elf_symbols_deinit(&s);
}

TEST(a_link_names_a_file_and_no_path)
{
	_cleanup_(freep) struct image *f = image_new(), *g = image_new();
	struct elf_symbols s;

	image_add_link(f, "../../etc/shadow", 1);
	s = read_image(f);
	assert_string_equal(s.facts.debug_link, "");
	elf_symbols_deinit(&s);
	image_add(g, ".gnu_debuglink", SHT_PROGBITS, "no NUL and no CRC", 17);
	s = read_image(g);
	assert_string_equal(s.facts.debug_link, "");
	elf_symbols_deinit(&s);
}
