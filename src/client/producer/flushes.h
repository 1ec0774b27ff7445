/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "client/producer/data_source.h"

/* The flushes of an instance that wait for their answer. */

/* At a time; the owner answers these before it adds one more, with what is written by then. */
#define FLUSHES_MAX 16

/* Zero-initialise. */
struct flushes {
	uint64_t ids[FLUSHES_MAX];
	unsigned n;
};

/* One that was asked for: false, there is no room. */
static inline bool flushes_add(struct flushes *f, uint64_t id)
{
	if (f->n == FLUSHES_MAX)
		return false;
	f->ids[f->n++] = id;
	return true;
}

static inline void flushes_answer(struct flushes *f, struct ds_handle *h)
{
	for (unsigned i = 0; i < f->n; i++)
		ds_flushed(h, f->ids[i]);
	f->n = 0;
}
