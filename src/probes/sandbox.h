/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdint.h>

#include "base/core/err.h"

/*
 * What sonda-probes gives up once tracefs is found and put in order:
 *
 *	files		it changes none but those of tracefs, its state folder and kptr_restrict
 *			(Landlock); a child reads what a process in a Landlock domain may not
 *			(base/system/outside_reads.h)
 *	system calls	no new process or program, no mounts, no memory to execute
 *	capabilities	the effective set is what the data sources that run have asked for; while
 *			nothing is recorded it is empty
 *	being looked at	no core dumps, no ptrace by its own user: it holds what it reads of all
 *
 * What the kernel does not have is logged. A build with a sanitizer keeps all, and says so.
 */
struct sandbox_places {
	const char *tracefs; /* NULL: none */
	const char *state; /* the folder of records, made here; NULL: none */
};

/* 0; or -errno with the reason: the process must not go on. */
int sandbox_enter(const struct sandbox_places *places, struct err_text *e);

/* Bits 1 << CAP_*, of those that sonda-probes keeps. Logs once what goes wrong. */
void sandbox_want_capabilities(uint64_t mask);
