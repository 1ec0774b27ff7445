/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The way from the section to the rows:
 *
 *	read_section_by_name   the bytes of .eh_frame or .debug_frame
 *	read_entries           a list of functions: addresses and instructions (cfi_entry.h)
 *	write_rows             sorts it, executes the instructions (cfi_program.h), translates the
 *	                       results (cfi_rule.h), merges equal neighbours, then pairs that differ
 *	                       by a push or pop (struct unwind_row)
 *
 * libdw is not used: dwarf_cfi_addrframe() executes all instructions of a function for each row,
 * loads all debug sections for .debug_frame, and after DW_CFA_restore_state its range begins with
 * another row.
 */
#include "stacks/files/eh_rows.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include <gelf.h>

#include "base/core/mem.h"
#include "base/core/open_table.h"
#include "base/core/siphash.h"
#include "stacks/files/cfi_entry.h"
#include "stacks/files/cfi_rule.h"

#define SECTION_NAMES_MAX (1u << 20) /* bytes of .shstrtab */
#define SEGMENTS_MAX 16 /* executable ones; the functions of further ones are ignored */
#define RULE_SLOTS_FIRST 64

struct eh_segment {
	uint64_t begin, end; /* addresses of its code */
};

struct eh_cie {
	uint64_t offset; /* in the section */
	struct cfi_cie_entry entry;
};

struct eh_function {
	uint32_t begin, end; /* from the base */
	uint32_t at, size; /* instructions, in the section */
	uint32_t cie;
};

struct eh_reader {
	Elf *elf; /* owned */
	struct cfi_machine machine;
	struct eh_segment segments[SEGMENTS_MAX];
	size_t n_segments;
	struct cfi_section section; /* bytes are owned by elf; p is NULL: there is none */
	struct eh_cie *cies; /* owned; sorted by offset */
	size_t n_cies, cap_cies;
	struct eh_function *functions; /* owned */
	size_t n_functions, cap_functions;
	uint16_t *rule_slots; /* owned: numbers of rules; 0 is free */
	size_t n_rule_slots;
	struct siphash_key rule_key; /* random: the file cannot choose rules that share a slot */
	size_t cap_rows, cap_rules;
	size_t max_rows, n_steps;
	uint64_t entry; /* where a process begins */
	struct eh_rows result; /* owned */
};

static bool cfi_machine_of(const GElf_Ehdr *h, struct cfi_machine *ret)
{
	static const struct cfi_machine x86_64 = {.sp = 7, .fp = 6, .ra = 16},
					arm64 = {.is_arm64 = true, .sp = 31, .fp = 29, .ra = 30};

	*ret = h->e_machine == EM_X86_64 ? x86_64 : arm64;
	return h->e_ident[EI_CLASS] == ELFCLASS64 && h->e_ident[EI_DATA] == ELFDATA2LSB &&
	       (h->e_machine == EM_X86_64 || h->e_machine == EM_AARCH64);
}

/* Collects the executable segments. The ELF header and the program headers are not code, though
 * some linkers map them with it: functions of discarded sections have addresses there. */
static int read_segments(struct eh_reader *e)
{
	GElf_Ehdr h;
	size_t n, headers;

	if (!gelf_getehdr(e->elf, &h) || !cfi_machine_of(&h, &e->machine) ||
	    elf_getphdrnum(e->elf, &n) < 0)
		return -ENOEXEC;
	e->entry = h.e_entry;
	headers = h.e_phoff + n * h.e_phentsize;
	e->result.base = UINT64_MAX;
	for (size_t i = 0; i < n && i < UINT16_MAX && e->n_segments < SEGMENTS_MAX; i++) {
		GElf_Phdr p;
		struct eh_segment s;

		if (!gelf_getphdr(e->elf, (int)i, &p))
			return -ENOEXEC;
		if (p.p_type != PT_LOAD || !(p.p_flags & PF_X))
			continue;
		s.begin = p.p_vaddr + (p.p_offset < headers ? headers - p.p_offset : 0);
		if (__builtin_add_overflow(p.p_vaddr, p.p_filesz, &s.end) || s.begin >= s.end)
			continue;
		e->result.base = MIN(e->result.base, p.p_vaddr);
		e->segments[e->n_segments++] = s;
	}
	return 0;
}

static bool has_section_name(const Elf_Data *names, const GElf_Shdr *h, const char *name)
{
	size_t len = strlen(name) + 1;

	return names && names->d_buf && h->sh_name < names->d_size &&
	       names->d_size - h->sh_name >= len &&
	       memcmp((const char *)names->d_buf + h->sh_name, name, len) == 0;
}

static const Elf_Data *read_section_names(Elf *elf)
{
	Elf_Scn *s;
	GElf_Shdr h;
	size_t number;

	if (elf_getshdrstrndx(elf, &number) < 0)
		return NULL;
	s = elf_getscn(elf, number);
	return s && gelf_getshdr(s, &h) && h.sh_size <= SECTION_NAMES_MAX ? elf_getdata(s, NULL)
									  : NULL;
}

static void read_section_at(struct eh_reader *e, uint64_t offset, uint64_t size, uint64_t address)
{
	const Elf_Data *data;

	e->result.is_cut = e->result.is_cut || size > EH_SECTION_MAX;
	if (size == 0 || size > EH_SECTION_MAX || offset > INT64_MAX)
		return;
	data = elf_getdata_rawchunk(e->elf, (int64_t)offset, size, ELF_T_BYTE);
	if (data)
		e->section.bytes = (struct cfi_bytes){data->d_buf, data->d_size};
	e->section.address = address;
}

static void read_section_by_name(struct eh_reader *e, const Elf_Data *names, const char *name)
{
	for (Elf_Scn *s = elf_nextscn(e->elf, NULL); s && !e->section.bytes.p;
	     s = elf_nextscn(e->elf, s)) {
		GElf_Shdr h;

		if (gelf_getshdr(s, &h) && h.sh_type != SHT_NOBITS &&
		    !(h.sh_flags & SHF_COMPRESSED) && has_section_name(names, &h, name))
			read_section_at(e, h.sh_offset, h.sh_size, h.sh_addr);
	}
}

/* Finds .eh_frame without section headers: the header in the segment PT_GNU_EH_FRAME points to it.
 * It ends with the segment that contains it. */
static void read_section_by_header(struct eh_reader *e)
{
	GElf_Phdr p, header = {0};
	const Elf_Data *data;
	uint64_t address, version;
	struct cfi_bytes s;
	size_t n;

	if (elf_getphdrnum(e->elf, &n) < 0)
		return;
	for (size_t i = 0; i < n && i < UINT16_MAX; i++)
		if (gelf_getphdr(e->elf, (int)i, &p) && p.p_type == PT_GNU_EH_FRAME)
			header = p;
	data = header.p_filesz < 12
		       ? NULL
		       : elf_getdata_rawchunk(e->elf, (int64_t)header.p_offset, 12, ELF_T_BYTE);
	if (!data)
		return;
	/* The version, the encodings of the address, of the count, and of the table. */
	s = (struct cfi_bytes){data->d_buf, data->d_size};
	if (!cfi_read_fixed(&s, 4, &version) || (version & 0xff) != 1 ||
	    !cfi_read_address(&s, (uint8_t)(version >> 8), header.p_vaddr + 4, &address))
		return;
	e->section.is_open_ended = true;
	for (size_t i = 0; i < n && i < UINT16_MAX && !e->section.bytes.p; i++)
		if (gelf_getphdr(e->elf, (int)i, &p) && p.p_type == PT_LOAD &&
		    address >= p.p_vaddr && address - p.p_vaddr < p.p_filesz)
			read_section_at(
				e, p.p_offset + (address - p.p_vaddr),
				MIN(p.p_filesz - (address - p.p_vaddr), (uint64_t)EH_SECTION_MAX),
				address);
}

/* ---- entries ---- */

static int add_cie(struct eh_reader *e, uint64_t offset, struct cfi_bytes body)
{
	if (e->n_cies == EH_CIES_MAX) {
		e->result.is_cut = true;
		return 0;
	}
	if (array_reserve(&e->cies, &e->cap_cies, e->n_cies + 1, sizeof(*e->cies)) < 0)
		return -ENOMEM;
	if (!cfi_read_cie(&e->machine, body, &e->cies[e->n_cies].entry))
		return 0;
	e->cies[e->n_cies++].offset = offset;
	return 0;
}

/* Returns the index of the entry at the offset, or n_cies. The linkers write it before its
 * functions. */
static size_t find_cie(const struct eh_reader *e, uint64_t offset)
{
	size_t low = 0, high = e->n_cies;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (e->cies[middle].offset < offset)
			low = middle + 1;
		else
			high = middle;
	}
	return low < e->n_cies && e->cies[low].offset == offset ? low : e->n_cies;
}

static bool is_code(const struct eh_reader *e, uint64_t begin, uint64_t end)
{
	for (size_t i = 0; i < e->n_segments; i++)
		if (begin >= e->segments[i].begin && end <= e->segments[i].end)
			return begin < end && begin != 0 && end - e->result.base <= UINT32_MAX;
	return false;
}

/* Adds the function of an entry. Skips one that is wrong, is no code, or exceeds the limit. Returns
 * 0 or -ENOMEM. */
static int add_function(struct eh_reader *e, const struct cfi_entry *entry)
{
	size_t number = find_cie(e, entry->cie);
	uint64_t begin, end;
	struct cfi_bytes ops;

	if (number == e->n_cies ||
	    !cfi_read_function(&e->section, &e->cies[number].entry, entry->body, &begin, &end,
			       &ops) ||
	    !is_code(e, begin, end))
		return 0;
	if (e->n_functions == EH_FUNCTIONS_MAX) {
		e->result.is_cut = true;
		return 0;
	}
	if (array_reserve(&e->functions, &e->cap_functions, e->n_functions + 1,
			  sizeof(*e->functions)) < 0)
		return -ENOMEM;
	e->functions[e->n_functions++] = (struct eh_function){
		.begin = (uint32_t)(begin - e->result.base),
		.end = (uint32_t)(end - e->result.base),
		.at = (uint32_t)(ops.p - e->section.bytes.p),
		.size = (uint32_t)ops.len,
		.cie = (uint32_t)number,
	};
	return 0;
}

static int read_entries(struct eh_reader *e)
{
	struct cfi_entry entry;
	uint64_t at = 0;
	int r = 0;

	while (r == 0) {
		uint64_t begin = at;

		if (!cfi_next_entry(&e->section, &at, &entry))
			break;
		r = entry.is_cie ? add_cie(e, begin, entry.body) : add_function(e, &entry);
	}
	return r;
}

/* ---- rules ---- */

static uint64_t hash_rule(const struct eh_reader *e, const struct unwind_rule *rule)
{
	return siphash(&e->rule_key, rule, sizeof(*rule));
}

/* Returns the number of an equal rule, which it adds if it is new. UNWIND_NO_CALLER: there is no
 * room, or memory runs out. */
static uint16_t find_or_add_rule(struct eh_reader *e, const struct unwind_rule *rule)
{
	struct eh_rows *r = &e->result;
	size_t slot;

#define RULE_AT(number) (r->rules[(number)-UNWIND_RULES_FIRST])
	if (r->n_rules * 2 >= e->n_rule_slots &&
	    !OPEN_TABLE_GROW(e->rule_slots, e->n_rule_slots, RULE_SLOTS_FIRST, s, *s == 0,
			     hash_rule(e, &RULE_AT(*s))))
		return UNWIND_NO_CALLER;
	slot = OPEN_TABLE_FIND(e->n_rule_slots, hash_rule(e, rule), at,
			       !e->rule_slots[at] || memcmp(&RULE_AT(e->rule_slots[at]), rule,
							    sizeof(*rule)) == 0);
#undef RULE_AT
	if (e->rule_slots[slot])
		return e->rule_slots[slot];
	r->is_cut = r->is_cut || r->n_rules == EH_RULES_MAX;
	if (r->n_rules == EH_RULES_MAX ||
	    array_reserve(&r->rules, &e->cap_rules, r->n_rules + 1, sizeof(*r->rules)) < 0)
		return UNWIND_NO_CALLER;
	r->rules[r->n_rules] = *rule;
	e->rule_slots[slot] = (uint16_t)(UNWIND_RULES_FIRST + r->n_rules++);
	return e->rule_slots[slot];
}

static uint16_t find_rule_of_state(struct eh_reader *e, const struct eh_cie *c,
				   const struct cfi_state *s)
{
	struct unwind_rule rule;
	uint16_t special = cfi_rule_from_state(&e->machine, s, c->entry.is_signal, &rule);

	return special == UNWIND_RULES_FIRST ? find_or_add_rule(e, &rule) : special;
}

/* ---- rows ---- */

/* Sorts functions by their begin. Of those with the same begin, the longest comes last and is
 * used. */
static int compare_by_begin(const void *a, const void *b)
{
	const struct eh_function *x = a, *y = b;

	if (x->begin != y->begin)
		return x->begin < y->begin ? -1 : 1;
	if (x->end != y->end)
		return x->end < y->end ? -1 : 1;
	return x->at < y->at ? -1 : x->at > y->at;
}

/* Adds a row. One for the same address is replaced; an equal neighbour is extended. Returns 0,
 * -ENOSPC above max_rows, or -ENOMEM. */
static int add_row(struct eh_reader *e, uint32_t address, uint16_t rule)
{
	struct eh_rows *r = &e->result;

	if (r->n_rows && r->rows[r->n_rows - 1].address == address)
		r->n_rows--;
	if ((r->n_rows ? r->rows[r->n_rows - 1].rule : UNWIND_NO_RULE) == rule)
		return 0;
	if (r->n_rows >= e->max_rows)
		return -ENOSPC;
	if (array_reserve(&r->rows, &e->cap_rows, r->n_rows + 1, sizeof(*r->rows)) < 0)
		return -ENOMEM;
	r->rows[r->n_rows++] = (struct unwind_row){.address = address, .rule = rule};
	return 0;
}

/* Adds the rows of a function up to `end`, where another one may begin. From the first wrong
 * instruction on, the rule is UNWIND_NO_CALLER. Returns 0, -ENOSPC above a limit, or -ENOMEM. */
static int add_rows_of_function(struct eh_reader *e, const struct eh_function *f, uint32_t end)
{
	const struct eh_cie *c = &e->cies[f->cie];
	struct cfi_program p = {
		.machine = &e->machine,
		.cie = &c->entry.cie,
		.left = {e->section.bytes.p + f->at, f->size},
		.address = f->begin,
		.end = end,
		.state = c->entry.cie.initial,
	};
	uint64_t begin, row_end;
	int r = 0;

	while (r == 0 && cfi_program_next(&p, &begin, &row_end))
		r = e->n_steps++ == EH_STEPS_MAX
			    ? -ENOSPC
			    : add_row(e, (uint32_t)begin, find_rule_of_state(e, c, &p.state));
	if (r == 0 && p.address < end) {
		e->result.n_refused++;
		r = add_row(e, (uint32_t)p.address, UNWIND_NO_CALLER);
	}
	return r < 0 ? r : add_row(e, end, UNWIND_NO_RULE);
}

/* Adds rows for the code at which a process begins, which has no caller. That of the dynamic linker
 * is hand-written, and belongs to no function: it has a row if it lies between `end` of a function
 * and the next one. */
static int add_rows_of_entry(struct eh_reader *e, uint32_t end, uint32_t next)
{
	uint64_t address = e->entry - e->result.base;
	int r;

	if (e->entry < e->result.base || address < end || address >= next ||
	    !is_code(e, e->entry, e->entry + 1))
		return 0;
	r = add_row(e, (uint32_t)address, UNWIND_END);
	return r < 0 || next - address <= EH_ENTRY_MAX
		       ? r
		       : add_row(e, (uint32_t)address + EH_ENTRY_MAX, UNWIND_NO_RULE);
}

/* Merges row b into row a, which precedes it, if their rules differ only in the distance of the CFA
 * from sp. Returns false if they differ in more. */
static bool merge_into_row(const struct eh_rows *r, struct unwind_row *a,
			   const struct unwind_row *b)
{
	struct unwind_rule x, y;
	int64_t distance;

	if (a->rule < UNWIND_RULES_FIRST || b->rule < UNWIND_RULES_FIRST ||
	    b->address - a->address > UINT8_MAX)
		return false;
	x = r->rules[a->rule - UNWIND_RULES_FIRST];
	y = r->rules[b->rule - UNWIND_RULES_FIRST];
	distance = (int64_t)y.cfa_offset - x.cfa_offset;
	y.cfa_offset = x.cfa_offset;
	if (x.base != UNWIND_BASE_SP || memcmp(&x, &y, sizeof(x)) != 0 || distance % 8 ||
	    distance / 8 != (int8_t)(distance / 8))
		return false;
	a->next = (uint8_t)(b->address - a->address);
	a->step = (int8_t)(distance / 8);
	return true;
}

static void merge_rows(struct eh_rows *r)
{
	size_t n = 0;

	for (size_t i = 0; i < r->n_rows; i++, n++) {
		r->rows[n] = r->rows[i];
		if (i + 1 < r->n_rows && merge_into_row(r, &r->rows[n], &r->rows[i + 1]))
			i++;
	}
	r->n_rows = n;
}

/* Makes the rows of all functions, in the order of addresses. Returns 0, also if a limit left out
 * rows, or -ENOMEM. */
static int write_rows(struct eh_reader *e)
{
	struct eh_rows *rows = &e->result;
	int r = 0;

	if (e->n_functions)
		qsort(e->functions, e->n_functions, sizeof(*e->functions), compare_by_begin);
	for (size_t i = 0; i < e->n_functions && r == 0; i++) {
		const struct eh_function *f = &e->functions[i];
		uint32_t next = i + 1 < e->n_functions ? f[1].begin : UINT32_MAX;

		if (next > f->begin)
			r = add_rows_of_function(e, f, MIN(f->end, next));
		if (r == 0)
			r = add_rows_of_entry(e, MIN(f->end, next), next);
	}
	if (r == -ENOSPC) { /* the last row ends all rules */
		rows->n_refused++;
		rows->is_cut = true;
		rows->rows[rows->n_rows - 1].rule = UNWIND_NO_RULE;
		if (rows->n_rows > 1 && rows->rows[rows->n_rows - 2].rule == UNWIND_NO_RULE)
			rows->n_rows--;
		r = 0;
	}
	merge_rows(rows);
	rows->n_functions = (uint32_t)e->n_functions;
	return r;
}

/* ---- the file ---- */

static void eh_reader_deinit(struct eh_reader *e)
{
	freep(&e->cies);
	freep(&e->functions);
	freep(&e->rule_slots);
	eh_rows_deinit(&e->result);
	elf_end(e->elf);
}

static int read_frames(struct eh_reader *e)
{
	const Elf_Data *names = read_section_names(e->elf);
	int r;

	read_section_by_name(e, names, ".eh_frame");
	if (!e->section.bytes.p)
		read_section_by_header(e);
	r = read_entries(e);
	if (r == 0 && e->n_functions == 0) {
		e->section = (struct cfi_section){.is_debug_frame = true};
		e->n_cies = 0;
		read_section_by_name(e, names, ".debug_frame");
		r = read_entries(e);
	}
	return r < 0 ? r : write_rows(e);
}

int eh_rows_read(int fd, size_t max_rows, struct eh_rows *ret)
{
	_cleanup_(eh_reader_deinit) struct eh_reader e = {
		.max_rows = MIN(max_rows, (size_t)EH_ROWS_MAX)};
	int r;

	if (elf_version(EV_CURRENT) == EV_NONE)
		return -ENOSYS;
	if (getrandom(&e.rule_key, sizeof(e.rule_key), 0) < 0)
		return -errno;
	e.elf = elf_begin(fd, ELF_C_READ, NULL);
	if (!e.elf || elf_kind(e.elf) != ELF_K_ELF)
		return -ENOEXEC;
	r = read_segments(&e);
	if (r == 0 && e.n_segments && e.max_rows)
		r = read_frames(&e);
	if (r < 0)
		return r;
	*ret = e.result;
	e.result = (struct eh_rows){0};
	return 0;
}

void eh_rows_deinit(struct eh_rows *r)
{
	freep(&r->rows);
	freep(&r->rules);
	*r = (struct eh_rows){0};
}
