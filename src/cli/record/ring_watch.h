/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdint.h>
#include <sys/types.h>

#include "base/text/str.h"

/*
 * The kernel rings of a running recording, seen from outside: sonda-probes gives each session a
 * tracefs instance whose name tells its pid and the session, and the kernel counts in it.
 */

struct ring_totals {
	uint64_t events; /* written by the kernel, read or not, lost ones included */
	uint64_t lost; /* overwritten or dropped before they were read */
	unsigned cpus;
};

/* Appends the path of the session's instance. */
void ring_watch_path(struct strbuf *b, const char *tracefs_root, pid_t probes, uint64_t session);
/* Adds up per_cpu/cpu* /stats of an instance. 0, or -errno when there is none, or none for us. */
int ring_watch_read(const char *instance, struct ring_totals *ret);
