/* SPDX-License-Identifier: Apache-2.0 */
#include "stacks/files/cfi_rule.h"

#include <string.h>

#include <dwarf.h>

static bool equals_expression(struct cfi_bytes expression, const void *bytes, size_t len)
{
	return expression.len == len && memcmp(expression.p, bytes, len) == 0;
}

/* Reads "register + offset" at the start of an expression. Returns false if it begins otherwise. */
static bool read_breg(struct cfi_bytes *s, uint64_t *ret_register, int64_t *ret_offset)
{
	uint64_t op;

	if (!cfi_read_fixed(s, 1, &op) || op < DW_OP_breg0 || op > DW_OP_breg31)
		return false;
	*ret_register = op - DW_OP_breg0;
	return cfi_read_sleb(s, ret_offset);
}

/* Handles the expressions for the CFA that compilers, linkers and assembly for OpenSSL write.
 * Returns false for all others. */
static bool set_cfa_by_expression(const struct cfi_machine *m, struct cfi_bytes s,
				  struct unwind_rule *rule)
{
	/* sp + 8 + 8 * (pc % 16 >= N) is N in the middle of these. */
	static const uint8_t plt[] = {DW_OP_breg7, 8, DW_OP_breg16, 0, DW_OP_lit15, DW_OP_and};
	static const uint8_t plt_end[] = {DW_OP_ge, DW_OP_lit3, DW_OP_shl, DW_OP_plus};
	uint64_t number, op, plus = 0;
	int64_t offset;

	if (!m->is_arm64 && s.len == sizeof(plt) + 1 + sizeof(plt_end) &&
	    memcmp(s.p, plt, sizeof(plt)) == 0 &&
	    memcmp(s.p + sizeof(plt) + 1, plt_end, sizeof(plt_end)) == 0 &&
	    s.p[sizeof(plt)] >= DW_OP_lit0 && s.p[sizeof(plt)] <= DW_OP_lit15) {
		rule->base = UNWIND_BASE_PLT;
		rule->cfa_offset = s.p[sizeof(plt)] - DW_OP_lit0;
		return true;
	}
	if (!read_breg(&s, &number, &offset) || (number != m->sp && number != m->fp) ||
	    !cfi_read_fixed(&s, 1, &op) || op != DW_OP_deref)
		return false;
	if (s.len && (!cfi_read_fixed(&s, 1, &op) || op != DW_OP_plus_uconst ||
		      !cfi_read_uleb(&s, &plus) || s.len))
		return false;
	rule->base = number == m->sp ? UNWIND_BASE_AT_SP : UNWIND_BASE_AT_FP;
	rule->cfa_offset = (int32_t)offset;
	rule->cfa_plus = (int8_t)plus;
	return rule->cfa_offset == offset && plus <= INT8_MAX;
}

/* Sets the base of the CFA. Returns false if a rule cannot express it. */
static bool set_cfa(const struct cfi_machine *m, const struct cfi_state *s,
		    struct unwind_rule *rule)
{
	if (s->cfa_expression.p)
		return set_cfa_by_expression(m, s->cfa_expression, rule);
	rule->base = s->cfa_register == m->sp ? UNWIND_BASE_SP : UNWIND_BASE_FP;
	rule->cfa_offset = (int32_t)s->cfa_offset;
	return (s->cfa_register == m->sp || s->cfa_register == m->fp) &&
	       rule->cfa_offset == s->cfa_offset;
}

/* Sets the rule for fp; UNWIND_UNKNOWN if it is computed in a way that no rule expresses. A value
 * at fp + offset is trusted only while the CFA is also found by fp: in functions that realign their
 * stack, GCC keeps the expression for the last instruction too, where fp is the caller's again. */
static void set_fp(const struct cfi_machine *m, const struct cfi_state *s, struct unwind_rule *rule)
{
	struct cfi_bytes expression = s->fp.expression;
	int64_t offset = s->fp.offset;
	uint64_t number;

	rule->fp = UNWIND_UNKNOWN;
	if (s->fp.saved == CFI_UNSPECIFIED || s->fp.saved == CFI_SAME)
		rule->fp = UNWIND_SAME;
	else if (s->fp.saved == CFI_AT_CFA && offset == (int16_t)offset)
		rule->fp = UNWIND_AT_CFA;
	else if (s->fp.saved == CFI_AT_EXPRESSION && rule->base == UNWIND_BASE_AT_FP &&
		 read_breg(&expression, &number, &offset) && number == m->fp &&
		 expression.len == 0 && offset == (int16_t)offset)
		rule->fp = UNWIND_AT_FP;
	rule->fp_offset =
		rule->fp == UNWIND_AT_CFA || rule->fp == UNWIND_AT_FP ? (int16_t)offset : 0;
}

/* Returns false if the unwinder cannot find the return address. */
static bool set_ra(const struct cfi_machine *m, const struct cfi_state *s, struct unwind_rule *rule)
{
	if (m->is_arm64 && (s->ra.saved == CFI_UNSPECIFIED || s->ra.saved == CFI_SAME)) {
		rule->ra = UNWIND_SAME;
		return true;
	}
	rule->ra = UNWIND_AT_CFA;
	rule->ra_offset = (int16_t)s->ra.offset;
	return s->ra.saved == CFI_AT_CFA && rule->ra_offset == s->ra.offset &&
	       (m->is_arm64 || rule->ra_offset == -8);
}

/* Returns true for a frame whose rows are those of a signal frame. On x86-64 it has the caller's
 * rsp at rsp + 160, in its struct ucontext. */
static bool is_signal_frame(const struct cfi_machine *m, const struct cfi_state *s)
{
	static const uint8_t rsp_of_ucontext[] = {DW_OP_breg7, 0xa0, 0x01, DW_OP_deref};

	return m->is_arm64 ||
	       equals_expression(s->cfa_expression, rsp_of_ucontext, sizeof(rsp_of_ucontext));
}

uint16_t cfi_rule_from_state(const struct cfi_machine *m, const struct cfi_state *s, bool is_signal,
			     struct unwind_rule *ret)
{
	*ret = (struct unwind_rule){0};
	if (is_signal)
		return is_signal_frame(m, s) ? UNWIND_SIGNAL : UNWIND_NO_CALLER;
	if (s->ra.saved == CFI_UNDEFINED)
		return UNWIND_END;
	if (s->sp.saved != CFI_UNSPECIFIED || !set_cfa(m, s, ret) || !set_ra(m, s, ret))
		return UNWIND_NO_CALLER;
	set_fp(m, s, ret);
	return UNWIND_RULES_FIRST;
}
