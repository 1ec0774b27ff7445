/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A sink with one growing range. It always contains all open length fields, so every short message
 * is compacted.
 */
#include "wire/pb_mem.h"

#include <errno.h>
#include <stdlib.h>

#include "base/core/mem.h"

#define MEM_FIRST 512

/* Grows the range instead of starting a new one; the open length fields move with it. */
static void mem_refill(struct pb_enc *e)
{
	struct pb_mem *m = container_of(e, struct pb_mem, enc);
	size_t used = (size_t)(e->cur - e->begin), cap = (size_t)(e->end - e->begin) * 2;
	uint8_t *buf;

	if (m->failed || !(buf = realloc(m->buf, cap))) {
		/* Overwrite the same bytes repeatedly; they are never read. */
		m->failed = true;
		e->cur = e->begin;
		for (unsigned i = 0; i < e->depth; i++) {
			e->nest[i].size_field = m->scratch;
			e->nest[i].start = 0;
		}
		return;
	}
	for (unsigned i = 0; i < e->depth; i++)
		e->nest[i].size_field = buf + (e->nest[i].size_field - e->begin);
	m->buf = e->begin = buf;
	e->cur = buf + used;
	e->end = buf + cap;
}

int pb_mem_init(struct pb_mem *m)
{
	uint8_t *buf = malloc(MEM_FIRST);

	if (!buf)
		return -ENOMEM;
	m->buf = buf;
	m->failed = false;
	pb_enc_init(&m->enc, buf, buf + MEM_FIRST, mem_refill);
	return 0;
}

void pb_mem_deinit(struct pb_mem *m)
{
	free(m->buf);
	m->buf = NULL;
}

void pb_mem_reset(struct pb_mem *m)
{
	pb_enc_init(&m->enc, m->buf, m->enc.end, mem_refill);
	m->failed = false;
}
