/* SPDX-License-Identifier: Apache-2.0 */
/*
 *	page -> ring_page_next -> record -> table[id]
 *	          -> COMPILED_FIELDS            event_encode, in place
 *	          -> COMPILED_COMPACT_SWITCH    columns of compact_sched
 *	          -> COMPILED_SUBJECT_SWITCH    columns of subject_sched
 *	          -> COMPILED_PRINT             written or skipped by its text
 *	          -> COMPILED_OF_THREADS        written or skipped by its thread
 *	          -> COMPILED_METADATA          metadata for the bus, not written
 *	          -> none                       skipped
 *
 * A bundle starts with the first record or error. It ends after BUNDLE_MAX_BYTES, when one of its
 * tables is full, where records were lost, or at the end of the CPU's slice.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/core/mem.h"
#include "ftrace/events/page_encode.h"
#include "ftrace/format/unaligned.h"

int page_encoder_new_with_output(const struct event_table *table,
				 const struct ring_page_layout *layout,
				 const struct bundle_output *output, struct page_encoder **ret)
{
	struct page_encoder *t = calloc(1, sizeof(*t));

	if (!t)
		return -ENOMEM;
	t->table = table;
	t->layout = *layout;
	t->ctx.syms = &t->bundle.syms;
	t->ctx.strings = &table->strings;
	if (bundle_init(&t->bundle, output, table->n_generic) || page_encoder_reserve(t)) {
		page_encoder_free(t);
		return -ENOMEM;
	}
	*ret = t;
	return 0;
}

int page_encoder_new(const struct event_table *table, const struct ring_page_layout *layout,
		     struct writer *writer, struct page_encoder **ret)
{
	const struct bundle_output output = bundle_output_of_writer(writer);

	return page_encoder_new_with_output(table, layout, &output, ret);
}

int page_encoder_reserve(struct page_encoder *t)
{
	uint8_t *scratch = malloc(event_table_max_size(t->table, t->layout.size));

	if (!scratch || bundle_reserve(&t->bundle, t->table->n_generic)) {
		free(scratch);
		return -ENOMEM;
	}
	free(t->scratch);
	t->scratch = scratch;
	return 0;
}

void page_encoder_set_symbols(struct page_encoder *t, const struct symbol_table *symbols)
{
	t->ctx.symbols = symbols;
	t->bundle.symbols = symbols;
}

struct page_encoder *page_encoder_free(struct page_encoder *t)
{
	if (!t)
		return NULL;
	bundle_deinit(&t->bundle);
	pid_set_clear(&t->threads.members);
	free(t->scratch);
	free(t);
	return NULL;
}

static void page_encode_begin(struct page_encoder *t, struct cpu_stream *cpu, bool lost,
			      uint64_t lost_count)
{
	bundle_begin(&t->bundle, &(struct bundle_head){
					 .cpu = cpu->cpu,
					 .lost = lost || cpu->gap,
					 .lost_count = lost_count,
					 .previous_end = cpu->end_time,
					 .sync = &t->sync,
				 });
	if (lost || cpu->gap)
		subject_sched_lost(&cpu->subject);
	t->lost = t->lost || lost || cpu->gap;
	cpu->gap = false;
	cpu->bytes = 0;
}

static void write_page_error(struct page_encoder *t, struct cpu_stream *cpu, uint64_t time,
			     enum ring_page_status status)
{
	t->status_counts[status]++;
	t->lost = true;
	subject_sched_lost(&cpu->subject);
	if (!t->bundle.enc)
		page_encode_begin(t, cpu, false, 0);
	bundle_add_error(&t->bundle, time, status);
}

/* Writes an event. Not inlined, so that the loop keeps its state in registers. The record is
 * passed in pieces: a struct would be loaded as 16-byte words, which stall on the two pending
 * 8-byte stores. */
static NO_CANARY __attribute__((noinline)) enum ring_page_status write_event(
	struct page_encoder *t, const struct compiled_event *ev, uint64_t time,
	const uint8_t *payload, uint32_t len)
{
	const struct ring_record r = {.time = time, .payload = payload, .len = len};
	struct pb_enc *e = t->bundle.enc;

	if (ev->generic_index != COMPILED_NOT_GENERIC)
		bundle_add_description(&t->bundle, ev);
	if (event_encode_max_bytes(ev, r.len) <= (size_t)(e->end - e->cur))
		e->cur = event_encode(ev, &r, &t->ctx, e->cur);
	else
		pb_enc_raw(e, t->scratch,
			   (size_t)(event_encode(ev, &r, &t->ctx, t->scratch) - t->scratch));
	if (bundle_is_syms_full(&t->bundle))
		bundle_end(&t->bundle);
	if (!t->ctx.bad_field)
		return RING_PAGE_OK;
	t->ctx.bad_field = false;
	return RING_PAGE_INVALID_EVENT;
}

static bool passes_print_filter(const struct page_encoder *t, const struct compiled_event *ev,
				const struct ring_record *r)
{
	const struct field_op *op = ev->ops;
	uint32_t tid = load32(r->payload + ev->pid_offset);

	if (ev->kind != COMPILED_PRINT)
		return print_filter_allows_tid(t->table->prints, tid);
	while (op->type != FIELD_TAIL_STR)
		op++;
	return print_filter_allows(t->table->prints, tid, r->payload + op->offset,
				   r->len - op->offset);
}

static enum ring_page_status short_record_status(const struct compiled_event *ev)
{
	return ev->kind == COMPILED_COMPACT_SWITCH || ev->kind == COMPILED_COMPACT_WAKING ||
			       ev->kind >= COMPILED_SUBJECT_SWITCH
		       ? RING_PAGE_SHORT_COMPACT_EVENT
		       : RING_PAGE_INVALID_EVENT;
}

/* Filters a record of a kind of which not every record is written. Returns true if the record must
 * be written. Otherwise takes only its metadata. */
static __attribute__((noinline)) bool filter_record(struct page_encoder *t,
						    const struct compiled_event *ev,
						    struct ring_record r)
{
	if (ev->kind != COMPILED_METADATA && passes_print_filter(t, ev, &r))
		return true;
	if (t->ctx.tids)
		event_add_tids(ev, &r, &t->ctx);
	return false;
}

/* Counts a record that is written, and opens a bundle for it if none is open. */
static inline void open_bundle_for_record(struct page_encoder *t, struct cpu_stream *cpu,
					  uint64_t time)
{
	if (!t->bundle.enc)
		page_encode_begin(t, cpu, false, 0);
	cpu->end_time = time;
	cpu->events++;
}

/* Adds a switch or wake-up in a recording that lacks some threads. */
static __attribute__((noinline)) enum ring_page_status write_sched_event_of_subject(
	struct page_encoder *t, struct cpu_stream *cpu, const struct compiled_event *ev,
	struct ring_record r)
{
	struct compact_sched *compact = &t->bundle.compact;

	open_bundle_for_record(t, cpu, r.time);
	if (ev->kind == COMPILED_SUBJECT_SWITCH)
		subject_sched_switch(compact, &cpu->subject, cpu->cpu, &t->threads, ev, &r,
				     &t->ctx);
	else if (!subject_sched_waking(compact, &cpu->subject, cpu->cpu, &t->threads, ev, &r,
				       &t->ctx))
		return write_event(t, ev->whole, r.time, r.payload, r.len);
	if (compact->room < SUBJECT_ROWS_MAX)
		bundle_end(&t->bundle);
	return RING_PAGE_OK;
}

/* Writes a record, or counts it as left out. Returns RING_PAGE_OK, or why the record cannot be
 * decoded. */
static inline enum ring_page_status translate_record(struct page_encoder *t, struct cpu_stream *cpu,
						     const struct ring_record *r)
{
	const struct compiled_event *ev = event_table_get(t->table, load16(r->payload));
	struct compact_sched *compact = &t->bundle.compact;

	if (!ev) {
		t->unknown++;
		cpu->left_out++;
		return RING_PAGE_OK;
	}
	if (r->len < ev->min_len)
		return short_record_status(ev);
	if (ev->kind >= COMPILED_FIRST_FILTERED) {
		if (ev->kind >= COMPILED_SUBJECT_SWITCH)
			return write_sched_event_of_subject(t, cpu, ev, *r);
		if (!filter_record(t, ev, *r)) {
			cpu->left_out++;
			return RING_PAGE_OK;
		}
	}
	open_bundle_for_record(t, cpu, r->time);
	if (ev->kind == COMPILED_COMPACT_SWITCH)
		compact_sched_switch(compact, ev, r, &t->ctx);
	else if (ev->kind == COMPILED_COMPACT_WAKING)
		compact_sched_waking(compact, ev, r, &t->ctx);
	else
		return write_event(t, ev, r->time, r->payload, r->len);
	if (compact_sched_full(compact))
		bundle_end(&t->bundle);
	return RING_PAGE_OK;
}

static void begin_ring_page(struct page_encode_target *to, const struct ring_page *page)
{
	to->bad = RING_PAGE_OK;
	if (!page->lost)
		return;
	bundle_end(&to->t->bundle);
	page_encode_begin(to->t, to->cpu, true, page->lost_count);
	to->cpu->lost += page->lost_count;
}

/* Writes the raw bytes of a broken page, and ends the bundle, which can contain only one such
 * page. */
static void write_broken_page(struct page_encoder *t, const void *data, size_t len)
{
	if (!t->broken_left)
		return;
	t->broken_left--;
	bundle_add_broken_page(&t->bundle, data, len);
	bundle_end(&t->bundle);
}

static void end_ring_page(struct page_encode_target *to, uint64_t page_time, const void *data,
			  size_t len, enum ring_page_status status)
{
	/* Write one error for all bad records of a page, because damage tends to repeat itself. */
	if (to->bad != RING_PAGE_OK)
		write_page_error(to->t, to->cpu, page_time, to->bad);
	if (status != RING_PAGE_END)
		write_page_error(to->t, to->cpu, page_time, status);
	if (to->bad != RING_PAGE_OK || status != RING_PAGE_END)
		write_broken_page(to->t, data, len);
	to->cpu->bytes += (uint32_t)len;
	if (to->cpu->bytes >= BUNDLE_MAX_BYTES)
		bundle_end(&to->t->bundle);
}

/* Encodes all records of a page for one session. This is the hot loop, so its state is in
 * locals. */
static inline enum ring_page_status encode_records(bool calls, struct page_encode_target *to,
						   struct ring_page *page)
{
	struct cpu_stream *cpu = to->cpu;
	struct page_encoder *t = to->t;
	enum ring_page_status status, bad;
	struct ring_page at = *page;
	struct ring_record r;

	while ((status = ring_page_next(&at, &r)) == RING_PAGE_OK) {
		if (calls)
			r.payload = compat_syscalls_check(t->calls, &r);
		bad = translate_record(t, cpu, &r);
		if (bad != RING_PAGE_OK)
			to->bad = bad;
	}
	page->time = at.time;
	return status;
}

/* Encodes the records of a page for one target, without checks for 32-bit system calls, which
 * encode_records_and_calls() makes. The loop has two instances, because these checks are rarely
 * needed. Everything that is called per record is inlined here, although encode_records_for_all()
 * calls the same functions. */
static NO_CANARY __attribute__((flatten, noinline)) enum ring_page_status encode_records_for_one(
	struct page_encode_target *to, struct ring_page *page)
{
	return encode_records(false, to, page);
}

static __attribute__((flatten, noinline)) enum ring_page_status encode_records_and_calls(
	struct page_encode_target *to, struct ring_page *page)
{
	return encode_records(true, to, page);
}

static enum ring_page_status encode_records_for_all(struct page_encode_target *to, unsigned n,
						    struct ring_page *page)
{
	enum ring_page_status status, bad;
	struct ring_record r;

	while ((status = ring_page_next(page, &r)) == RING_PAGE_OK) {
		for (unsigned i = 0; i < n; i++) {
			bad = translate_record(to[i].t, to[i].cpu, &r);
			if (bad != RING_PAGE_OK)
				to[i].bad = bad;
		}
	}
	return status;
}

static enum ring_page_status encode_records_of_page(struct page_encode_target *to, unsigned n,
						    struct ring_page *page)
{
	if (n > 1)
		return encode_records_for_all(to, n, page);
	return to->t->calls ? encode_records_and_calls(to, page) : encode_records_for_one(to, page);
}

struct ring_page_facts page_encode_for_targets(struct page_encode_target *to, unsigned n,
					       const void *data, size_t len)
{
	enum ring_page_status status;
	struct ring_page_facts facts;
	struct ring_page page;

	status = ring_page_open(&page, &to->t->layout, data, len);
	facts = (struct ring_page_facts){
		.used = (uint32_t)(status == RING_PAGE_OK ? (size_t)(page.end - page.cur) : len),
		.lost = page.lost,
		.lost_count = page.lost_count,
		.first_ns = page.time,
	};
	for (unsigned i = 0; i < n; i++)
		begin_ring_page(&to[i], &page);
	if (status == RING_PAGE_OK)
		status = encode_records_of_page(to, n, &page);
	for (unsigned i = 0; i < n; i++)
		end_ring_page(&to[i], facts.first_ns, data, len, status);
	facts.last_ns = page.time;
	return facts;
}

void page_encode_lost_range(struct page_encode_target *to, unsigned n,
			    const struct lost_range *range)
{
	for (unsigned i = 0; i < n; i++) {
		if (!to[i].t->bundle.enc)
			page_encode_begin(to[i].t, to[i].cpu, false, 0);
		bundle_add_lost_range(&to[i].t->bundle, range);
	}
}

uint32_t page_encode(struct page_encoder *t, struct cpu_stream *cpu, const void *data, size_t len)
{
	return page_encode_for_targets(&(struct page_encode_target){.t = t, .cpu = cpu}, 1, data,
				       len)
		.used;
}

void page_encode_record(struct page_encoder *t, struct cpu_stream *cpu, const struct ring_record *r)
{
	enum ring_page_status bad = translate_record(t, cpu, r);

	if (bad != RING_PAGE_OK)
		write_page_error(t, cpu, r->time, bad);
	cpu->bytes += r->len;
	if (cpu->bytes >= BUNDLE_MAX_BYTES)
		page_encode_end(t, cpu);
}

void page_encode_add_lost(struct page_encoder *t, struct cpu_stream *cpu, uint64_t count)
{
	bundle_end(&t->bundle);
	page_encode_begin(t, cpu, true, count);
	cpu->lost += count;
}

void page_encode_end(struct page_encoder *t, struct cpu_stream *cpu)
{
	bundle_end(&t->bundle);
	cpu->bytes = 0;
}
