/* SPDX-License-Identifier: Apache-2.0 */
#include "symbols/elf_symbols.h"

#include <errno.h>
#include <gelf.h>
#include <lzma.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/core/mem.h"
#include "symbols/elf_sections.h"

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

/* Reads the segments, the notes and the machine of a file. Returns 0 or -ENOEXEC. */
static int read_segments(Elf *elf, struct elf_facts *facts)
{
	size_t n, n_notes = 0, notes_left = ELF_NOTES_MAX;
	GElf_Ehdr head;

	if (elf_getphdrnum(elf, &n) < 0 || !gelf_getehdr(elf, &head))
		return -ENOEXEC;
	facts->machine = head.e_machine;
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
		if (p.p_type == PT_LOAD && p.p_flags & PF_W && facts->n_data < ELF_SEGMENTS_MAX)
			facts->data[facts->n_data++] =
				(struct elf_segment){p.p_offset, p.p_memsz, p.p_vaddr};
	}
	return 0;
}

/* ---- sections ---- */

/* Reads .gnu_debuglink, unless it is malformed: the name of the debug file, a NUL, padding to 4
 * bytes, and the CRC of the debug file in the byte order of this ELF file. */
static void read_debug_link(Elf *elf, Elf_Scn *section, struct elf_facts *facts)
{
	Elf_Data *data = section ? elf_getdata(section, NULL) : NULL;
	size_t len = data && data->d_buf ? strnlen(data->d_buf, data->d_size) : 0,
	       at = len / 4 * 4 + 4;
	Elf_Data crc, from = {.d_type = ELF_T_WORD, .d_size = 4, .d_version = EV_CURRENT};
	const char *ident = elf_getident(elf, NULL);

	if (len == 0 || len >= ELF_DEBUG_LINK_MAX || at + 4 > data->d_size ||
	    memchr(data->d_buf, '/', len) || !ident)
		return;
	from.d_buf = (char *)data->d_buf + at;
	crc = from;
	crc.d_buf = &facts->debug_link_crc;
	if (gelf_xlatetom(elf, &crc, &from, (unsigned char)ident[EI_DATA]))
		memcpy(facts->debug_link, data->d_buf, len);
}

/* ---- functions and variables ---- */

#define LOCAL_RANK (ELF_NAME_MAX + 1)

/* Adds a symbol. caps: those of symbols and names. Returns 0, -ENOMEM or -EFBIG. */
static int elf_symbols_add_symbol(struct elf_symbols *s, size_t *caps, const GElf_Sym *sym,
				  const char *name, size_t len)
{
	bool is_local = GELF_ST_BIND(sym->st_info) == STB_LOCAL;
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
	*to = (struct elf_symbol){
		.address = sym->st_value,
		.name = (uint32_t)s->n_names,
		.rank = (uint16_t)(strspn(copy, "_") + (is_local ? LOCAL_RANK : 0)),
		.is_variable = GELF_ST_TYPE(sym->st_info) == STT_OBJECT,
		.is_chosen_at_load = GELF_ST_TYPE(sym->st_info) == STT_GNU_IFUNC};
	if (sym->st_size && __builtin_add_overflow(sym->st_value, sym->st_size, &to->end))
		to->end = UINT64_MAX;
	s->n_names += len + 1;
	return 0;
}

/* Of several names of an address, one with a size comes first; then one that other files can refer
 * to; then the one with fewer underscores at its start; then the earlier one in the file. */
static int compare_symbol_addresses(const void *a, const void *b)
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
static void free_spare_capacity(struct elf_symbols *s)
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
		qsort(s->symbols, s->n_symbols, sizeof(*s->symbols), compare_symbol_addresses);
	for (size_t i = 0; i < s->n_symbols; i++)
		if (n == 0 || s->keeps_aliases ||
		    s->symbols[n - 1].address != s->symbols[i].address)
			s->symbols[n++] = s->symbols[i];
	s->n_symbols = n;
	for (size_t i = 0; i < n; i++)
		if (!s->symbols[i].end && i + 1 < n)
			s->symbols[i].end = s->symbols[i + 1].address;
}

/* In .symtab a name may have the version that it has in .dynsym: open@@GLIBC_2.2.5. */
static size_t name_len_without_version(const char *name, size_t len)
{
	const char *at = memchr(name, '@', len);

	return at && at > name ? (size_t)(at - name) : len;
}

/* Adds the functions and variables of a section of symbols, up to the limits. Returns 0 or
 * -errno. */
static int read_symbols(Elf *elf, Elf_Scn *section, size_t max_bytes, struct elf_symbols *s,
			size_t *caps)
{
	GElf_Shdr h;
	bool ok = section && gelf_getshdr(section, &h) && h.sh_entsize;
	Elf_Scn *names = ok ? elf_getscn(elf, h.sh_link) : NULL;
	Elf_Data *data = ok ? elf_getdata(section, NULL) : NULL;
	Elf_Data *strings = names ? elf_getdata(names, NULL) : NULL;
	size_t n, len;
	int r = 0;

	if (!data || !strings)
		return 0;
	n = MIN(h.sh_size / h.sh_entsize, (uint64_t)INT32_MAX);
	for (size_t i = 0; i < n && r == 0 && s->n_symbols < ELF_SYMBOLS_MAX; i++) {
		const char *name;
		GElf_Sym sym;
		unsigned type;

		if (!gelf_getsym(data, (int)i, &sym))
			break;
		type = GELF_ST_TYPE(sym.st_info);
		if ((type != STT_FUNC && type != STT_GNU_IFUNC && type != STT_OBJECT) ||
		    sym.st_shndx == SHN_UNDEF)
			continue;
		name = elf_sections_string(strings, sym.st_name, &len);
		len = name ? name_len_without_version(name, len) : 0;
		if (!len)
			continue;
		if (elf_symbols_bytes(s) + sizeof(*s->symbols) + len + 1 > max_bytes)
			break;
		r = elf_symbols_add_symbol(s, caps, &sym, name, len);
	}
	return r;
}

/* ---- the compressed symbol table ---- */

static void elf_endp(Elf **elf)
{
	elf_end(*elf);
}

/* Unpacks .gnu_debugdata (xz). Returns 0 and the bytes, which the caller frees; or -errno. */
static int elf_symbols_unpack(const Elf_Data *packed, char **ret, size_t *ret_len)
{
	lzma_stream z = LZMA_STREAM_INIT;
	_cleanup_(freep) char *bytes = NULL;
	size_t cap = 0, len = 0;
	lzma_ret r = lzma_stream_decoder(&z, ELF_UNPACK_MEMORY, 0);

	z.next_in = packed->d_buf;
	z.avail_in = packed->d_size;
	while (r == LZMA_OK && len < ELF_UNPACKED_MAX) {
		if (array_reserve(&bytes, &cap, len + 1, 1) < 0)
			break;
		z.next_out = (uint8_t *)bytes + len;
		z.avail_out = cap - len;
		r = lzma_code(&z, LZMA_FINISH);
		len = cap - z.avail_out;
	}
	lzma_end(&z);
	if (r != LZMA_STREAM_END)
		return r == LZMA_OK || r == LZMA_MEMLIMIT_ERROR ? -EFBIG : -EBADMSG;
	*ret = TAKE_PTR(bytes);
	*ret_len = len;
	return 0;
}

/* Adds the functions of the ELF file that the section contains. What cannot be read is ignored. */
static int read_packed_symbols(Elf_Scn *section, size_t max_bytes, struct elf_symbols *s,
			       size_t *caps)
{
	Elf_Data *data = section ? elf_getdata(section, NULL) : NULL;
	_cleanup_(freep) char *bytes = NULL;
	_cleanup_(elf_endp) Elf *elf = NULL;
	struct elf_sections parts;
	size_t len;

	if (!data || !data->d_buf || elf_symbols_unpack(data, &bytes, &len) < 0)
		return 0;
	elf = elf_memory(bytes, len);
	if (!elf || elf_kind(elf) != ELF_K_ELF)
		return 0;
	elf_sections_find(elf, &parts);
	return read_symbols(elf, parts.symtab, max_bytes, s, caps);
}

/* ---- the file ---- */

static int open_elf_file(int fd, Elf **ret)
{
	if (elf_version(EV_CURRENT) == EV_NONE)
		return -ENOSYS;
	*ret = elf_begin(fd, ELF_C_READ, NULL);
	return *ret && elf_kind(*ret) == ELF_K_ELF ? 0 : -ENOEXEC;
}

static int elf_symbols_read_file(int fd, size_t max_bytes, bool keeps_aliases,
				 struct elf_symbols *ret)
{
	struct elf_symbols s = {.keeps_aliases = keeps_aliases};
	_cleanup_(elf_endp) Elf *elf = NULL;
	struct elf_sections parts;
	size_t caps[2] = {0, 0};
	int r = open_elf_file(fd, &elf);

	if (r == 0)
		r = read_segments(elf, &s.facts);
	if (r < 0)
		return r;
	elf_sections_find(elf, &parts);
	s.facts.is_stripped = !parts.symtab;
	read_debug_link(elf, parts.link, &s.facts);
	r = read_symbols(elf, parts.symtab ?: parts.dynsym, max_bytes, &s, caps);
	if (r == 0 && !parts.symtab)
		r = read_packed_symbols(parts.packed, max_bytes, &s, caps);
	if (r < 0) {
		elf_symbols_deinit(&s);
		return r;
	}
	sort_symbols(&s);
	free_spare_capacity(&s);
	*ret = s;
	return 0;
}

int elf_symbols_read(int fd, size_t max_bytes, struct elf_symbols *ret)
{
	return elf_symbols_read_file(fd, max_bytes, false, ret);
}

int elf_symbols_read_aliases(int fd, size_t max_bytes, struct elf_symbols *ret)
{
	return elf_symbols_read_file(fd, max_bytes, true, ret);
}

/* ---- the separate debug file ---- */

static bool has_crc(int fd, uint32_t crc)
{
	static uint8_t buf[64 << 10];
	uint64_t at = 0;
	uint32_t sum = 0;
	ssize_t n;

	while (at < ELF_DEBUG_FILE_MAX && (n = pread(fd, buf, sizeof(buf), (off_t)at)) > 0) {
		sum = lzma_crc32(buf, (size_t)n, sum);
		at += (uint64_t)n;
	}
	return at > 0 && at < ELF_DEBUG_FILE_MAX && sum == crc;
}

/* Reads the build id from sections of notes: objcopy leaves program headers in a debug file that do
 * not fit. */
static void read_note_sections(Elf *elf, struct elf_facts *facts)
{
	size_t n = 0, notes_left = ELF_NOTES_MAX;

	for (Elf_Scn *s = elf_nextscn(elf, NULL); s && n++ < ELF_SECTIONS_MAX && !facts->n_build_id;
	     s = elf_nextscn(elf, s)) {
		GElf_Shdr h;

		if (!gelf_getshdr(s, &h) || h.sh_type != SHT_NOTE || h.sh_size > notes_left)
			continue;
		notes_left -= h.sh_size;
		read_notes(elf_getdata(s, NULL), facts);
	}
}

static bool is_debug_file_of(const struct elf_facts *of, const struct elf_facts *facts, int fd)
{
	if (of->n_build_id)
		return facts->n_build_id == of->n_build_id &&
		       memcmp(facts->build_id, of->build_id, of->n_build_id) == 0;
	return of->debug_link[0] && has_crc(fd, of->debug_link_crc);
}

int elf_symbols_replace_by_debug_file(struct elf_symbols *s, int fd, size_t max_bytes)
{
	struct elf_symbols read = {.keeps_aliases = s->keeps_aliases};
	_cleanup_(elf_endp) Elf *elf = NULL;
	struct elf_sections parts;
	size_t caps[2] = {0, 0};
	int r = open_elf_file(fd, &elf);

	if (r == 0)
		read_note_sections(elf, &read.facts);
	if (r == 0 && !is_debug_file_of(&s->facts, &read.facts, fd))
		r = -ESTALE;
	if (r < 0)
		return r;
	elf_sections_find(elf, &parts);
	r = read_symbols(elf, parts.symtab, max_bytes, &read, caps);
	if (r == 0 && read.n_symbols == 0)
		r = -ENODATA;
	if (r < 0) {
		elf_symbols_deinit(&read);
		return r;
	}
	sort_symbols(&read);
	free_spare_capacity(&read);
	read.facts = s->facts;
	elf_symbols_deinit(s);
	*s = read;
	return 0;
}

void elf_symbols_deinit(struct elf_symbols *s)
{
	freep(&s->symbols);
	freep(&s->names);
	*s = (struct elf_symbols){0};
}

const struct elf_symbol *elf_symbols_find(const struct elf_symbols *s, uint64_t address)
{
	size_t low = 0, high = s->n_symbols;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (s->symbols[middle].address <= address)
			low = middle + 1;
		else
			high = middle;
	}
	/* If the nearest one ends before the address, an outer one may contain it. */
	for (size_t i = low; i > 0 && low - i < 8; i--)
		if (address < s->symbols[i - 1].end)
			return &s->symbols[i - 1];
	return NULL;
}

const char *elf_symbols_find_name(const struct elf_symbols *s, uint64_t address)
{
	const struct elf_symbol *found = elf_symbols_find(s, address);

	return found ? s->names + found->name : NULL;
}
