/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <sqlite3.h>
#include <stdint.h>

#include "analyze/dialect/database.h"
#include "analyze/import/import.h"
#include "analyze/store/store.h"
#include "base/core/err.h"
#include "config/trace_config.pb-c.h"

/* A trace file as an SQL database, for the verbs that read traces. */

struct trace_tables {
	const char *path; /* borrowed */
	struct store store;
	struct import_result result;
	Pb__TraceConfig *config; /* owned; NULL: the trace has none, or one that is not valid */
	struct database *database; /* owned */
	sqlite3 *db; /* of the database */
};

/* Converts the value of --memory, such as "2g", to bytes. Returns 0, or -EINVAL and sets e. */
int trace_tables_parse_memory(const char *text, uint64_t *ret, struct err_text *e);

/* For --no-cache: later calls of trace_tables_open() read no cache and write none. Returns 0, or
 * -ENOMEM and sets e. */
int trace_tables_disable_cache(struct err_text *e);

/* Reads the trace. path: "-" is the standard input. memory: bytes that it may take; 0: half of the
 * machine's. Returns 0, or -errno and sets e; then there is nothing to close. */
int trace_tables_open(const char *path, uint64_t memory, struct trace_tables *ret,
		      struct err_text *e);
void trace_tables_close(struct trace_tables *t);

/* Logs what could not be used: a file that is cut off, packets that are invalid. */
void trace_tables_warn(const struct trace_tables *t);
