// SPDX-License-Identifier: Apache-2.0
/*
 *	page -> page_next -> record -> table[id] -> ROW_FIELDS            event_encode, in place
 *	                                            ROW_COMPACT_SWITCH    columns of compact_sched
 *	                                            none                  skipped
 *
 * A bundle begins with the first thing there is to say, and ends after BUNDLE_MAX_PAGES, when a
 * table of it is full, where records were lost, or with the CPU's turn.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/mem.h"
#include "ftrace/load.h"
#include "ftrace/translate.h"

int translator_new(const struct event_table *table, const struct page_layout *layout,
		   struct writer *writer, struct translator **ret)
{
	struct translator *t = calloc(1, sizeof(*t));
	uint32_t max_len = layout->size;

	if (!t)
		return -ENOMEM;
	t->table = table;
	t->layout = *layout;
	t->ctx.syms = &t->bundle.syms;
	t->ctx.strings = &table->strings;
	t->scratch = malloc(event_table_bound(table, max_len));
	if (!t->scratch || bundle_init(&t->bundle, writer, table->n_generic)) {
		translator_free(t);
		return -ENOMEM;
	}
	*ret = t;
	return 0;
}

struct translator *translator_free(struct translator *t)
{
	if (!t)
		return NULL;
	bundle_deinit(&t->bundle);
	free(t->scratch);
	free(t);
	return NULL;
}

static void begin(struct translator *t, struct cpu_stream *cpu, bool lost, uint64_t lost_count)
{
	bundle_begin(&t->bundle, &(struct bundle_head){
					 .cpu = cpu->cpu,
					 .lost = lost,
					 .lost_count = lost_count,
					 .previous_end = cpu->end_time,
					 .sync = &t->sync,
				 });
	cpu->pages = 0;
}

static void note(struct translator *t, struct cpu_stream *cpu, uint64_t time,
		 enum page_status status)
{
	t->status_counts[status]++;
	if (!t->bundle.enc)
		begin(t, cpu, false, 0);
	bundle_error(&t->bundle, time, status);
}

static void write_event(struct translator *t, const struct event_row *row,
			const struct page_record *r)
{
	struct pb_enc *e = t->bundle.enc;

	if (row->generic_index != ROW_NOT_GENERIC)
		bundle_describe(&t->bundle, row);
	if (event_encode_bound(row, r->len) <= (size_t)(e->end - e->cur))
		e->cur = event_encode(row, r, &t->ctx, e->cur);
	else
		pb_enc_raw(e, t->scratch,
			   (size_t)(event_encode(row, r, &t->ctx, t->scratch) - t->scratch));
}

/* PAGE_OK, or what is wrong with the record. */
static inline enum page_status translate_record(struct translator *t, struct cpu_stream *cpu,
						const struct page_record *r)
{
	const struct event_row *row = event_table_row(t->table, load16(r->payload));

	if (!row) {
		t->unknown++;
		return PAGE_OK;
	}
	if (r->len < row->min_len)
		return row->kind == ROW_COMPACT_SWITCH || row->kind == ROW_COMPACT_WAKING
			       ? PAGE_SHORT_COMPACT_EVENT
			       : PAGE_INVALID_EVENT;
	if (!t->bundle.enc)
		begin(t, cpu, false, 0);
	if (row->kind == ROW_COMPACT_SWITCH)
		compact_sched_switch(&t->bundle.compact, row, r, &t->ctx);
	else if (row->kind == ROW_COMPACT_WAKING)
		compact_sched_waking(&t->bundle.compact, row, r, &t->ctx);
	else
		write_event(t, row, r);
	cpu->end_time = r->time;
	cpu->events++;
	if (bundle_full(&t->bundle))
		bundle_end(&t->bundle);
	if (!t->ctx.bad_field)
		return PAGE_OK;
	t->ctx.bad_field = false;
	return PAGE_INVALID_EVENT;
}

uint32_t translate_page(struct translator *t, struct cpu_stream *cpu, const void *data, size_t len)
{
	enum page_status status, bad = PAGE_OK;
	struct page_record r;
	uint64_t page_time;
	struct page page;
	uint32_t used;

	status = page_open(&page, &t->layout, data, len);
	page_time = page.time;
	used = (uint32_t)(page.end - page.cur);
	if (page.lost) {
		bundle_end(&t->bundle);
		begin(t, cpu, true, page.lost_count);
		cpu->lost += page.lost_count;
	}
	if (status == PAGE_OK) {
		while ((status = page_next(&page, &r)) == PAGE_OK) {
			enum page_status record_status = translate_record(t, cpu, &r);

			if (record_status != PAGE_OK)
				bad = record_status;
		}
	}
	/* One word a page: damage repeats itself. */
	if (bad != PAGE_OK)
		note(t, cpu, page_time, bad);
	if (status != PAGE_END)
		note(t, cpu, page_time, status);
	if (++cpu->pages >= BUNDLE_MAX_PAGES)
		bundle_end(&t->bundle);
	return used;
}

void translate_end(struct translator *t, struct cpu_stream *cpu)
{
	bundle_end(&t->bundle);
	cpu->pages = 0;
}
