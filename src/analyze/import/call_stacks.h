/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "analyze/import/importer.h"

/*
 * Call stacks of samples and of track events: rows of mappings, frames, their sources and call
 * sites.
 */

/* The state in which iids are looked up, and the process whose code they describe. */
struct stack_owner {
	struct machine *m;
	uint32_t state, upid; /* upid NULL_U32: unknown */
};

/* Returns the innermost call site of an interned call stack; NULL_U32, and counts it, if parts of
 * it are unknown or it has no frame. */
uint32_t call_stack_get_interned(struct import *im, const struct stack_owner *o, uint64_t iid);
/* Adds the frames of an InlineCallstack under a pseudo mapping with this name. Returns its
 * innermost call site; NULL_U32 if it has no frame. */
uint32_t call_stack_add_inline(struct import *im, const struct pb_field *message,
			       const char *mapping);
