/* SPDX-License-Identifier: Apache-2.0 */
/* The ELF file of this test, cut and spoiled copies of it, and what is no ELF file. */
#include "symbols/elf_symbols.h"
#include "unit/symbols/elf_image.h"
#include "unit/symbols/own_file.h"

__attribute__((noinline, used)) static int function_with_a_name(int x)
{
	return x + 1;
}

__attribute__((used)) static long variable_with_a_name[4] = {1};

static __attribute__((used, noinline)) int local_name(void)
{
	return 1;
}

__attribute__((alias("local_name"))) int __global_name(void);

/* As in libc, whose internal aliases such as __libc_start_main_alias_2 no user knows. */
TEST(a_name_that_other_files_can_use_comes_before_a_local_one)
{
	_cleanup_(closep) int fd = open("/proc/self/exe", O_RDONLY);
	struct elf_symbols s = {0};

	assert_int_equal(elf_symbols_read(fd, SIZE_MAX, &s), 0);
	assert_string_equal(elf_symbols_find_name(&s, own_address(__global_name)), "__global_name");
	elf_symbols_deinit(&s);
}

TEST(names_of_functions_are_found_by_address)
{
	_cleanup_(closep) int fd = open("/proc/self/exe", O_RDONLY);
	struct elf_symbols s = {0};
	uint64_t at = own_address(function_with_a_name);

	assert_int_equal(elf_symbols_read(fd, SIZE_MAX, &s), 0);
	assert_string_equal(elf_symbols_find_name(&s, at), "function_with_a_name");
	assert_string_equal(elf_symbols_find_name(&s, at + 1), "function_with_a_name");
	assert_null(elf_symbols_find_name(&s, 0));
	assert_null(elf_symbols_find_name(&s, UINT64_MAX));
	assert_true(s.facts.n_segments >= 1);
	elf_symbols_deinit(&s);
}

TEST(names_of_variables_are_found_by_address)
{
	_cleanup_(closep) int fd = open("/proc/self/exe", O_RDONLY);
	const struct elf_symbol *found;
	struct elf_symbols s = {0};
	uint64_t at = own_address(variable_with_a_name);
	bool is_in_segment = false;

	assert_int_equal(elf_symbols_read(fd, SIZE_MAX, &s), 0);
	found = elf_symbols_find(&s, at + 24);
	assert_non_null(found);
	assert_string_equal(s.names + found->name, "variable_with_a_name");
	assert_true(found->is_variable && found->address == at);
	assert_false(elf_symbols_find(&s, own_address(function_with_a_name))->is_variable);
	for (uint32_t i = 0; i < s.facts.n_data; i++)
		is_in_segment |= at >= s.facts.data[i].address &&
				 at - s.facts.data[i].address < s.facts.data[i].size;
	assert_true(is_in_segment);
	elf_symbols_deinit(&s);
}

TEST(the_build_id_is_that_of_the_linker)
{
	_cleanup_(closep) int fd = open("/proc/self/exe", O_RDONLY);
	struct elf_symbols s = {0};
	char text[2 * ELF_BUILD_ID_MAX + 1] = "", command[256], line[256];
	FILE *f;

	assert_int_equal(elf_symbols_read(fd, SIZE_MAX, &s), 0);
	for (uint32_t i = 0; i < s.facts.n_build_id; i++)
		sprintf(text + 2 * i, "%02x", s.facts.build_id[i]);
	snprintf(command, sizeof(command),
		 "readelf -n /proc/%d/exe 2>/dev/null | awk '/Build ID/ { print $3 }'",
		 (int)getpid());
	f = popen(command, "r");
	if (f && fgets(line, sizeof(line), f)) {
		line[strcspn(line, "\n")] = '\0';
		assert_string_equal(text, line);
	}
	if (f)
		pclose(f);
	elf_symbols_deinit(&s);
}

TEST(what_is_no_elf_file_is_refused)
{
	static const char script[] = "#!/bin/sh\nexit 0\n";
	struct elf_symbols s = {0};
	int fd = file_of(script, sizeof(script));

	assert_int_equal(elf_symbols_read(fd, SIZE_MAX, &s), -ENOEXEC);
	close(fd);
	fd = file_of("", 0);
	assert_int_equal(elf_symbols_read(fd, SIZE_MAX, &s), -ENOEXEC);
	close(fd);
}

/* Any result is right, but no read beyond the file: built with a sanitizer this says more. */
TEST(a_file_that_was_cut_does_no_harm)
{
	size_t len;
	_cleanup_(freep) char *bytes = own_bytes(&len);

	for (size_t n = 16; n < len; n += len / 37) {
		struct elf_symbols s = {0};
		int fd = file_of(bytes, n);

		if (elf_symbols_read(fd, SIZE_MAX, &s) == 0)
			(void)elf_symbols_find_name(&s, 4096);
		elf_symbols_deinit(&s);
		close(fd);
	}
}

TEST(a_file_with_spoiled_headers_does_no_harm)
{
	size_t len;
	_cleanup_(freep) char *bytes = own_bytes(&len);

	for (size_t at = 16; at < sizeof(Elf64_Ehdr) + 4 * sizeof(Elf64_Phdr); at++) {
		struct elf_symbols s = {0};
		char old = bytes[at];
		int fd;

		bytes[at] = (char)~old;
		fd = file_of(bytes, len);
		if (elf_symbols_read(fd, SIZE_MAX, &s) == 0)
			(void)elf_symbols_find_name(&s, 4096);
		elf_symbols_deinit(&s);
		close(fd);
		bytes[at] = old;
	}
}

TEST(symbols_have_a_limit)
{
	_cleanup_(closep) int fd = open("/proc/self/exe", O_RDONLY);
	struct elf_symbols s = {0};

	assert_int_equal(elf_symbols_read(fd, 1000, &s), 0);
	assert_in_range(elf_symbols_bytes(&s), 1, 1000);
	assert_true(s.n_symbols > 1);
	elf_symbols_deinit(&s);
	assert_int_equal(elf_symbols_read(fd, 0, &s), 0);
	assert_int_equal(s.n_symbols, 0);
	elf_symbols_deinit(&s);
}

/* The string table has no NUL. */
TEST(a_name_that_was_cut_is_not_read_beyond_its_end)
{
	static const char names[2 * ELF_NAME_MAX];
	_cleanup_(freep) struct image *f = image_new(IMAGE_MAX);
	_cleanup_(closep) int fd = -1;
	struct elf_symbols s = {0};

	image_add_function(f, SHT_SYMTAB, "f", 4096)->sh_link = 3;
	image_add(f, ".names", SHT_STRTAB, names, sizeof(names));
	image_end(f);
	memset(f->bytes + f->sections[3].sh_offset, '_', sizeof(names));
	fd = image_file(f);
	assert_int_equal(elf_symbols_read(fd, SIZE_MAX, &s), 0);
	assert_int_equal(s.n_symbols, 1);
	assert_int_equal(strlen(elf_symbols_find_name(&s, 4096)), ELF_NAME_MAX);
	assert_int_equal(s.symbols[0].rank, ELF_NAME_MAX);
	elf_symbols_deinit(&s);
}

/* Bytes of the build id of a file which has it in its last segment of notes, behind n segments of
 * that many bytes together, without notes that libelf finds. */
static uint32_t build_id_bytes(unsigned n, size_t bytes_before)
{
	static const uint8_t others[ELF_NOTES_MAX + 16];
	_cleanup_(freep) struct image *f = image_new(IMAGE_MAX);
	size_t at = image_append(f, others, sizeof(others));
	const Elf64_Shdr *id = image_add_build_id(f, 7);
	_cleanup_(closep) int fd = -1;
	struct elf_symbols s = {0};
	uint32_t bytes;

	for (unsigned i = 0; i <= n; i++) {
		Elf64_Phdr *p = image_add_segment(f, PT_NOTE, PF_R, 0);

		p->p_offset = i < n ? at : id->sh_offset;
		p->p_filesz = i < n ? bytes_before / n : id->sh_size;
	}
	image_end(f);
	fd = image_file(f);
	assert_int_equal(elf_symbols_read(fd, SIZE_MAX, &s), 0);
	bytes = s.facts.n_build_id;
	elf_symbols_deinit(&s);
	return bytes;
}

TEST(notes_have_a_limit)
{
	assert_int_equal(build_id_bytes(0, 0), 8);
	assert_int_equal(build_id_bytes(ELF_NOTE_SEGMENTS_MAX - 1, 600), 8);
	assert_int_equal(build_id_bytes(ELF_NOTE_SEGMENTS_MAX, 640), 0);
	assert_int_equal(build_id_bytes(2, ELF_NOTES_MAX - 24), 8);
	assert_int_equal(build_id_bytes(2, ELF_NOTES_MAX - 16), 0);
}

/* A section of symbols whose header or only symbol says something else than the file has. */
TEST(sections_of_symbols_that_lie)
{
	static const struct {
		size_t at, size; /* in the section's header */
		uint64_t value;
		const char *name; /* of the function; NULL: none is found */
	} cases[] = {
#define HEADER(field) offsetof(Elf64_Shdr, field), sizeof(((Elf64_Shdr *)0)->field)
		{HEADER(sh_entsize), 1, "f"},		{HEADER(sh_entsize), 0, NULL},
		{HEADER(sh_entsize), UINT64_MAX, NULL}, {HEADER(sh_link), 0, NULL},
		{HEADER(sh_link), 60000, NULL},		{HEADER(sh_size), UINT64_MAX, NULL},
		{HEADER(sh_size), 1 << 30, NULL},	{HEADER(sh_offset), UINT64_MAX - 8, NULL},
		{HEADER(sh_type), SHT_NOBITS, NULL},	{HEADER(sh_flags), SHF_ALLOC, "f"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_(freep) struct image *f = image_new(IMAGE_MAX);
		Elf64_Shdr *h = image_add_function(f, SHT_SYMTAB, "f", 4096);
		_cleanup_(closep) int fd = -1;
		struct elf_symbols s = {0};
		const char *name;

		memcpy((char *)h + cases[i].at, &cases[i].value, cases[i].size);
		image_end(f);
		fd = image_file(f);
		assert_int_equal(elf_symbols_read(fd, SIZE_MAX, &s), 0);
		name = elf_symbols_find_name(&s, 4096);
		if (!name != !cases[i].name)
			fail_msg("case %zu: %s", i, name ?: "no name");
		elf_symbols_deinit(&s);
	}
}

/* Its end would be beyond the last address. */
TEST(a_function_of_any_size_ends_at_the_last_address)
{
	_cleanup_(freep) struct image *f = image_new(IMAGE_MAX);
	Elf64_Shdr *h = image_add_function(f, SHT_SYMTAB, "f", 4096);
	Elf64_Sym *symbol = (Elf64_Sym *)(f->bytes + h->sh_offset) + 1;
	_cleanup_(closep) int fd = -1;
	struct elf_symbols s = {0};

	symbol->st_size = UINT64_MAX;
	image_end(f);
	fd = image_file(f);
	assert_int_equal(elf_symbols_read(fd, SIZE_MAX, &s), 0);
	assert_string_equal(elf_symbols_find_name(&s, UINT64_MAX - 1), "f");
	assert_null(elf_symbols_find_name(&s, 4095));
	elf_symbols_deinit(&s);
}
