/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/core/err.h"
#include "bpf/program_names.h"

/* Which processes a config selects, for programs that compare in the kernel. */

/* Copies the names of programs, at most max, into ret, which is zeroed. field is its name in the
 * config, for errors. Returns 0, or -EINVAL and sets e. */
int process_selection_copy_programs(const char *field, char *const *names, size_t n,
				    char ret[][PROGRAM_NAME_SIZE], size_t max, uint32_t *ret_n,
				    struct err_text *e);

/* Copies process ids, at most max. *ret is owned by the caller, also if n is 0. Returns 0, -EINVAL
 * and sets e, or -ENOMEM. */
int process_selection_copy_pids(const char *field, const uint32_t *pids, size_t n, size_t max,
				uint32_t **ret, size_t *ret_n, struct err_text *e);
