/* SPDX-License-Identifier: Apache-2.0 */
/* Call stacks as a profile of pprof, compressed by gzip. */
#include <zlib.h>

#include "analyze/stacks/pprof.h"
#include "base/core/mem.h"
#include "cli/export/export.h"
#include "cli/export/export_stacks.h"

/* Writes a sample with its labels. If the stack could not be taken, the sample has no location. */
static void put_sample(struct pprof *p, const struct export_stacks *x, enum stack_kind kind,
		       const struct stack_point *point)
{
	pprof_begin_sample(p);
	pprof_put_callsite(p, point->site);
	pprof_put_value(p, point->n);
	if (kind != STACKS_CPU)
		pprof_put_value(p, point->weight);
	if (point->utid < x->n_threads) {
		pprof_put_label(p, "process", x->threads[point->utid].process);
		if (!point->of_process)
			pprof_put_label(p, "thread", x->threads[point->utid].thread);
	}
	if (point->reason != NULL_U32)
		pprof_put_label(p, "reason", strings_get(&p->s->strings, point->reason));
	pprof_end_sample(p);
}

static int write_compressed(const void *data, size_t len, FILE *to)
{
	z_stream z = {.next_in = (Bytef *)(uintptr_t)data};
	uint8_t buf[16384];
	int r = deflateInit2(&z, Z_DEFAULT_COMPRESSION, Z_DEFLATED, 15 + 16 /* gzip */, 8,
			     Z_DEFAULT_STRATEGY);

	while (r == Z_OK) {
		uInt step = (uInt)MIN(len, (size_t)1 << 30);

		if (!z.avail_in) {
			z.avail_in = step;
			len -= step;
		}
		z.next_out = buf;
		z.avail_out = sizeof(buf);
		r = deflate(&z, len ? Z_NO_FLUSH : Z_FINISH);
		if (r == Z_BUF_ERROR)
			r = Z_OK;
		fwrite(buf, 1, sizeof(buf) - z.avail_out, to);
	}
	deflateEnd(&z);
	return r == Z_STREAM_END ? SQLITE_OK : SQLITE_NOMEM;
}

static void put_samples(struct pprof *p, const struct export_stacks *x, enum stack_kind kind)
{
	pprof_add_value_type(p, kind == STACKS_CPU ? "samples" : "waits", "count");
	if (kind != STACKS_CPU)
		pprof_add_value_type(p, "blocked", "nanoseconds");
	for (size_t i = 0; i < x->points.n; i++)
		if (kind != STACKS_WAKERS || x->points.of[i].site != NULL_U32)
			put_sample(p, x, kind, &x->points.of[i]);
	pprof_set_trace(p, kind == STACKS_CPU ? "samples" : "blocked");
	pprof_finish(p);
}

static int export_pprof_kind(const struct trace_tables *t, enum stack_kind kind, FILE *to)
{
	struct export_stacks x;
	struct pprof p;
	int r = export_stacks_init(&x, t->db, &t->store, kind);

	if (r == SQLITE_OK && pprof_init(&p, &t->store, &x.code) < 0)
		r = SQLITE_NOMEM;
	if (r == SQLITE_OK) {
		put_samples(&p, &x, kind);
		r = pprof_is_complete(&p) ? write_compressed(p.out.buf, pb_mem_len(&p.out), to)
					  : SQLITE_NOMEM;
		pprof_deinit(&p);
	}
	export_stacks_deinit(&x);
	return r;
}

int export_pprof_stacks(const struct trace_tables *t, FILE *to)
{
	return export_pprof_kind(t, STACKS_CPU, to);
}

int export_pprof_waits(const struct trace_tables *t, FILE *to)
{
	return export_pprof_kind(t, STACKS_WAITS, to);
}

int export_pprof_wakers(const struct trace_tables *t, FILE *to)
{
	return export_pprof_kind(t, STACKS_WAKERS, to);
}
