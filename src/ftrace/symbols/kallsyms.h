/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/core/err.h"

/*
 * /proc/kallsyms with the addresses in it.
 *
 * Who has CAP_SYSLOG sees them as long as kptr_restrict is 0 or 1. Above that nobody does; then the
 * value is lowered for as long as it takes to open the file, because the kernel decides at that
 * moment, and set back before the first byte is read. Only a SIGKILL between these two writes could
 * leave it lowered.
 */

/* A descriptor, at the file's beginning; or -errno with a sentence in e: -EACCES where no address
 * can be seen. */
int kallsyms_open(const char *proc_root, struct err_text *e);
