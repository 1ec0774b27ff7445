/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdint.h>

#include "base/core/err.h"

/*
 * Drops privileges after tracefs was found and cleaned up:
 *
 *	groups        none is dropped; joins the one that sees all processes despite hidepid
 *	files         writes only to tracefs, the state directory and kptr_restrict
 *	              (Landlock); a child reads what a process in a Landlock domain may not
 *	              (base/system/outside_reads.h)
 *	system calls  no new process or program, no mounts, no executable memory
 *	capabilities  the effective set has only what running data sources requested; it is
 *	              empty while nothing is recorded
 *	inspection    no core dumps, no ptrace by its own user, because it holds data of all users
 *
 * Features that the kernel lacks are logged. A build with a sanitizer drops nothing and logs that.
 */
struct sandbox_paths {
	const char *tracefs; /* NULL: none */
	const char *state; /* state directory, created by sandbox_enter(); NULL: none */
};

/* Returns 0, or -errno and sets e; then the process must not continue. */
int sandbox_enter(const struct sandbox_paths *paths, struct err_text *e);

/* Sets the effective capabilities: bits 1 << CAP_* of those that sonda-probes keeps. Logs the first
 * error. */
void sandbox_set_capabilities(uint64_t mask);
