/* SPDX-License-Identifier: Apache-2.0 */
/* Names that are not in the file itself: .gnu_debugdata, and separate debug files. */
#include <lzma.h>

#include "symbols/elf_symbols.h"
#include "unit/symbols/elf_image.h"

#define ADDRESS 0x1000

/* A file that has a .symtab with one function only. */
static struct image *debug_image(const char *name, uint8_t build_id)
{
	struct image *f = image_new(IMAGE_MAX);

	image_add_function(f, SHT_SYMTAB, name, ADDRESS);
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
	_cleanup_(freep) struct image *f = image_new(IMAGE_MAX),
				      *inner = debug_image("packed_function", 0);
	struct elf_symbols s;

	image_add_function(f, SHT_DYNSYM, "exported_function", 0x2000);
	image_add_packed(f, inner->bytes, inner->len);
	s = read_image(f);
	assert_true(s.facts.is_stripped);
	assert_string_equal(elf_symbols_find_name(&s, ADDRESS + 1), "packed_function");
	assert_string_equal(elf_symbols_find_name(&s, 0x2000), "exported_function");
	elf_symbols_deinit(&s);
}

TEST(gnu_debugdata_that_is_too_large_or_spoiled_or_no_elf_file_is_ignored)
{
	_cleanup_(freep) struct image *f = image_new(IMAGE_MAX), *spoiled = image_new(IMAGE_MAX),
				      *other = image_new(IMAGE_MAX),
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

	image_add_packed(other, "#!/bin/sh", 9);
	s = read_image(other);
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
	_cleanup_(freep) struct image *f = image_new(IMAGE_MAX), *right = debug_image("right", 7),
				      *wrong = debug_image("wrong", 8),
				      *none = debug_image("none", 0), *empty = image_new(IMAGE_MAX);
	struct elf_symbols s;
	Elf64_Phdr *notes;
	Elf64_Shdr *id;

	image_add_function(f, SHT_DYNSYM, "exported", ADDRESS);
	id = image_add_build_id(f, 7);
	notes = image_add_segment(f, PT_NOTE, PF_R, 0);
	notes->p_offset = id->sh_offset;
	notes->p_filesz = id->sh_size;
	s = read_image(f);
	assert_int_equal(s.facts.n_build_id, 8);
	assert_int_equal(read_debug_image(&s, wrong), -ESTALE);
	assert_int_equal(read_debug_image(&s, none), -ESTALE);
	image_add_build_id(empty, 7);
	image_end(empty);
	assert_int_equal(read_debug_image(&s, empty), -ENODATA);
	assert_string_equal(elf_symbols_find_name(&s, ADDRESS), "exported");
	assert_int_equal(read_debug_image(&s, right), 0);
	assert_string_equal(elf_symbols_find_name(&s, ADDRESS), "right");
	assert_int_equal(s.facts.n_build_id, 8);
	elf_symbols_deinit(&s);
}

TEST(a_debug_file_by_link_has_the_crc)
{
	_cleanup_(freep) struct image *f = image_new(IMAGE_MAX), *right = debug_image("right", 0),
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
	_cleanup_(freep) struct image *f = image_new(IMAGE_MAX), *g = image_new(IMAGE_MAX);
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
