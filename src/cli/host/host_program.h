/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdint.h>
#include <sys/types.h>

#include "base/core/err.h"

/* Finds the static program that can be copied to a machine without sonda: the file that
 * SONDA_STATIC names; else the running program if it is static; else lib/sonda/sonda-static-MACHINE
 * in the parent of its directory (PREFIX/bin), or static/sonda there (build/bin). machine: as
 * uname(2) has it, untrusted. Returns its descriptor and sets *ret_size, or -errno and sets e,
 * which may contain the name of the machine as it is. */
int host_program_open(const char *machine, uint64_t *ret_size, struct err_text *e);
