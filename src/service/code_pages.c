/* SPDX-License-Identifier: Apache-2.0 */
#include "service/code_pages.h"

#include <link.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

/* Drops the pages of the read-only segments of one program or library. They equal the file. */
static int release_object(struct dl_phdr_info *object, size_t size, void *ctx)
{
	uintptr_t page = *(const uintptr_t *)ctx;

	(void)size;
	for (unsigned i = 0; i < object->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &object->dlpi_phdr[i];
		uintptr_t begin = (object->dlpi_addr + p->p_vaddr) & ~(page - 1);
		uintptr_t end = object->dlpi_addr + p->p_vaddr + p->p_memsz;

		if (p->p_type == PT_LOAD && !(p->p_flags & PF_W))
			(void)madvise((void *)begin, end - begin, MADV_DONTNEED);
	}
	return 0;
}

void code_pages_release(void)
{
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);

	dl_iterate_phdr(release_object, &page);
}
