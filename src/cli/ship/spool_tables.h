/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/core/err.h"
#include "cli/ship/spool.h"

/* The tables of an entry, made by a process without rights: the trace is hostile. */

struct spool_tables_job {
	int dir; /* with trace.pftrace; the tables are written here as TABLE.parquet */
	const char *const *tables; /* those that have rows are written */
	size_t n_tables;
	const char *uuid; /* of the entry */
	uint64_t memory; /* bytes for the tables in memory */
	const volatile sig_atomic_t *stop;
};

/* What the process has found in the trace. Texts are hostile, but end with a NUL. */
struct spool_facts {
	int error; /* 0 or -errno */
	char problem[256]; /* of the error */
	bool has_start;
	int64_t start_realtime_ns;
	char trace_uuid[64]; /* "": none */
	char losses[4096]; /* JSON; "": unknown */
};

/* Makes the tables, and reads the facts. Returns 0, also if the trace cannot be read: then
 * ret->error is set. Returns -EINTR if *stop was set, or -errno and sets e: no process could be
 * started. */
int spool_tables_make(const struct spool_tables_job *job, struct spool_facts *ret,
		      struct err_text *e);
