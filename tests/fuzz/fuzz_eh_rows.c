/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows of an ELF file. The first byte chooses: 'e' is followed by an ELF file; 'x' (x86-64) and 'a' (arm64) by the
 * bytes of its .eh_frame, 'd' (x86-64) by those of its .debug_frame. Rows are sorted, neighbours differ, and all
 * numbers of rules exist.
 */
#include <assert.h>
#include <elf.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "stacks/files/eh_rows.h"

#define TEXT_SIZE 0x100000u
#define FRAMES 0x2000u /* address of the section */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void write_file(int fd, const void *data, size_t size)
{
	assert(write(fd, data, size) == (ssize_t)size);
}

/* An ELF file with one executable segment, of a page of zeros, and the section. */
static void write_elf(int fd, char kind, const uint8_t *data, size_t size)
{
	static const char names[] = "\0.eh_frame\0.debug_frame";
	struct {
		Elf64_Ehdr h;
		Elf64_Phdr p;
		Elf64_Shdr s[3];
		char names[sizeof(names)];
	} f = {
		.h = {.e_ident = "\177ELF\2\1\1",
		      .e_type = ET_DYN,
		      .e_machine = kind == 'a' ? EM_AARCH64 : EM_X86_64,
		      .e_version = EV_CURRENT,
		      .e_phoff = sizeof(f.h),
		      .e_shoff = sizeof(f.h) + sizeof(f.p),
		      .e_ehsize = sizeof(f.h),
		      .e_phentsize = sizeof(f.p),
		      .e_phnum = 1,
		      .e_shentsize = sizeof(f.s[0]),
		      .e_shnum = 3,
		      .e_shstrndx = 2},
		.p = {.p_type = PT_LOAD,
		      .p_flags = PF_R | PF_X,
		      .p_filesz = TEXT_SIZE,
		      .p_memsz = TEXT_SIZE},
		.s[1] = {.sh_name = kind == 'd' ? 11 : 1,
			 .sh_type = SHT_PROGBITS,
			 .sh_addr = kind == 'd' ? 0 : FRAMES,
			 .sh_offset = sizeof(f),
			 .sh_size = size},
		.s[2] = {.sh_type = SHT_STRTAB,
			 .sh_offset = offsetof(typeof(f), names),
			 .sh_size = sizeof(names)},
	};

	memcpy(f.names, names, sizeof(names));
	write_file(fd, &f, sizeof(f));
	write_file(fd, data, size);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct eh_rows r = {0};
	int fd;

	if (size == 0)
		return 0;
	fd = memfd_create("elf", MFD_CLOEXEC);
	assert(fd >= 0);
	if (data[0] == 'e')
		write_file(fd, data + 1, size - 1);
	else
		write_elf(fd, (char)data[0], data + 1, size - 1);
	if (eh_rows_read(fd, EH_ROWS_MAX, &r) == 0) {
		assert(r.n_rows <= EH_ROWS_MAX && r.n_rules <= EH_RULES_MAX);
		for (size_t i = 0; i < r.n_rows; i++) {
			assert(r.rows[i].rule != (i ? r.rows[i - 1].rule : UNWIND_NO_RULE) ||
			       (i && r.rows[i - 1].next));
			assert(r.rows[i].next
				       ? r.rows[i].rule >= UNWIND_RULES_FIRST && r.rows[i].step
				       : r.rows[i].step == 0);
			assert(i + 1 == r.n_rows ||
			       r.rows[i].address + r.rows[i].next < r.rows[i + 1].address);
			assert(r.rows[i].rule < UNWIND_RULES_FIRST + r.n_rules);
			assert(i == 0 || r.rows[i - 1].address < r.rows[i].address);
		}
		for (size_t i = 0; i < r.n_rules; i++) {
			assert(r.rules[i].base <= UNWIND_BASE_PLT);
			assert(r.rules[i].fp <= UNWIND_UNKNOWN && r.rules[i].ra <= UNWIND_AT_CFA);
		}
		eh_rows_deinit(&r);
	}
	close(fd);
	return 0;
}
