/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "analyze/import/importer.h"

/* Rows by their contents, or by what they were read from, for tables whose rows are all different. */

enum row_kind {
	ROW_CALLSTACK, /* by state, process, iid: the innermost call site */
	ROW_INTERNED_FRAME, /* by state, process, iid */
	ROW_INTERNED_MAPPING, /* by state, process, iid */
	ROW_ASYNC_CONTEXT, /* by state, iid */
	ROW_MAPPING, /* by contents, as the next ones */
	ROW_CALLSITE,
	ROW_FRAME,
	ROW_FUNCTION, /* a frame without an address */
	ROW_TASK_CONTEXT,
	ROW_EXECUTION_CONTEXT,
};

struct row_key {
	uint64_t kind;
	uint64_t of[7]; /* the rest is 0 */
};

/* Returns NULL_U32 if there is none. */
uint32_t row_keys_find(const struct import *im, const struct row_key *key);
/* Notes the row of a key that has none. Returns the row; without memory sets the budget's error. */
uint32_t row_keys_add(struct import *im, const struct row_key *key, uint32_t row);
void row_keys_deinit(struct import *im);
