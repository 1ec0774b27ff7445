/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <sqlite3.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/stacks/code.h"
#include "analyze/store/store.h"
#include "wire/pb_enc.h"

/*
 * Builds a profile of pprof: a message Profile of profile.proto, not compressed. Its parts refer to
 * each other by ids from 1 on, and to texts by their index in string_table, whose first one is
 * empty:
 *
 *	sample   ->  location (a frame)  ->  mapping
 *	               line  ->  function (of struct code)
 *
 * Only frames of samples are written. The ids of locations and mappings are rows of the tables + 1.
 *
 *	pprof_init(&p, store, code);
 *	pprof_add_value_type(&p, "samples", "count");
 *	for each sample:  pprof_begin_sample(&p); pprof_put_...; pprof_end_sample(&p);
 *	pprof_finish(&p);
 *	if (pprof_is_complete(&p))
 *		... p.out.buf, pb_mem_len(&p.out) ...
 *	pprof_deinit(&p);
 */
struct pprof {
	const struct store *s; /* borrowed */
	const struct code *code; /* borrowed */
	struct pb_mem out;
	struct pprof_text *texts; /* owned hash, in the order of their indexes */
	bool *has_frame; /* owned; by row of stack_profile_frame: a sample has it */
	bool failed; /* memory ran out */
};

/* code and s are borrowed. Returns 0 or -ENOMEM (then deinit is not required). */
int pprof_init(struct pprof *p, const struct store *s, const struct code *code);
void pprof_deinit(struct pprof *p);

/* Adds what the next value of each sample means. */
void pprof_add_value_type(struct pprof *p, const char *type, const char *unit);

/* A sample begins with its locations, the innermost first. Then come as many values as there are
 * types, then labels. */
void pprof_begin_sample(struct pprof *p);
/* All frames of a row of stack_profile_callsite, one frame, and code of which only the name is
 * known. Rows that do not exist have no locations. */
void pprof_put_callsite(struct pprof *p, uint32_t row);
void pprof_put_frame(struct pprof *p, uint32_t row);
void pprof_put_name(struct pprof *p, const void *name, size_t len);
void pprof_put_value(struct pprof *p, int64_t value);
void pprof_put_label(struct pprof *p, const char *key, const char *text);
void pprof_end_sample(struct pprof *p);

/* Sets the time of the trace, and the type of values that readers show first. */
void pprof_set_trace(struct pprof *p, const char *default_type);
/* Writes what the samples refer to. */
void pprof_finish(struct pprof *p);
static inline bool pprof_is_complete(const struct pprof *p)
{
	return !p->failed && !p->out.failed;
}

/* Registers the aggregate experimental_profile(). Returns an SQLite result code. */
int pprof_function_register(sqlite3 *db, struct store *s);
