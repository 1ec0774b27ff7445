/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows of small ELF files whose .eh_frame this test writes byte by byte. Rows of real files are compared with readelf's in
 * tests/system/test_eh_rows.sh.
 */
#include <dwarf.h>
#include <elf.h>
#include <sys/mman.h>

#include "stacks/files/eh_rows.h"
#include "unit/test.h"

#define TEXT 0x1000u /* address and offset of the executable segment */
#define TEXT_SIZE 0x2000u
#define FRAMES 0x4000u /* address and offset of .eh_frame */
#define FRAMES_SIZE 0x2000u
#define SECTIONS (FRAMES + FRAMES_SIZE)

/* An ELF file in memory. */
struct image {
	uint8_t bytes[SECTIONS + 0x200];
	size_t n_frames; /* bytes of .eh_frame so far */
	size_t cie; /* offset of the last CIE */
};

static void image_init(struct image *m, uint16_t machine)
{
	static const char names[] = "\0.eh_frame\0.shstrtab";
	Elf64_Ehdr h = {.e_type = ET_DYN,
			.e_machine = machine,
			.e_version = EV_CURRENT,
			.e_phoff = sizeof(h),
			.e_shoff = SECTIONS,
			.e_ehsize = sizeof(h),
			.e_phentsize = sizeof(Elf64_Phdr),
			.e_phnum = 1,
			.e_shentsize = sizeof(Elf64_Shdr),
			.e_shnum = 3,
			.e_shstrndx = 2};
	const Elf64_Phdr p = {.p_type = PT_LOAD,
			      .p_flags = PF_R | PF_X,
			      .p_offset = TEXT,
			      .p_vaddr = TEXT,
			      .p_filesz = TEXT_SIZE,
			      .p_memsz = TEXT_SIZE};
	const Elf64_Shdr sections[3] = {{0},
					{.sh_name = 1,
					 .sh_type = SHT_PROGBITS,
					 .sh_addr = FRAMES,
					 .sh_offset = FRAMES,
					 .sh_size = FRAMES_SIZE},
					{.sh_name = 11,
					 .sh_type = SHT_STRTAB,
					 .sh_offset = SECTIONS + sizeof(sections),
					 .sh_size = sizeof(names)}};

	*m = (struct image){0};
	memcpy(h.e_ident, "\177ELF\2\1\1", 7);
	memcpy(m->bytes, &h, sizeof(h));
	memcpy(m->bytes + sizeof(h), &p, sizeof(p));
	memcpy(m->bytes + SECTIONS, sections, sizeof(sections));
	memcpy(m->bytes + SECTIONS + sizeof(sections), names, sizeof(names));
}

static void put(struct image *m, const void *bytes, size_t len)
{
	assert_true(m->n_frames + len < FRAMES_SIZE);
	if (len)
		memcpy(m->bytes + FRAMES + m->n_frames, bytes, len);
	m->n_frames += len;
}

static void put_u32(struct image *m, uint32_t v)
{
	put(m, &v, sizeof(v));
}

/* Adds a CIE whose addresses are pcrel sdata4, with the initial instructions. */
static void add_cie(struct image *m, const char *augmentation, uint8_t ra, const void *ops,
		    size_t n)
{
	const uint8_t factors[] = {1, 0x78, ra, 1, DW_EH_PE_pcrel | DW_EH_PE_sdata4};
	size_t text = strlen(augmentation) + 1;

	m->cie = m->n_frames;
	put_u32(m, (uint32_t)(4 + 1 + text + sizeof(factors) + n));
	put_u32(m, 0);
	put(m, "\1", 1);
	put(m, augmentation, text);
	put(m, factors, sizeof(factors));
	put(m, ops, n);
}

static void add_function(struct image *m, uint32_t begin, uint32_t size, const void *ops, size_t n)
{
	put_u32(m, (uint32_t)(4 + 8 + 1 + n));
	put_u32(m, (uint32_t)(m->n_frames - m->cie));
	put_u32(m, begin - (FRAMES + (uint32_t)m->n_frames));
	put_u32(m, size);
	put(m, "\0", 1);
	put(m, ops, n);
}

#define ADD_FUNCTION(m, begin, size, ...)                                                          \
	add_function(m, begin, size, (const uint8_t[]){__VA_ARGS__},                               \
		     sizeof((const uint8_t[]){__VA_ARGS__}))

/* x86-64: CFA is rsp + 8, the return address at CFA - 8. */
static const uint8_t at_entry[] = {DW_CFA_def_cfa, 7, 8, DW_CFA_offset | 16, 1};

static struct image x86_64(void)
{
	struct image m;

	image_init(&m, EM_X86_64);
	add_cie(&m, "zR", 16, at_entry, sizeof(at_entry));
	return m;
}

static struct eh_rows read_rows(const struct image *m)
{
	_cleanup_(closep) int fd = memfd_create("elf", MFD_CLOEXEC);
	struct eh_rows rows = {0};

	assert_int_equal(write(fd, m->bytes, sizeof(m->bytes)), sizeof(m->bytes));
	assert_int_equal(eh_rows_read(fd, EH_ROWS_MAX, &rows), 0);
	assert_true(rows.base == TEXT || rows.n_rows == 0);
	return rows;
}

/* Returns the number of the rule at an address of the file. */
static uint16_t number_at(const struct eh_rows *r, uint32_t address)
{
	uint16_t number = UNWIND_NO_RULE;

	for (size_t i = 0; i < r->n_rows && r->rows[i].address + r->base <= address; i++)
		number = r->rows[i].rule;
	return number;
}

static struct unwind_rule rule_at(const struct eh_rows *r, uint32_t address)
{
	uint16_t number = number_at(r, address);
	const struct unwind_row *row = r->rows;
	struct unwind_rule rule;

	assert_in_range(number, UNWIND_RULES_FIRST, UNWIND_RULES_FIRST + r->n_rules - 1);
	rule = r->rules[number - UNWIND_RULES_FIRST];
	for (size_t i = 0; i < r->n_rows && r->rows[i].address + r->base <= address; i++)
		row = &r->rows[i];
	if (row->next && address - r->base >= row->address + row->next)
		rule.cfa_offset += 8 * row->step;
	return rule;
}

#define assert_rule(r, address, ...)                                                               \
	do {                                                                                       \
		const struct unwind_rule rule_ = rule_at(r, address), want_ = {__VA_ARGS__};       \
		assert_memory_equal(&rule_, &want_, sizeof(rule_));                                \
	} while (0)
#define assert_sp_rule(r, address, offset)                                                         \
	assert_rule(r, address, .base = UNWIND_BASE_SP, .cfa_offset = (offset), .fp = UNWIND_SAME, \
		    .ra = UNWIND_AT_CFA, .ra_offset = -8)

TEST(a_function_has_the_rows_of_its_instructions)
{
	struct image m = x86_64();
	struct eh_rows r;

	ADD_FUNCTION(&m, TEXT + 0x10, 0x20, DW_CFA_advance_loc | 1, DW_CFA_def_cfa_offset, 16,
		     DW_CFA_offset | 6, 2, DW_CFA_advance_loc | 3, DW_CFA_def_cfa_register, 6);
	r = read_rows(&m);
	assert_int_equal(r.n_rows, 4);
	assert_int_equal(r.rows[0].address, 0x10);
	assert_sp_rule(&r, TEXT + 0x10, 8);
	assert_rule(&r, TEXT + 0x11, .base = UNWIND_BASE_SP, .cfa_offset = 16, .fp = UNWIND_AT_CFA,
		    .fp_offset = -16, .ra = UNWIND_AT_CFA, .ra_offset = -8);
	assert_rule(&r, TEXT + 0x14, .base = UNWIND_BASE_FP, .cfa_offset = 16, .fp = UNWIND_AT_CFA,
		    .fp_offset = -16, .ra = UNWIND_AT_CFA, .ra_offset = -8);
	assert_int_equal(number_at(&r, TEXT + 0xf), UNWIND_NO_RULE);
	assert_int_equal(number_at(&r, TEXT + 0x30), UNWIND_NO_RULE);
	eh_rows_deinit(&r);
}

/* The row after DW_CFA_restore_state begins at its own address, and has the CFA that was remembered. */
TEST(an_early_return_restores_the_rule_behind_it)
{
	struct image m = x86_64();
	struct eh_rows r;

	ADD_FUNCTION(&m, TEXT, 0x20, DW_CFA_advance_loc | 4, DW_CFA_def_cfa_offset, 48,
		     DW_CFA_advance_loc | 4, DW_CFA_remember_state, DW_CFA_def_cfa_offset, 8,
		     DW_CFA_advance_loc | 1, DW_CFA_restore_state);
	r = read_rows(&m);
	assert_sp_rule(&r, TEXT + 3, 8);
	assert_sp_rule(&r, TEXT + 7, 48);
	assert_sp_rule(&r, TEXT + 8, 8);
	assert_sp_rule(&r, TEXT + 9, 48);
	assert_int_equal(r.n_rows, 3);
	eh_rows_deinit(&r);
}

/* The second of two rows is in the first one if only the distance from sp differs, and fits. */
TEST(pushes_and_pops_share_rows)
{
	struct image m = x86_64();
	struct eh_rows r;

	ADD_FUNCTION(&m, TEXT, 0x400, DW_CFA_advance_loc | 2, DW_CFA_def_cfa_offset, 16,
		     DW_CFA_advance_loc | 2, DW_CFA_def_cfa_offset, 24, DW_CFA_advance_loc | 1,
		     DW_CFA_def_cfa_offset, 28, DW_CFA_advance_loc1, 255, DW_CFA_def_cfa_offset, 36,
		     DW_CFA_advance_loc2, 0, 1, DW_CFA_def_cfa_offset, 0xa4, 0x08,
		     DW_CFA_advance_loc | 1, DW_CFA_def_cfa_offset, 44);
	r = read_rows(&m);
	assert_int_equal(r.n_rows, 5);
	assert_true(r.rows[0].next == 2 && r.rows[0].step == 1);
	assert_sp_rule(&r, TEXT + 1, 8);
	assert_sp_rule(&r, TEXT + 2, 16);
	assert_sp_rule(&r, TEXT + 3, 16);
	assert_true(r.rows[1].address == 4 && r.rows[1].next == 0);
	assert_sp_rule(&r, TEXT + 4, 24);
	assert_true(r.rows[2].address == 5 && r.rows[2].next == 255 && r.rows[2].step == 1);
	assert_sp_rule(&r, TEXT + 5 + 254, 28);
	assert_sp_rule(&r, TEXT + 5 + 255, 36);
	assert_sp_rule(&r, TEXT + 5 + 255 + 255, 36);
	assert_true(r.rows[3].address == 5 + 255 + 256);
	assert_true(r.rows[3].next == 1 && r.rows[3].step == -127);
	assert_sp_rule(&r, TEXT + 5 + 255 + 256, 1060);
	assert_sp_rule(&r, TEXT + 5 + 255 + 257, 44);
	eh_rows_deinit(&r);
}

TEST(functions_at_address_0_without_size_or_outside_of_code_have_no_rows)
{
	struct image m = x86_64();
	struct eh_rows r;

	ADD_FUNCTION(&m, 0, 0x1100, DW_CFA_def_cfa_offset, 64);
	ADD_FUNCTION(&m, TEXT + 0x40, 0, DW_CFA_def_cfa_offset, 72);
	ADD_FUNCTION(&m, TEXT + TEXT_SIZE - 8, 16, DW_CFA_def_cfa_offset, 80);
	ADD_FUNCTION(&m, TEXT + 0x100, 0x10, DW_CFA_nop);
	r = read_rows(&m);
	assert_int_equal(r.n_rows, 2);
	assert_int_equal(r.n_functions, 1);
	assert_sp_rule(&r, TEXT + 0x100, 8);
	eh_rows_deinit(&r);
}

/* Some linkers map the headers of the file as code: a discarded function may lie there. */
TEST(the_headers_of_the_file_have_no_rows)
{
	struct image m = x86_64();
	Elf64_Phdr *p = (Elf64_Phdr *)(m.bytes + sizeof(Elf64_Ehdr));
	_cleanup_(closep) int fd = memfd_create("elf", MFD_CLOEXEC);
	struct eh_rows r;

	*p = (Elf64_Phdr){.p_type = PT_LOAD,
			  .p_flags = PF_R | PF_X,
			  .p_filesz = TEXT + TEXT_SIZE,
			  .p_memsz = TEXT + TEXT_SIZE};
	ADD_FUNCTION(&m, 0x20, 0x2000, DW_CFA_def_cfa_offset, 64);
	ADD_FUNCTION(&m, TEXT, 0x10, DW_CFA_nop);
	assert_int_equal(write(fd, m.bytes, sizeof(m.bytes)), sizeof(m.bytes));
	assert_int_equal(eh_rows_read(fd, EH_ROWS_MAX, &r), 0);
	assert_int_equal(r.base, 0);
	assert_int_equal(r.n_rows, 2);
	assert_int_equal(r.rows[0].address, TEXT);
	eh_rows_deinit(&r);
}

TEST(of_two_functions_that_overlap_the_later_begin_wins)
{
	struct image m = x86_64();
	struct eh_rows r;

	ADD_FUNCTION(&m, TEXT + 0x20, 0x10, DW_CFA_def_cfa_offset, 32);
	ADD_FUNCTION(&m, TEXT + 0x10, 0x18, DW_CFA_def_cfa_offset, 24);
	ADD_FUNCTION(&m, TEXT + 0x40, 0x08, DW_CFA_def_cfa_offset, 40); /* two with one begin */
	ADD_FUNCTION(&m, TEXT + 0x40, 0x10, DW_CFA_def_cfa_offset, 48);
	r = read_rows(&m);
	assert_sp_rule(&r, TEXT + 0x1f, 24);
	assert_sp_rule(&r, TEXT + 0x20, 32);
	assert_int_equal(number_at(&r, TEXT + 0x30), UNWIND_NO_RULE);
	assert_sp_rule(&r, TEXT + 0x4f, 48);
	eh_rows_deinit(&r);
}

TEST(the_gap_between_functions_has_no_rule_and_neighbours_with_one_rule_are_merged)
{
	struct image m = x86_64();
	struct eh_rows r;

	ADD_FUNCTION(&m, TEXT + 0x10, 0x10, DW_CFA_nop);
	ADD_FUNCTION(&m, TEXT + 0x20, 0x08, DW_CFA_nop);
	ADD_FUNCTION(&m, TEXT + 0x30, 0x10, DW_CFA_nop);
	r = read_rows(&m);
	assert_int_equal(r.n_rows, 4);
	assert_sp_rule(&r, TEXT + 0x27, 8);
	assert_int_equal(number_at(&r, TEXT + 0x28), UNWIND_NO_RULE);
	assert_sp_rule(&r, TEXT + 0x30, 8);
	assert_int_equal(r.n_rules, 1);
	eh_rows_deinit(&r);
}

TEST(an_undefined_return_address_ends_the_stack)
{
	struct image m = x86_64();
	struct eh_rows r;

	ADD_FUNCTION(&m, TEXT, 0x10, DW_CFA_undefined, 16);
	r = read_rows(&m);
	assert_int_equal(number_at(&r, TEXT), UNWIND_END);
	eh_rows_deinit(&r);
}

static void set_entry(struct image *m, uint64_t address)
{
	((Elf64_Ehdr *)m->bytes)->e_entry = address;
}

TEST(the_entry_of_the_file_ends_the_stack_if_no_function_is_there)
{
	struct image m = x86_64();
	struct eh_rows r;

	ADD_FUNCTION(&m, TEXT + 0x10, 0x10, DW_CFA_nop);
	ADD_FUNCTION(&m, TEXT + 0x80, 0x10, DW_CFA_nop);
	set_entry(&m, TEXT + 0x28);
	r = read_rows(&m);
	assert_int_equal(number_at(&r, TEXT + 0x27), UNWIND_NO_RULE);
	assert_int_equal(number_at(&r, TEXT + 0x28), UNWIND_END);
	assert_int_equal(number_at(&r, TEXT + 0x7f), UNWIND_END);
	assert_sp_rule(&r, TEXT + 0x80, 8);
	eh_rows_deinit(&r);
	set_entry(&m, TEXT + 0x98); /* behind the last function: only some bytes */
	r = read_rows(&m);
	assert_int_equal(number_at(&r, TEXT + 0x28), UNWIND_NO_RULE);
	assert_int_equal(number_at(&r, TEXT + 0x97 + EH_ENTRY_MAX), UNWIND_END);
	assert_int_equal(number_at(&r, TEXT + 0x98 + EH_ENTRY_MAX), UNWIND_NO_RULE);
	eh_rows_deinit(&r);
	set_entry(&m, TEXT + 0x18); /* the rows of a function are not changed */
	r = read_rows(&m);
	assert_sp_rule(&r, TEXT + 0x18, 8);
	assert_int_equal(r.n_rows, 4);
	eh_rows_deinit(&r);
	set_entry(&m, UINT64_MAX);
	r = read_rows(&m);
	assert_int_equal(r.n_rows, 4);
	eh_rows_deinit(&r);
}

TEST(entries_of_the_plt_have_the_boundary_of_their_expression)
{
	struct image m = x86_64();
	struct eh_rows r;

#define PLT(op1, op2)                                                                              \
	DW_CFA_def_cfa_expression, 11, DW_OP_breg7, 8, DW_OP_breg16, 0, DW_OP_lit15, DW_OP_and,    \
		op1, DW_OP_ge, DW_OP_lit3, DW_OP_shl, op2
	ADD_FUNCTION(&m, TEXT, 0x10, PLT(DW_OP_lit11, DW_OP_plus));
	ADD_FUNCTION(&m, TEXT + 0x10, 0x10, PLT(DW_OP_lit9, DW_OP_plus)); /* with endbr64 */
	ADD_FUNCTION(&m, TEXT + 0x20, 0x10, PLT(DW_OP_lit11, DW_OP_minus));
	ADD_FUNCTION(&m, TEXT + 0x30, 0x10, PLT(DW_OP_lit20, DW_OP_plus));
#undef PLT
	r = read_rows(&m);
	assert_rule(&r, TEXT, .base = UNWIND_BASE_PLT, .cfa_offset = 11, .fp = UNWIND_SAME,
		    .ra = UNWIND_AT_CFA, .ra_offset = -8);
	assert_rule(&r, TEXT + 0x10, .base = UNWIND_BASE_PLT, .cfa_offset = 9, .fp = UNWIND_SAME,
		    .ra = UNWIND_AT_CFA, .ra_offset = -8);
	assert_int_equal(number_at(&r, TEXT + 0x20), UNWIND_NO_CALLER);
	assert_int_equal(number_at(&r, TEXT + 0x30), UNWIND_NO_CALLER);
	eh_rows_deinit(&r);
}

/* What GCC writes for a function that aligns its stack, and OpenSSL's assembly. */
TEST(realigned_stacks_read_the_cfa_from_the_stack)
{
	struct image m = x86_64();
	struct eh_rows r;

	ADD_FUNCTION(&m, TEXT, 0x20, DW_CFA_advance_loc | 5, DW_CFA_def_cfa, 10, 0, /* r10 */
		     DW_CFA_advance_loc | 5, DW_CFA_expression, 6, 2, DW_OP_breg6, 0,
		     DW_CFA_advance_loc | 5, DW_CFA_def_cfa_expression, 3, DW_OP_breg6, 0x78,
		     DW_OP_deref, DW_CFA_advance_loc | 8, DW_CFA_def_cfa, 7, 8);
	ADD_FUNCTION(&m, TEXT + 0x20, 0x10, DW_CFA_def_cfa_expression, 6, DW_OP_breg7, 0x98, 1,
		     DW_OP_deref, DW_OP_plus_uconst, 8, DW_CFA_offset | 6, 3);
	ADD_FUNCTION(&m, TEXT + 0x30, 0x10, DW_CFA_def_cfa_expression, 5, DW_OP_breg7, 8,
		     DW_OP_breg9, 0, DW_OP_plus);
	r = read_rows(&m);
	assert_sp_rule(&r, TEXT + 4, 8);
	assert_int_equal(number_at(&r, TEXT + 5), UNWIND_NO_CALLER);
	assert_int_equal(number_at(&r, TEXT + 10), UNWIND_NO_CALLER);
	assert_rule(&r, TEXT + 15, .base = UNWIND_BASE_AT_FP, .cfa_offset = -8, .fp = UNWIND_AT_FP,
		    .ra = UNWIND_AT_CFA, .ra_offset = -8);
	/* At the last instruction the frame pointer is the caller's, whatever the expression says. */
	assert_rule(&r, TEXT + 23, .base = UNWIND_BASE_SP, .cfa_offset = 8, .fp = UNWIND_UNKNOWN,
		    .ra = UNWIND_AT_CFA, .ra_offset = -8);
	assert_rule(&r, TEXT + 0x20, .base = UNWIND_BASE_AT_SP, .cfa_offset = 152, .cfa_plus = 8,
		    .fp = UNWIND_AT_CFA, .fp_offset = -24, .ra = UNWIND_AT_CFA, .ra_offset = -8);
	assert_int_equal(number_at(&r, TEXT + 0x30), UNWIND_NO_CALLER);
	eh_rows_deinit(&r);
}

TEST(a_frame_pointer_that_is_computed_is_unknown)
{
	struct image m = x86_64();
	struct eh_rows r;

	ADD_FUNCTION(&m, TEXT, 0x10, DW_CFA_val_expression, 6, 2, DW_OP_breg3, 0);
	ADD_FUNCTION(&m, TEXT + 0x10, 0x10, DW_CFA_register, 6, 9);
	ADD_FUNCTION(&m, TEXT + 0x20, 0x10, DW_CFA_same_value, 6);
	r = read_rows(&m);
	assert_int_equal(rule_at(&r, TEXT).fp, UNWIND_UNKNOWN);
	assert_int_equal(rule_at(&r, TEXT + 0x10).fp, UNWIND_UNKNOWN);
	assert_sp_rule(&r, TEXT + 0x20, 8);
	eh_rows_deinit(&r);
}

/* longjmp restores rsp from a buffer, vfork has the return address in a register. */
TEST(what_no_rule_expresses_has_none)
{
	struct image m = x86_64();
	struct eh_rows r;

	ADD_FUNCTION(&m, TEXT, 0x10, DW_CFA_register, 7, 8);
	ADD_FUNCTION(&m, TEXT + 0x10, 0x10, DW_CFA_register, 16, 5);
	ADD_FUNCTION(&m, TEXT + 0x20, 0x10, DW_CFA_offset | 16, 2);
	ADD_FUNCTION(&m, TEXT + 0x30, 0x10, DW_CFA_def_cfa_register, 5);
	ADD_FUNCTION(&m, TEXT + 0x40, 0x10, DW_CFA_def_cfa_offset, 0x80, 0x80, 0x80, 0x80, 0x10);
	r = read_rows(&m);
	assert_int_equal(r.n_rows, 2);
	assert_int_equal(r.n_rules, 0);
	assert_int_equal(number_at(&r, TEXT + 0x4f), UNWIND_NO_CALLER);
	assert_int_equal(r.n_functions, 5);
	eh_rows_deinit(&r);
}

TEST(large_frames_have_a_rule)
{
	struct image m = x86_64();
	struct eh_rows r;

	ADD_FUNCTION(&m, TEXT, 0x10, DW_CFA_def_cfa_offset, 0x90, 0x80, 0x80, 0x01);
	r = read_rows(&m);
	assert_sp_rule(&r, TEXT, (1 << 21) + 16);
	eh_rows_deinit(&r);
}

TEST(a_signal_frame_is_only_that_of_the_kernel)
{
	static const uint8_t of_kernel[] = {
		DW_CFA_def_cfa_expression, 4, DW_OP_breg7, 0xa0, 1, DW_OP_deref};
	struct image m;
	struct eh_rows r;

	image_init(&m, EM_X86_64);
	add_cie(&m, "zRS", 16, at_entry, sizeof(at_entry));
	add_function(&m, TEXT, 0x10, of_kernel, sizeof(of_kernel));
	ADD_FUNCTION(&m, TEXT + 0x10, 0x10, DW_CFA_nop);
	r = read_rows(&m);
	assert_int_equal(number_at(&r, TEXT), UNWIND_SIGNAL);
	assert_int_equal(number_at(&r, TEXT + 0x10), UNWIND_NO_CALLER);
	eh_rows_deinit(&r);
}

TEST(a_wrong_instruction_ends_the_rules_of_its_function)
{
	struct image m = x86_64();
	struct eh_rows r;

	ADD_FUNCTION(&m, TEXT, 0x10, DW_CFA_advance_loc | 4, 0x3d, DW_CFA_advance_loc | 4);
	ADD_FUNCTION(&m, TEXT + 0x10, 0x10, DW_CFA_advance_loc | 4, DW_CFA_restore_state);
	ADD_FUNCTION(&m, TEXT + 0x20, 0x10, DW_CFA_advance_loc4, 0xff, 0xff, 0xff, 0xff,
		     DW_CFA_def_cfa_offset, 0x40);
	ADD_FUNCTION(&m, TEXT + 0x30, 0x10, DW_CFA_expression, 6, 0x7f);
	r = read_rows(&m);
	assert_sp_rule(&r, TEXT + 3, 8);
	assert_int_equal(number_at(&r, TEXT + 4), UNWIND_NO_CALLER);
	assert_sp_rule(&r, TEXT + 0x13, 8);
	assert_int_equal(number_at(&r, TEXT + 0x14), UNWIND_NO_CALLER);
	assert_sp_rule(&r, TEXT + 0x2f, 8);
	assert_int_equal(number_at(&r, TEXT + 0x30), UNWIND_NO_CALLER);
	assert_int_equal(r.n_refused, 3);
	eh_rows_deinit(&r);
}

TEST(arm64_has_the_return_address_in_lr_or_on_the_stack)
{
	static const uint8_t entry[] = {DW_CFA_def_cfa, 31, 0};
	struct image m;
	struct eh_rows r;

	image_init(&m, EM_AARCH64);
	add_cie(&m, "zR", 30, entry, sizeof(entry));
	ADD_FUNCTION(&m, TEXT, 0x20, DW_CFA_GNU_window_save, DW_CFA_advance_loc | 4,
		     DW_CFA_def_cfa_offset, 32, DW_CFA_offset | 29, 4, DW_CFA_offset | 30, 3,
		     DW_CFA_advance_loc | 4, DW_CFA_def_cfa_register, 29);
	r = read_rows(&m);
	assert_rule(&r, TEXT, .base = UNWIND_BASE_SP, .fp = UNWIND_SAME, .ra = UNWIND_SAME);
	assert_rule(&r, TEXT + 4, .base = UNWIND_BASE_SP, .cfa_offset = 32, .fp = UNWIND_AT_CFA,
		    .fp_offset = -32, .ra = UNWIND_AT_CFA, .ra_offset = -24);
	assert_rule(&r, TEXT + 8, .base = UNWIND_BASE_FP, .cfa_offset = 32, .fp = UNWIND_AT_CFA,
		    .fp_offset = -32, .ra = UNWIND_AT_CFA, .ra_offset = -24);
	eh_rows_deinit(&r);
}

TEST(files_of_other_machines_and_32_bit_files_have_no_rows)
{
	static const uint16_t machines[] = {EM_386, EM_ARM, EM_RISCV};
	struct eh_rows r;

	for (size_t i = 0; i <= ARRAY_SIZE(machines); i++) {
		_cleanup_(closep) int fd = memfd_create("elf", MFD_CLOEXEC);
		struct image m = x86_64();

		if (i < ARRAY_SIZE(machines))
			((Elf64_Ehdr *)m.bytes)->e_machine = machines[i];
		else
			m.bytes[EI_CLASS] = ELFCLASS32;
		assert_int_equal(write(fd, m.bytes, sizeof(m.bytes)), sizeof(m.bytes));
		assert_int_equal(eh_rows_read(fd, EH_ROWS_MAX, &r), -ENOEXEC);
	}
}

TEST(rows_above_the_limit_end_with_no_rule)
{
	struct image m = x86_64();
	_cleanup_(closep) int fd = memfd_create("elf", MFD_CLOEXEC);
	struct eh_rows r;

	for (uint8_t i = 0; i < 20; i++)
		ADD_FUNCTION(&m, TEXT + i * 0x10u, 0x10, DW_CFA_def_cfa_offset, (uint8_t)(8 + i));
	assert_int_equal(write(fd, m.bytes, sizeof(m.bytes)), sizeof(m.bytes));
	assert_int_equal(eh_rows_read(fd, 10, &r), 0);
	assert_true(r.is_cut);
	assert_int_equal(r.n_rows, 10);
	assert_sp_rule(&r, TEXT + 0x8f, 16);
	assert_int_equal(number_at(&r, TEXT + 0x90), UNWIND_NO_RULE);
	eh_rows_deinit(&r);
	assert_int_equal(eh_rows_read(fd, 0, &r), 0);
	assert_int_equal(r.n_rows, 0);
	eh_rows_deinit(&r);
}

/* Without section headers the segment PT_GNU_EH_FRAME leads to .eh_frame. */
TEST(a_file_without_section_headers_has_rows)
{
	struct image m = x86_64();
	Elf64_Ehdr *h = (Elf64_Ehdr *)m.bytes;
	Elf64_Phdr *p = (Elf64_Phdr *)(m.bytes + sizeof(*h));
	const uint32_t table[3] = {0x3b031b01, (uint32_t) - (0x100 + 4)};
	struct eh_rows r;

	h->e_shoff = h->e_shnum = h->e_shstrndx = 0;
	h->e_phnum = 3;
	p[1] = (Elf64_Phdr){.p_type = PT_GNU_EH_FRAME,
			    .p_offset = FRAMES + 0x100,
			    .p_vaddr = FRAMES + 0x100,
			    .p_filesz = sizeof(table)};
	p[2] = (Elf64_Phdr){.p_type = PT_LOAD,
			    .p_flags = PF_R,
			    .p_offset = FRAMES,
			    .p_vaddr = FRAMES,
			    .p_filesz = FRAMES_SIZE};
	ADD_FUNCTION(&m, TEXT, 0x10, DW_CFA_nop);
	memcpy(m.bytes + FRAMES + 0x100, table, sizeof(table));
	r = read_rows(&m);
	assert_sp_rule(&r, TEXT, 8);
	eh_rows_deinit(&r);
}

/* A function of 64 MiB with a row for each byte, all of them equal, would take seconds. */
TEST(rows_before_they_are_merged_are_limited)
{
	const size_t n = EH_STEPS_MAX + 1000, at = sizeof(struct image);
	_cleanup_(closep) int fd = memfd_create("elf", MFD_CLOEXEC);
	_cleanup_(freep) uint8_t *ops = malloc(n);
	struct image m = x86_64();
	Elf64_Phdr *p = (Elf64_Phdr *)(m.bytes + sizeof(Elf64_Ehdr));
	Elf64_Shdr *s = (Elf64_Shdr *)(m.bytes + SECTIONS);
	const uint32_t size = (uint32_t)n;
	uint32_t length;
	struct eh_rows r;

	/* The section is behind the image. */
	p->p_filesz = p->p_memsz = 2 * n;
	s[1].sh_offset = at;
	s[1].sh_size = m.n_frames + 17 + n;
	memset(ops, DW_CFA_advance_loc | 1, n);
	add_function(&m, TEXT, 2 * size, NULL, 0);
	memcpy(&length, m.bytes + FRAMES + m.n_frames - 17, sizeof(length));
	length += size;
	memcpy(m.bytes + FRAMES + m.n_frames - 17, &length, sizeof(length));
	assert_int_equal(pwrite(fd, m.bytes, sizeof(m.bytes), 0), sizeof(m.bytes));
	assert_int_equal(pwrite(fd, m.bytes + FRAMES, m.n_frames, at), m.n_frames);
	assert_int_equal(pwrite(fd, ops, n, at + m.n_frames), n);
	assert_int_equal(eh_rows_read(fd, EH_ROWS_MAX, &r), 0);
	assert_int_equal(r.n_functions, 1);
	assert_int_equal(r.n_refused, 1);
	assert_int_equal(number_at(&r, TEXT + size), UNWIND_NO_RULE);
	assert_true(r.is_cut);
	eh_rows_deinit(&r);
}
