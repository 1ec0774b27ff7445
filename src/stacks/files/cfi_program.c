/* SPDX-License-Identifier: Apache-2.0 */
#include "stacks/files/cfi_program.h"

#include <dwarf.h>

/* ---- numbers ---- */

bool cfi_read_fixed(struct cfi_bytes *s, size_t n_bytes, uint64_t *ret)
{
	uint64_t v = 0;

	if (s->len < n_bytes)
		return false;
	for (size_t i = 0; i < n_bytes; i++)
		v |= (uint64_t)s->p[i] << 8 * i;
	s->p += n_bytes;
	s->len -= n_bytes;
	*ret = v;
	return true;
}

/* Returns the number of bits that were read; 0: the number is incomplete or too large. */
static unsigned read_leb(struct cfi_bytes *s, uint64_t *ret)
{
	uint64_t v = 0, byte;

	for (unsigned shift = 0; shift < 63 && cfi_read_fixed(s, 1, &byte); shift += 7) {
		v |= (byte & 0x7f) << shift;
		if (!(byte & 0x80)) {
			*ret = v;
			return shift + 7;
		}
	}
	return 0;
}

bool cfi_read_uleb(struct cfi_bytes *s, uint64_t *ret)
{
	return read_leb(s, ret) > 0;
}

bool cfi_read_sleb(struct cfi_bytes *s, int64_t *ret)
{
	uint64_t v;
	unsigned n_bits = read_leb(s, &v);

	if (n_bits == 0)
		return false;
	if (n_bits < 64 && v >> (n_bits - 1) & 1)
		v |= UINT64_MAX << n_bits;
	*ret = (int64_t)v;
	return true;
}

/* Reads an offset from the CFA: a number, which is multiplied with the data alignment factor. */
static bool read_factored_offset(struct cfi_program *p, bool is_signed, int64_t *ret)
{
	uint64_t v;
	int64_t n;

	if (is_signed ? !cfi_read_sleb(&p->left, &n) : !cfi_read_uleb(&p->left, &v))
		return false;
	if (!is_signed)
		n = (int64_t)v; /* has 63 bits */
	return !__builtin_mul_overflow(n, p->cie->data_factor, ret);
}

/* Removes a length and so many bytes from the instructions. Returns false if they are
 * incomplete. */
static bool read_block(struct cfi_program *p, struct cfi_bytes *ret)
{
	uint64_t len;

	if (!cfi_read_uleb(&p->left, &len) || len > p->left.len)
		return false;
	*ret = (struct cfi_bytes){p->left.p, (size_t)len};
	p->left.p += len;
	p->left.len -= (size_t)len;
	return true;
}

/* ---- instructions ---- */

/* Returns the register's part of a state; NULL: the register is not followed. */
static struct cfi_register *find_register(const struct cfi_machine *m, struct cfi_state *s,
					  uint64_t number)
{
	return number == m->fp	 ? &s->fp
	       : number == m->ra ? &s->ra
	       : number == m->sp ? &s->sp
				 : NULL;
}

static void set_register(struct cfi_program *p, uint64_t number, struct cfi_register value)
{
	struct cfi_register *r = find_register(p->machine, &p->state, number);

	if (r)
		*r = value;
}

static void restore_register(struct cfi_program *p, uint64_t number)
{
	struct cfi_state initial = p->cie->initial;
	const struct cfi_register *r = find_register(p->machine, &initial, number);

	if (r)
		set_register(p, number, *r);
}

/* Moves the address of the next row. It may pass the end: then the current row is the last one. */
static bool begin_next_row(struct cfi_program *p, uint64_t delta)
{
	if (__builtin_mul_overflow(delta, p->cie->code_factor, &delta) ||
	    __builtin_add_overflow(p->address, delta, &p->address))
		p->address = UINT64_MAX;
	return true;
}

static bool execute_advance(struct cfi_program *p, size_t n_bytes)
{
	uint64_t delta;

	return cfi_read_fixed(&p->left, n_bytes, &delta) && begin_next_row(p, delta);
}

/* Executes DW_CFA_def_cfa and its variants. */
static bool define_cfa(struct cfi_program *p, uint8_t op)
{
	struct cfi_state *s = &p->state;
	bool has_register =
		op == DW_CFA_def_cfa || op == DW_CFA_def_cfa_sf || op == DW_CFA_def_cfa_register;
	uint64_t offset;

	if (op == DW_CFA_def_cfa_expression)
		return read_block(p, &s->cfa_expression);
	if (has_register && !cfi_read_uleb(&p->left, &s->cfa_register))
		return false;
	if (op == DW_CFA_def_cfa_sf || op == DW_CFA_def_cfa_offset_sf) {
		if (!read_factored_offset(p, true, &s->cfa_offset))
			return false;
	} else if (op != DW_CFA_def_cfa_register) {
		if (!cfi_read_uleb(&p->left, &offset))
			return false;
		s->cfa_offset = (int64_t)offset;
	}
	s->cfa_expression = (struct cfi_bytes){NULL, 0};
	return true;
}

/* Executes an instruction with a register and, mostly, an operand. */
static bool save_register(struct cfi_program *p, uint8_t op)
{
	struct cfi_register r = {.saved = CFI_OTHER};
	uint64_t number, other;

	if (!cfi_read_uleb(&p->left, &number))
		return false;
	switch (op) {
	case DW_CFA_offset_extended:
	case DW_CFA_offset_extended_sf:
		r.saved = CFI_AT_CFA;
		if (!read_factored_offset(p, op == DW_CFA_offset_extended_sf, &r.offset))
			return false;
		break;
	case DW_CFA_val_offset:
	case DW_CFA_val_offset_sf:
		if (!read_factored_offset(p, op == DW_CFA_val_offset_sf, &r.offset))
			return false;
		break;
	case DW_CFA_expression:
		r.saved = CFI_AT_EXPRESSION;
		if (!read_block(p, &r.expression))
			return false;
		break;
	case DW_CFA_val_expression:
		if (!read_block(p, &r.expression))
			return false;
		break;
	case DW_CFA_register:
		if (!cfi_read_uleb(&p->left, &other))
			return false;
		break;
	case DW_CFA_undefined:
		r.saved = CFI_UNDEFINED;
		break;
	default: /* DW_CFA_same_value */
		r.saved = CFI_SAME;
	}
	set_register(p, number, r);
	return true;
}

/* Executes the next instruction. Returns false if it is wrong or not supported. */
static bool execute_one(struct cfi_program *p)
{
	uint64_t op, number;
	int64_t offset;

	if (!cfi_read_fixed(&p->left, 1, &op))
		return false;
	switch (op & 0xc0) { /* these have an operand in their lower bits */
	case DW_CFA_advance_loc:
		return begin_next_row(p, op & 0x3f);
	case DW_CFA_offset:
		if (!read_factored_offset(p, false, &offset))
			return false;
		set_register(p, op & 0x3f, (struct cfi_register){CFI_AT_CFA, offset, {NULL, 0}});
		return true;
	case DW_CFA_restore:
		restore_register(p, op & 0x3f);
		return true;
	}
	switch (op) {
	case DW_CFA_nop:
		return true;
	case DW_CFA_advance_loc1:
		return execute_advance(p, 1);
	case DW_CFA_advance_loc2:
		return execute_advance(p, 2);
	case DW_CFA_advance_loc4:
		return execute_advance(p, 4);
	case DW_CFA_remember_state:
		if (p->n_saved == CFI_STATES_MAX)
			return false;
		p->saved[p->n_saved++] = p->state;
		return true;
	case DW_CFA_restore_state:
		if (p->n_saved == 0)
			return false;
		p->state = p->saved[--p->n_saved];
		return true;
	case DW_CFA_def_cfa:
	case DW_CFA_def_cfa_sf:
	case DW_CFA_def_cfa_register:
	case DW_CFA_def_cfa_offset:
	case DW_CFA_def_cfa_offset_sf:
	case DW_CFA_def_cfa_expression:
		return define_cfa(p, (uint8_t)op);
	case DW_CFA_offset_extended:
	case DW_CFA_offset_extended_sf:
	case DW_CFA_val_offset:
	case DW_CFA_val_offset_sf:
	case DW_CFA_expression:
	case DW_CFA_val_expression:
	case DW_CFA_register:
	case DW_CFA_undefined:
	case DW_CFA_same_value:
		return save_register(p, (uint8_t)op);
	case DW_CFA_restore_extended:
		if (!cfi_read_uleb(&p->left, &number))
			return false;
		restore_register(p, number);
		return true;
	case DW_CFA_GNU_args_size:
		return cfi_read_uleb(&p->left, &number);
	case DW_CFA_GNU_window_save: /* of arm64: DW_CFA_AARCH64_negate_ra_state */
		return p->machine->is_arm64;
	default: /* also DW_CFA_set_loc, which no compiler writes */
		return false;
	}
}

bool cfi_program_next(struct cfi_program *p, uint64_t *ret_begin, uint64_t *ret_end)
{
	*ret_begin = p->address;
	while (p->address == *ret_begin && p->left.len)
		if (!execute_one(p)) {
			p->left.len = 0;
			return false;
		}
	if (p->address == *ret_begin)
		p->address = p->end; /* the last row: all instructions are read */
	*ret_end = p->address < p->end ? p->address : p->end;
	return *ret_begin < *ret_end;
}

bool cfi_cie_execute(const struct cfi_machine *machine, struct cfi_cie *cie, struct cfi_bytes ops)
{
	struct cfi_program p = {.machine = machine, .cie = cie, .left = ops};

	while (p.left.len)
		if (!execute_one(&p))
			return false;
	cie->initial = p.state;
	return true;
}
