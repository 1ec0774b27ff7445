/* SPDX-License-Identifier: Apache-2.0 */
/* The ELF file of this test, cut and spoiled copies of it, and what is no ELF file. */
#include <elf.h>
#include <link.h>
#include <sys/mman.h>

#include "symbols/elf_symbols.h"
#include "unit/test.h"

__attribute__((noinline, used)) static int function_with_a_name(int x)
{
	return x + 1;
}

__attribute__((used)) static long variable_with_a_name[4] = {1};

static char *own_bytes(size_t *ret_len)
{
	int fd = open("/proc/self/exe", O_RDONLY);
	struct stat st;
	char *bytes;

	assert_true(fd >= 0 && fstat(fd, &st) == 0);
	bytes = malloc((size_t)st.st_size);
	assert_int_equal(read(fd, bytes, (size_t)st.st_size), st.st_size);
	close(fd);
	*ret_len = (size_t)st.st_size;
	return bytes;
}

static int file_of(const void *bytes, size_t len)
{
	int fd = memfd_create("elf", MFD_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, bytes, len), len);
	return fd;
}

static int load_address(struct dl_phdr_info *info, size_t size, void *ctx)
{
	*(uint64_t *)ctx = info->dlpi_addr;
	return 1; /* the program is the first one */
}

TEST(names_of_functions_are_found_by_address)
{
	_cleanup_(closep) int fd = open("/proc/self/exe", O_RDONLY);
	struct elf_symbols s = {0};
	uint64_t base = 0, at;

	dl_iterate_phdr(load_address, &base);
	at = (uint64_t)(uintptr_t)function_with_a_name - base;
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
	uint64_t base = 0, at;
	bool is_in_segment = false;

	dl_iterate_phdr(load_address, &base);
	at = (uint64_t)(uintptr_t)variable_with_a_name - base;
	assert_int_equal(elf_symbols_read(fd, SIZE_MAX, &s), 0);
	found = elf_symbols_find(&s, at + 24);
	assert_non_null(found);
	assert_string_equal(s.names + found->name, "variable_with_a_name");
	assert_true(found->is_variable && found->address == at);
	assert_false(elf_symbols_find(&s, (uint64_t)(uintptr_t)function_with_a_name - base)
			     ->is_variable);
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

/* A string table without a NUL, which ends with the file. */
TEST(a_name_that_was_cut_is_not_read_beyond_its_end)
{
	struct {
		Elf64_Ehdr head;
		Elf64_Shdr sections[3];
		Elf64_Sym symbol;
		char names[2 * ELF_NAME_MAX];
	} f = {.head = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
			.e_type = ET_DYN,
			.e_machine = EM_X86_64,
			.e_version = EV_CURRENT,
			.e_shoff = sizeof(Elf64_Ehdr),
			.e_ehsize = sizeof(Elf64_Ehdr),
			.e_shentsize = sizeof(Elf64_Shdr),
			.e_shnum = 3},
	       .symbol = {.st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
			  .st_shndx = 1,
			  .st_value = 4096,
			  .st_size = 16}};
	struct elf_symbols s = {0};
	int fd;

	f.sections[1] = (Elf64_Shdr){.sh_type = SHT_SYMTAB,
				     .sh_offset = (size_t)((char *)&f.symbol - (char *)&f),
				     .sh_size = sizeof(f.symbol),
				     .sh_link = 2,
				     .sh_entsize = sizeof(f.symbol)};
	f.sections[2] = (Elf64_Shdr){.sh_type = SHT_STRTAB,
				     .sh_offset = (size_t)(f.names - (char *)&f),
				     .sh_size = sizeof(f.names)};
	memset(f.names, '_', sizeof(f.names));
	fd = file_of(&f, sizeof(f));
	assert_int_equal(elf_symbols_read(fd, SIZE_MAX, &s), 0);
	assert_int_equal(s.n_symbols, 1);
	assert_int_equal(strlen(elf_symbols_find_name(&s, 4096)), ELF_NAME_MAX);
	assert_int_equal(s.symbols[0].rank, ELF_NAME_MAX);
	elf_symbols_deinit(&s);
	close(fd);
}

/* A file whose segment of notes number n has a build id. The others have no note that libelf
 * finds. */
static int file_with_notes(unsigned n, size_t bytes_before)
{
	struct {
		Elf64_Ehdr head;
		Elf64_Phdr segments[40];
		Elf64_Nhdr note;
		char name[4];
		uint8_t id[8];
		uint8_t others[ELF_NOTES_MAX + 16];
	} f = {.head = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
			.e_type = ET_DYN,
			.e_machine = EM_X86_64,
			.e_version = EV_CURRENT,
			.e_phoff = sizeof(Elf64_Ehdr),
			.e_ehsize = sizeof(Elf64_Ehdr),
			.e_phentsize = sizeof(Elf64_Phdr)},
	       .note = {4, 8, NT_GNU_BUILD_ID},
	       .name = "GNU",
	       .id = {1, 2, 3, 4, 5, 6, 7, 8}};

	f.head.e_phnum = (Elf64_Half)n + 1;
	for (unsigned i = 0; i <= n; i++)
		f.segments[i] = (Elf64_Phdr){
			.p_type = PT_NOTE,
			.p_offset =
				(size_t)((i < n ? f.others : (uint8_t *)&f.note) - (uint8_t *)&f),
			.p_filesz = i < n ? bytes_before / n
					  : sizeof(f.note) + sizeof(f.name) + sizeof(f.id),
			.p_align = 4};
	return file_of(&f, sizeof(f));
}

static uint32_t build_id_bytes(unsigned n, size_t bytes_before)
{
	_cleanup_(closep) int fd = file_with_notes(n, bytes_before);
	struct elf_symbols s = {0};
	uint32_t bytes;

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
