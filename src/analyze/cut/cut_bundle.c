/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/cut/cut_bundle.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "analyze/bundle_walk.h"
#include "analyze/cut/cut_differences.h"
#include "analyze/cut/cut_reader.h"
#include "analyze/import/bundles.h"
#include "base/core/mem.h"
#include "gen/fields.h"
#include "wire/pb_varint.h"

/* ---- CompactSched ---- */

/* FtraceEventBundle.CompactSched: switches and wakings of a CPU as columns. Readers skip the first
 * switch of a CPU, as the columns do not say from which thread it switched. The rows of a window
 * therefore begin with the last switch before the window, if there is one. */
struct cut_columns_window {
	struct cut_reader *reader;
	struct cut_machine *machine;
	clock_key clock;
	bool rewrites; /* times become those of the trace's clock */
	int64_t first, last; /* both included, in the trace's clock */
	const struct cut_switch *before; /* the last one of earlier bundles; NULL: not needed */
	uint64_t written_last; /* filled: time of the last row, as written */
};

#define NAME(x) PB_FTRACE_EVENT_BUNDLE_COMPACT_SCHED_##x

/* The rows of one kind, and those of them that are copied. */
struct rows {
	struct compact_rows in;
	struct strbuf out[COMPACT_COLUMNS];
	uint64_t last_out; /* time of the last row that was copied */
	bool some;
};

static void cut_columns_put_varint(struct strbuf *b, uint64_t v)
{
	uint8_t *p = (uint8_t *)strbuf_reserve(b, 10);

	if (p)
		b->len = (size_t)((char *)pb_put_varint(p, v) - b->s);
}

/* Appends the row with the time ts. Column COMPACT_TIME gets the difference from the row before,
 * which may wrap around: the reader's sum wraps around, too. */
static void put_row_at(struct rows *r, uint64_t ts)
{
	for (size_t i = 0; i < COMPACT_COLUMNS && r->in.fields[i]; i++)
		cut_columns_put_varint(&r->out[i],
				       i == COMPACT_TIME ? ts - r->last_out : r->in.row[i]);
	r->last_out = ts;
	r->some = true;
}

static void put_columns_of_rows(struct rows *r, struct strbuf *ret)
{
	for (size_t i = 0; i < COMPACT_COLUMNS; i++) {
		if (r->some && r->in.fields[i])
			cut_put_bytes(ret, r->in.fields[i], r->out[i].s, r->out[i].len);
		ret->failed |= r->out[i].failed;
		strbuf_deinit(&r->out[i]);
	}
}

/* ---- names of the columns ---- */

static uint64_t count_interned_names(const struct pb_field *columns)
{
	uint64_t n = 0;

	pb_for_each (f, columns)
		n += f.id == NAME(INTERN_TABLE) && f.data;
	return n;
}

static void copy_intern_tables(const struct pb_field *columns, struct strbuf *ret)
{
	pb_for_each (f, columns)
		if (f.id == NAME(INTERN_TABLE) && f.data)
			cut_put_bytes(ret, f.id, f.data, f.len);
}

static void cut_columns_find_name(const struct pb_field *columns, uint64_t index,
				  struct cut_switch *ret)
{
	uint64_t n = 0;

	ret->comm_len = 0;
	pb_for_each (f, columns) {
		if (f.id != NAME(INTERN_TABLE) || !f.data || n++ != index)
			continue;
		ret->comm_len = MIN(f.len, sizeof(ret->comm));
		memcpy(ret->comm, f.data, ret->comm_len);
		return;
	}
}

/* ---- rows of a window ---- */

static void cut_columns_each_time(const struct pb_field *columns,
				  void (*fn)(void *ctx, uint64_t ts), void *ctx)
{
	struct compact_rows r;

	compact_begin_switches(columns, &r);
	while (compact_next(&r) > 0)
		fn(ctx, r.row[COMPACT_TIME]);
	compact_begin_wakings(columns, &r);
	while (compact_next(&r) > 0)
		fn(ctx, r.row[COMPACT_TIME]);
}

/* Sets *ret to the last switch, with its time in the clock of the columns. Returns false if there
 * is none. */
static bool cut_columns_read_last_switch(const struct pb_field *columns, struct cut_switch *ret)
{
	uint64_t row[COMPACT_COLUMNS] = {0};
	struct compact_rows r;
	bool any = false;

	compact_begin_switches(columns, &r);
	while (compact_next(&r) > 0) {
		memcpy(row, r.row, sizeof(row));
		any = true;
	}
	if (!any)
		return false;
	*ret = (struct cut_switch){
		.known = true,
		.ts = row[COMPACT_TIME],
		.prev_state = row[COMPACT_PREV_STATE],
		.next_pid = row[COMPACT_NEXT_PID],
		.next_prio = row[COMPACT_NEXT_PRIO],
	};
	cut_columns_find_name(columns, row[COMPACT_NEXT_COMM], ret);
	return true;
}

/* Converts a time of the columns to the trace clock of the machine. Returns false if their clock is
 * unknown. */
static bool convert_columns_time(const struct cut_columns_window *w, uint64_t ts, int64_t *ret)
{
	if (w->clock != w->machine->clocks.trace)
		return cut_reader_convert(w->reader, w->machine, w->clock, (int64_t)ts, ret);
	*ret = (int64_t)ts;
	return true;
}

/* Copies the rows of the window, and before them the last row ahead of the window. `before` (NULL:
 * not wanted) has that row if *ret_any is true; both are updated. */
static void select_rows(struct rows *r, struct cut_columns_window *w, uint64_t *before,
			bool *ret_any)
{
	int64_t ts;

	while (compact_next(&r->in) > 0) {
		uint64_t own;

		if (!convert_columns_time(w, r->in.row[COMPACT_TIME], &ts))
			continue;
		own = w->rewrites ? (uint64_t)ts : r->in.row[COMPACT_TIME];
		ts = clocks_to_service_time(&w->machine->clocks, ts);
		if (ts < w->first && !r->some && before) {
			memcpy(before, r->in.row, sizeof(r->in.row));
			before[COMPACT_TIME] = own;
			*ret_any = true;
		}
		if (ts < w->first || ts > w->last)
			continue;
		/* The row before the window comes first. */
		if (before && *ret_any && !r->some) {
			uint64_t row[COMPACT_COLUMNS];

			memcpy(row, r->in.row, sizeof(row));
			memcpy(r->in.row, before, sizeof(row));
			put_row_at(r, before[COMPACT_TIME]);
			memcpy(r->in.row, row, sizeof(row));
		}
		put_row_at(r, own);
		w->written_last = MAX(w->written_last, own);
	}
}

/* Appends the field with the rows of the window. Returns false, and appends nothing, if the window
 * has none. */
static bool cut_columns_build(const struct pb_field *columns, struct cut_columns_window *w,
			      struct strbuf *ret)
{
	uint64_t before[COMPACT_COLUMNS] = {0};
	bool has_before = w->before && w->before->known;
	struct rows switches = {.some = false}, wakings = {.some = false};
	struct strbuf out = {0};
	bool any;

	if (has_before) {
		before[COMPACT_TIME] = w->before->ts;
		before[COMPACT_PREV_STATE] = w->before->prev_state;
		before[COMPACT_NEXT_PID] = w->before->next_pid;
		before[COMPACT_NEXT_PRIO] = w->before->next_prio;
		before[COMPACT_NEXT_COMM] = count_interned_names(columns);
	}
	compact_begin_switches(columns, &switches.in);
	compact_begin_wakings(columns, &wakings.in);
	select_rows(&switches, w, w->before ? before : NULL, &has_before);
	select_rows(&wakings, w, NULL, NULL);
	any = switches.some || wakings.some;
	/* The waker is the thread that the CPU was last switched to: if no switch is copied, copy
	 * the last one. */
	if (wakings.some && !switches.some && has_before && w->before) {
		memcpy(switches.in.row, before, sizeof(before));
		put_row_at(&switches, before[COMPACT_TIME]);
	}
	copy_intern_tables(columns, &out);
	if (w->before && w->before->known)
		cut_put_bytes(&out, NAME(INTERN_TABLE), w->before->comm, w->before->comm_len);
	put_columns_of_rows(&switches, &out);
	put_columns_of_rows(&wakings, &out);
	if (any)
		cut_put_bytes(ret, PB_FTRACE_EVENT_BUNDLE_COMPACT_SCHED, out.s, out.len);
	ret->failed |= out.failed;
	strbuf_deinit(&out);
	return any;
}

/* ---- times ---- */

/* Converts a time of the bundle to the trace clock of its machine. Returns false if the clock is
 * unknown. */
static bool convert_to_own_time(const struct cut_bundle *b, uint64_t ts, int64_t *ret)
{
	if (b->clock != b->packet->m->clocks.trace)
		return cut_reader_convert(b->reader, b->packet->m, b->clock, (int64_t)ts, ret);
	*ret = (int64_t)ts;
	return true;
}

static bool convert_to_trace_time(const struct cut_bundle *b, uint64_t ts, int64_t *ret)
{
	int64_t own;

	if (!convert_to_own_time(b, ts, &own))
		return false;
	*ret = clocks_to_service_time(&b->packet->m->clocks, own);
	return true;
}

struct each_time {
	const struct cut_bundle *b;
	void (*fn)(void *ctx, int64_t ts);
	void *ctx;
};

static void call_with_trace_time(void *ctx, uint64_t raw)
{
	const struct each_time *e = ctx;
	int64_t ts;

	if (convert_to_trace_time(e->b, raw, &ts))
		e->fn(e->ctx, ts);
}

void cut_bundle_each_time(const struct cut_bundle *b, void (*fn)(void *ctx, int64_t ts), void *ctx)
{
	const struct pb_field *payload = &b->packet->p.payload;
	struct each_time each = {.b = b, .fn = fn, .ctx = ctx};
	struct pb_dec d = pb_dec_of(payload);
	struct bundle_field field;

	while (bundle_next(&d, &field))
		if (field.has_time)
			call_with_trace_time(&each, field.ns);
		else if (field.raw.f.id == PB_FTRACE_EVENT_BUNDLE_COMPACT_SCHED && field.raw.f.data)
			cut_columns_each_time(&field.raw.f, call_with_trace_time, &each);
}

static void cut_bundle_add_event_time(void *ctx, int64_t ts)
{
	struct cut_bundle *b = ctx;

	b->first = b->any ? MIN(b->first, ts) : ts;
	b->last = b->any ? MAX(b->last, ts) : ts;
	b->any = true;
}

void cut_bundle_read(struct cut_reader *r, const struct cut_packet *c, struct cut_bundle *ret)
{
	struct bundle_head h;

	bundle_head_read(&c->p.payload, &h);
	*ret = (struct cut_bundle){
		.packet = c,
		.reader = r,
		.state = h.cpu.id ? cut_machine_cpu(c->m, h.cpu.u64) : NULL,
		.cpu = h.cpu.id ? (uint32_t)h.cpu.u64 : CUT_CPUS_MAX,
		.clock = bundle_sync_clock(&h, c->p.sequence, &c->m->clocks),
		.previous_end = (int64_t)h.previous_end.u64,
		.has_previous_end = h.previous_end.id,
		.has_descriptors = h.descriptors.id,
		.has_columns = h.columns.id,
	};
	ret->rewrites = ret->clock != CLOCK_BOOTTIME_ID && c->m->clocks.trace == CLOCK_BOOTTIME_ID;
	cut_bundle_each_time(ret, cut_bundle_add_event_time, ret);
}

void cut_bundle_read_span(struct cut_reader *r, const struct cut_packet *c, int64_t *ts,
			  void (*fn)(void *ctx, int64_t ts), void *ctx)
{
	struct cut_bundle b;

	cut_bundle_read(r, c, &b);
	if (b.state && !b.state->had_bundle) {
		b.state->had_bundle = true;
		c->m->first_data = MAX(c->m->first_data, (uint64_t)b.previous_end);
	}
	if (!b.any)
		return;
	fn(ctx, b.first);
	fn(ctx, b.last);
	*ts = b.first;
}

/* ---- pieces ---- */

static bool piece_contains_time(const struct cut_piece *piece, int64_t ts)
{
	return ts >= piece->first && ts <= piece->last;
}

/* Appends a copy of the event whose time is ts. */
static void put_event_with_time(const struct pb_field *event, uint64_t ts, struct strbuf *ret)
{
	struct strbuf rest = {0};

	cut_put_number(&rest, PB_FTRACE_EVENT_TIMESTAMP, ts);
	pb_for_each_raw (r, event)
		if (r.f.id != PB_FTRACE_EVENT_TIMESTAMP)
			strbuf_add(&rest, r.data, r.len);
	cut_put_bytes(ret, PB_FTRACE_EVENT_BUNDLE_EVENT, rest.s, rest.len);
	ret->failed |= rest.failed;
	strbuf_deinit(&rest);
}

static void put_event_of_piece(const struct cut_bundle *b, struct cut_piece *piece,
			       const struct bundle_field *event, struct strbuf *ret)
{
	int64_t ts = 0;

	/* An event without a time is in the first piece: readers count it as an error. */
	if (!event->has_time || !convert_to_own_time(b, event->ns, &ts)) {
		if (piece->leads)
			strbuf_add(ret, event->raw.data, event->raw.len);
		return;
	}
	if (!piece_contains_time(piece, clocks_to_service_time(&b->packet->m->clocks, ts)))
		return;
	if (b->rewrites)
		put_event_with_time(&event->raw.f, (uint64_t)ts, ret);
	else
		strbuf_add(ret, event->raw.data, event->raw.len);
	piece->written_last = MAX(piece->written_last, b->rewrites ? (uint64_t)ts : event->ns);
}

/* Returns true if a range of lost events ends in the piece. */
static bool piece_has_lost_range(const struct cut_bundle *b, const struct cut_piece *piece,
				 const struct pb_field *range)
{
	int64_t ts = 0;
	uint64_t end = 0;

	pb_read(range, PB_TO(PB_FTRACE_EVENT_BUNDLE_LOST_RANGE_END_TIMESTAMP, &end));
	return convert_to_trace_time(b, end, &ts)
		       ? ts >= piece->lost_first && ts <= piece->lost_last
		       : piece->leads;
}

static uint64_t make_readable_time(const struct cut_bundle *b, uint64_t own)
{
	int64_t ts;

	return b->rewrites && convert_to_own_time(b, own, &ts) ? (uint64_t)ts : own;
}

static void put_lost_range(const struct cut_bundle *b, const struct pb_field *range,
			   struct strbuf *ret)
{
	struct strbuf out = {0};

	pb_for_each_raw (r, range)
		if (!r.f.data && (r.f.id == PB_FTRACE_EVENT_BUNDLE_LOST_RANGE_BEGIN_TIMESTAMP ||
				  r.f.id == PB_FTRACE_EVENT_BUNDLE_LOST_RANGE_END_TIMESTAMP))
			cut_put_number(&out, r.f.id, make_readable_time(b, r.f.u64));
		else
			strbuf_add(&out, r.data, r.len);
	cut_put_bytes(ret, PB_FTRACE_EVENT_BUNDLE_LOST_RANGES, out.s, out.len);
	ret->failed |= out.failed;
	strbuf_deinit(&out);
}

static void put_compact_columns(const struct cut_bundle *b, struct cut_piece *piece,
				const struct pb_field *columns, struct strbuf *ret)
{
	struct cut_columns_window w = {
		.reader = b->reader,
		.machine = b->packet->m,
		.clock = b->clock,
		.rewrites = b->rewrites,
		.first = piece->first,
		.last = piece->last,
		.before = piece->seeded || !b->state ? NULL : &b->state->last,
	};

	if (!cut_columns_build(columns, &w, ret))
		return;
	piece->has_columns = true;
	piece->written_last = MAX(piece->written_last, w.written_last);
}

static void cut_bundle_put_field(const struct cut_bundle *b, struct cut_piece *piece,
				 const struct bundle_field *field, struct strbuf *ret)
{
	const struct pb_raw *raw = &field->raw;
	const struct pb_field *f = &raw->f;

	switch (f->id) {
	case PB_FTRACE_EVENT_BUNDLE_EVENT:
		if (f->data)
			put_event_of_piece(b, piece, field, ret);
		return;
	case PB_FTRACE_EVENT_BUNDLE_COMPACT_SCHED:
		if (f->data)
			put_compact_columns(b, piece, f, ret);
		return;
	case PB_FTRACE_EVENT_BUNDLE_LOST_RANGES:
		if (f->data && piece_has_lost_range(b, piece, f))
			put_lost_range(b, f, ret);
		return;
	case PB_FTRACE_EVENT_BUNDLE_FTRACE_CLOCK:
	case PB_FTRACE_EVENT_BUNDLE_FTRACE_TIMESTAMP:
	case PB_FTRACE_EVENT_BUNDLE_BOOT_TIMESTAMP:
		if (!b->rewrites)
			strbuf_add(ret, raw->data, raw->len);
		return;
	case PB_FTRACE_EVENT_BUNDLE_CPU:
		strbuf_add(ret, raw->data, raw->len);
		return;
	/* The piece has its own previous_end; the caller adds the descriptors. */
	case PB_FTRACE_EVENT_BUNDLE_LAST_READ_EVENT_TIMESTAMP:
	case PB_FTRACE_EVENT_BUNDLE_PREVIOUS_BUNDLE_END_TIMESTAMP:
	case PB_FTRACE_EVENT_BUNDLE_GENERIC_EVENT_DESCRIPTORS:
	case PB_FTRACE_EVENT_BUNDLE_FURTHER_FIELD_DESCRIPTORS:
		return;
	}
	if (piece->leads)
		strbuf_add(ret, raw->data, raw->len);
}

int cut_bundle_write_piece(const struct cut_bundle *b, struct cut_piece *piece, struct strbuf *ret)
{
	struct pb_dec d = pb_dec_of(&b->packet->p.payload);
	struct bundle_field field;

	while (bundle_next(&d, &field))
		cut_bundle_put_field(b, piece, &field, ret);
	if (piece->previous_end)
		cut_put_number(ret, PB_FTRACE_EVENT_BUNDLE_PREVIOUS_BUNDLE_END_TIMESTAMP,
			       piece->previous_end);
	return ret->failed ? -ENOMEM : 0;
}

/* Stores the new name of the thread that the CPU was switched to last, if the event has one. */
static void store_new_thread_name(const struct cut_bundle *b, const struct pb_field *event)
{
	struct cut_switch *last = &b->state->last;
	struct pb_field rename = {.id = 0}, name = {.id = 0};
	uint64_t ts = 0, pid = 0;

	pb_for_each (f, event)
		if (f.id == PB_FTRACE_EVENT_TIMESTAMP)
			ts = make_readable_time(b, f.u64);
		else if (f.id == PB_FTRACE_EVENT_TASK_RENAME && f.data)
			rename = f;
	if (!rename.id || ts < last->ts)
		return;
	pb_read(&rename, PB_TO(PB_TASK_RENAME_FTRACE_EVENT_PID, &pid),
		PB_TO(PB_TASK_RENAME_FTRACE_EVENT_NEWCOMM, &name));
	if (pid != last->next_pid || !name.id)
		return;
	last->comm_len = MIN(name.len, sizeof(last->comm));
	memcpy(last->comm, name.data, last->comm_len);
}

void cut_bundle_keep_last_switch(const struct cut_bundle *b)
{
	const struct pb_field *payload = &b->packet->p.payload;
	struct pb_field f;
	struct pb_dec d;

	if (!b->state)
		return;
	pb_dec_init(&d, payload->data, payload->len);
	while (b->has_columns && pb_dec_next(&d, &f))
		if (f.id == PB_FTRACE_EVENT_BUNDLE_COMPACT_SCHED && f.data &&
		    cut_columns_read_last_switch(&f, &b->state->last))
			b->state->last.ts = make_readable_time(b, b->state->last.ts);
	pb_dec_init(&d, payload->data, payload->len);
	while (b->state->last.known && pb_dec_next(&d, &f))
		if (f.id == PB_FTRACE_EVENT_BUNDLE_EVENT && f.data)
			store_new_thread_name(b, &f);
}

int cut_bundle_each_descriptor(const struct cut_bundle *b,
			       int (*fn)(void *ctx, const uint8_t *field, size_t len), void *ctx)
{
	pb_for_each_raw (raw, &b->packet->p.payload) {
		int r = 0;

		if (raw.f.id == PB_FTRACE_EVENT_BUNDLE_GENERIC_EVENT_DESCRIPTORS ||
		    raw.f.id == PB_FTRACE_EVENT_BUNDLE_FURTHER_FIELD_DESCRIPTORS)
			r = fn(ctx, raw.data, raw.len);
		if (r < 0)
			return r;
	}
	return 0;
}
