/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <linux/types.h>

#include "bpf/unwind_tables.h"
#include "stacks/files/cfi_program.h"

/*
 * Translates the state at an address into a rule of the unwinder, for the forms that compilers,
 * linkers and the assembly of glibc and OpenSSL use. Returns UNWIND_RULES_FIRST and sets *ret; or
 * the number of a rule that is not in the table: UNWIND_NO_CALLER for all other forms.
 *
 * is_signal: the function is the return from a signal handler.
 */
uint16_t cfi_rule_from_state(const struct cfi_machine *m, const struct cfi_state *s, bool is_signal,
			     struct unwind_rule *ret);
