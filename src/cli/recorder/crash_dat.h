/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/core/err.h"

/*
 * A trace.dat (version 6) that is written in two steps, because only the running kernel describes
 * its events, and only the next one has their pages:
 *
 *	crash_dat_begin()	| head | formats of events | kernel symbols |
 *	crash_dat_finish()						    | options | pages of CPU 0, 1 ... |
 *
 * `sonda import` and trace-cmd read the whole file. Format: trace-cmd.dat.v6(5).
 */

/* Events of the kernel, "group/name"; those that it lacks are left out. */
struct crash_dat_events {
	const char *const *names; /* borrowed */
	size_t n;
};

/* What becomes an option of the file. */
struct crash_dat_facts {
	const char *clock; /* name of the clock of the ring */
	const char *machine; /* sysname, nodename, release and machine of uname(2) */
	int64_t date_ns; /* CLOCK_REALTIME minus the ring's clock; 0: not known */
	uint32_t n_cpus; /* that the machine had */
};

/* What the ring held. */
struct crash_dat_pages {
	uint64_t pages;
	uint32_t cpus; /* that had a page */
};

/* Writes the first part to fd. tracefs: the mount point; kallsyms: path of the symbols. Returns 0,
 * or -errno and sets e. */
int crash_dat_begin(int fd, const char *tracefs, const char *kallsyms,
		    const struct crash_dat_events *events, struct err_text *e);
/* Appends the pages that the tracefs instance holds, which removes them from it. Returns 0, or
 * -errno and sets e. */
int crash_dat_finish(int fd, const char *instance, const struct crash_dat_facts *facts,
		     struct crash_dat_pages *ret, struct err_text *e);
