/* SPDX-License-Identifier: Apache-2.0 */
#include "symbols/elf_sections.h"

#include <string.h>

#include "base/core/mem.h"

const char *elf_sections_string(const Elf_Data *strings, size_t at, size_t *ret_len)
{
	const char *s = strings->d_buf;

	if (!s || at >= strings->d_size)
		return NULL;
	*ret_len = strnlen(s + at, MIN(strings->d_size - at, (size_t)ELF_NAME_MAX));
	return *ret_len && at + *ret_len < strings->d_size ? s + at : NULL;
}

static void record_section(struct elf_sections *ret, Elf_Scn *s, const GElf_Shdr *h,
			   const char *name)
{
	if (h->sh_type == SHT_NOTE && !strcmp(name, ".note.stapsdt"))
		ret->usdt = s;
	if (h->sh_type != SHT_PROGBITS)
		return;
	if (!strcmp(name, ".gnu_debugdata"))
		ret->packed = s;
	if (!strcmp(name, ".gnu_debuglink"))
		ret->link = s;
	if (!strcmp(name, ".stapsdt.base"))
		ret->usdt_base = h->sh_addr;
}

void elf_sections_find(Elf *elf, struct elf_sections *ret)
{
	size_t names_at, n = 0, len;
	Elf_Scn *names = elf_getshdrstrndx(elf, &names_at) == 0 ? elf_getscn(elf, names_at) : NULL;
	Elf_Data *strings = names ? elf_getdata(names, NULL) : NULL;

	*ret = (struct elf_sections){0};
	for (Elf_Scn *s = elf_nextscn(elf, NULL); s && n++ < ELF_SECTIONS_MAX;
	     s = elf_nextscn(elf, s)) {
		const char *name;
		GElf_Shdr h;

		if (!gelf_getshdr(s, &h))
			continue;
		if (h.sh_type == SHT_SYMTAB && !ret->symtab)
			ret->symtab = s;
		if (h.sh_type == SHT_DYNSYM && !ret->dynsym)
			ret->dynsym = s;
		if ((h.sh_type != SHT_PROGBITS && h.sh_type != SHT_NOTE) || !strings)
			continue;
		name = elf_sections_string(strings, h.sh_name, &len);
		/* One that was cut has no NUL at its end. */
		if (name && len < ELF_NAME_MAX)
			record_section(ret, s, &h, name);
	}
}
