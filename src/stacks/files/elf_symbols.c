/* SPDX-License-Identifier: Apache-2.0 */
#include "stacks/files/elf_symbols.h"

#include <errno.h>
#include <gelf.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/mem.h"

/* ---- build id and segments ---- */

static void read_notes(Elf_Data *data, struct elf_facts *facts)
{
	size_t at = 0, name, desc;
	GElf_Nhdr note;

	while (data && !facts->n_build_id && (at = gelf_getnote(data, at, &note, &name, &desc)) > 0)
		if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == sizeof(ELF_NOTE_GNU) &&
		    memcmp((char *)data->d_buf + name, ELF_NOTE_GNU, sizeof(ELF_NOTE_GNU)) == 0 &&
		    note.n_descsz <= ELF_BUILD_ID_MAX) {
			facts->n_build_id = note.n_descsz;
			memcpy(facts->build_id, (char *)data->d_buf + desc, note.n_descsz);
		}
}

static int read_segments(Elf *elf, struct elf_facts *facts)
{
	size_t n, n_notes = 0, notes_left = ELF_NOTES_MAX;

	if (elf_getphdrnum(elf, &n) < 0)
		return -ENOEXEC;
	for (size_t i = 0; i < n && i < UINT16_MAX; i++) {
		GElf_Phdr p;

		if (!gelf_getphdr(elf, (int)i, &p))
			return -ENOEXEC;
		if (p.p_type == PT_NOTE && p.p_filesz <= notes_left && !facts->n_build_id &&
		    n_notes++ < ELF_NOTE_SEGMENTS_MAX) {
			notes_left -= p.p_filesz;
			read_notes(elf_getdata_rawchunk(elf, (int64_t)p.p_offset, p.p_filesz,
							p.p_align == 8 ? ELF_T_NHDR8 : ELF_T_NHDR),
				   facts);
		}
		if (p.p_type == PT_LOAD && p.p_flags & PF_X && facts->n_segments < ELF_SEGMENTS_MAX)
			facts->segments[facts->n_segments++] =
				(struct elf_segment){p.p_offset, p.p_filesz, p.p_vaddr};
	}
	return 0;
}

/* ---- functions ---- */

static Elf_Scn *find_symbol_section(Elf *elf, GElf_Shdr *ret)
{
	Elf_Scn *dynamic = NULL;

	for (Elf_Scn *s = elf_nextscn(elf, NULL); s; s = elf_nextscn(elf, s)) {
		GElf_Shdr h;

		if (!gelf_getshdr(s, &h))
			continue;
		if (h.sh_type == SHT_SYMTAB) {
			*ret = h;
			return s;
		}
		if (h.sh_type == SHT_DYNSYM && !dynamic) {
			*ret = h;
			dynamic = s;
		}
	}
	return dynamic;
}

static int elf_symbols_add_symbol(struct elf_symbols *s, size_t *caps, const GElf_Sym *sym,
				  const char *name, size_t len)
{
	struct elf_symbol *to;
	char *copy;

	if (array_reserve(&s->symbols, &caps[0], s->n_symbols + 1, sizeof(*s->symbols)) < 0 ||
	    array_reserve(&s->names, &caps[1], s->n_names + len + 1, 1) < 0)
		return -ENOMEM;
	if (s->n_names + len + 1 > UINT32_MAX)
		return -EFBIG;
	/* In the file, a name that was cut has no NUL. */
	copy = memcpy(s->names + s->n_names, name, len);
	copy[len] = '\0';
	to = &s->symbols[s->n_symbols++];
	*to = (struct elf_symbol){.address = sym->st_value,
				  .name = (uint32_t)s->n_names,
				  .rank = (uint32_t)strspn(copy, "_")};
	if (sym->st_size && __builtin_add_overflow(sym->st_value, sym->st_size, &to->end))
		to->end = UINT64_MAX;
	s->n_names += len + 1;
	return 0;
}

/*
 * Of several names of an address, one with a size comes first; then the one with fewer underscores
 * at its start; then the earlier one in the file.
 */
static int by_address(const void *a, const void *b)
{
	const struct elf_symbol *x = a, *y = b;

	if (x->address != y->address)
		return x->address < y->address ? -1 : 1;
	if (!x->end != !y->end)
		return x->end ? -1 : 1;
	if (x->rank != y->rank)
		return x->rank < y->rank ? -1 : 1;
	return x->name < y->name ? -1 : 1;
}

size_t elf_symbols_bytes(const struct elf_symbols *s)
{
	return s->n_symbols * sizeof(*s->symbols) + s->n_names;
}

/* Frees the unused capacity that array_reserve() allocated in advance. */
static void shrink(struct elf_symbols *s)
{
	void *symbols = realloc(s->symbols, MAX(s->n_symbols, 1) * sizeof(*s->symbols));
	void *names = realloc(s->names, MAX(s->n_names, 1));

	s->symbols = symbols ?: s->symbols;
	s->names = names ?: s->names;
}

static void sort_symbols(struct elf_symbols *s)
{
	size_t n = 0;

	if (s->n_symbols)
		qsort(s->symbols, s->n_symbols, sizeof(*s->symbols), by_address);
	for (size_t i = 0; i < s->n_symbols; i++)
		if (n == 0 || s->symbols[n - 1].address != s->symbols[i].address)
			s->symbols[n++] = s->symbols[i];
	s->n_symbols = n;
	for (size_t i = 0; i < n; i++)
		if (!s->symbols[i].end && i + 1 < n)
			s->symbols[i].end = s->symbols[i + 1].address;
}

/*
 * Returns the string at an offset, cut to ELF_NAME_MAX bytes; NULL: none. elf_strptr() would search
 * the whole table for a NUL at each call, if the file is made that way.
 */
static const char *string_at(const Elf_Data *strings, size_t at, size_t *ret_len)
{
	const char *s = strings->d_buf;

	if (!s || at >= strings->d_size)
		return NULL;
	*ret_len = strnlen(s + at, MIN(strings->d_size - at, (size_t)ELF_NAME_MAX));
	return *ret_len && at + *ret_len < strings->d_size ? s + at : NULL;
}

static int read_functions(Elf *elf, size_t max_bytes, struct elf_symbols *s)
{
	size_t caps[2] = {0, 0}, n, len;
	GElf_Shdr h;
	Elf_Scn *section = find_symbol_section(elf, &h);
	Elf_Scn *names = section ? elf_getscn(elf, h.sh_link) : NULL;
	Elf_Data *data = section ? elf_getdata(section, NULL) : NULL;
	Elf_Data *strings = names ? elf_getdata(names, NULL) : NULL;
	int r = 0;

	if (!data || !strings || !h.sh_entsize)
		return 0;
	n = MIN(h.sh_size / h.sh_entsize, (uint64_t)INT32_MAX);
	for (size_t i = 0; i < n && r == 0 && s->n_symbols < ELF_SYMBOLS_MAX; i++) {
		const char *name;
		GElf_Sym sym;
		unsigned type;

		if (!gelf_getsym(data, (int)i, &sym))
			break;
		type = GELF_ST_TYPE(sym.st_info);
		if ((type != STT_FUNC && type != STT_GNU_IFUNC) || sym.st_shndx == SHN_UNDEF)
			continue;
		name = string_at(strings, sym.st_name, &len);
		if (!name)
			continue;
		if (elf_symbols_bytes(s) + sizeof(*s->symbols) + len + 1 > max_bytes)
			break;
		r = elf_symbols_add_symbol(s, caps, &sym, name, len);
	}
	sort_symbols(s);
	shrink(s);
	return r;
}

/* ---- the file ---- */

static void elf_endp(Elf **elf)
{
	elf_end(*elf);
}

int elf_symbols_read(int fd, size_t max_bytes, struct elf_symbols *ret)
{
	struct elf_symbols s = {0};
	_cleanup_(elf_endp) Elf *elf = NULL;
	int r;

	if (elf_version(EV_CURRENT) == EV_NONE)
		return -ENOSYS;
	elf = elf_begin(fd, ELF_C_READ, NULL);
	if (!elf || elf_kind(elf) != ELF_K_ELF)
		return -ENOEXEC;
	r = read_segments(elf, &s.facts);
	if (r == 0)
		r = read_functions(elf, max_bytes, &s);
	if (r < 0)
		elf_symbols_deinit(&s);
	else
		*ret = s;
	return r;
}

void elf_symbols_deinit(struct elf_symbols *s)
{
	freep(&s->symbols);
	freep(&s->names);
	*s = (struct elf_symbols){0};
}

const char *elf_symbols_find_name(const struct elf_symbols *s, uint64_t address)
{
	size_t low = 0, high = s->n_symbols;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (s->symbols[middle].address <= address)
			low = middle + 1;
		else
			high = middle;
	}
	/* If the nearest function ends before the address, an outer one may contain it. */
	for (size_t i = low; i > 0 && low - i < 8; i--)
		if (address < s->symbols[i - 1].end)
			return s->names + s->symbols[i - 1].name;
	return NULL;
}
