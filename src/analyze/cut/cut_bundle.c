/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/cut/cut_bundle.h"

#include <errno.h>
#include <string.h>

#include "analyze/cut/cut_columns.h"
#include "analyze/cut/cut_fields.h"
#include "base/core/mem.h"
#include "gen/fields.h"

#define CLOCK_UNSPECIFIED 0 /* FtraceClock */
#define CLOCK_MONO_RAW 4

/* ---- times ---- */

struct bundle_clock {
	uint64_t clock, ftrace_ns, boot_ns;
};

static void cut_bundle_set_clock(struct cut_bundle *b, const struct bundle_clock *c)
{
	struct cut_machine *m = b->packet->m;
	struct clock_reading pair[2] = {
		{.value = (int64_t)c->ftrace_ns, .unit = 1},
		{.clock = CLOCK_BOOTTIME_ID, .value = (int64_t)c->boot_ns, .unit = 1},
	};

	b->clock = c->clock == CLOCK_MONO_RAW ? CLOCK_MONOTONIC_RAW_ID
		   : c->clock == CLOCK_UNSPECIFIED
			   ? CLOCK_BOOTTIME_ID
			   : clock_of(CLOCK_SEQUENCE_FIRST, b->packet->p.sequence);
	b->rewrites = b->clock != CLOCK_BOOTTIME_ID && m->clocks.trace == CLOCK_BOOTTIME_ID;
	pair[0].clock = b->clock;
	if (c->ftrace_ns && c->boot_ns && b->clock != CLOCK_BOOTTIME_ID)
		clocks_snapshot(&m->clocks, pair, 2);
}

/* Converts to the trace clock of the bundle's machine. Returns false if the clock is unknown. */
static bool own_time_of(const struct cut_bundle *b, uint64_t ts, int64_t *ret)
{
	if (b->clock != b->packet->m->clocks.trace)
		return cut_reader_convert(b->reader, b->packet->m, b->clock, (int64_t)ts, ret);
	*ret = (int64_t)ts;
	return true;
}

static bool time_of(const struct cut_bundle *b, uint64_t ts, int64_t *ret)
{
	int64_t own;

	if (!own_time_of(b, ts, &own))
		return false;
	*ret = clocks_trace_time(&b->packet->m->clocks, own);
	return true;
}

static bool timestamp_of(const struct pb_field *event, uint64_t *ret)
{
	bool found = false;

	if (event->len && event->data[0] == (PB_FTRACE_EVENT_TIMESTAMP << 3) &&
	    pb_get_varint(event->data + 1, event->data + event->len, ret))
		return true;
	pb_for_each (f, event)
		if (f.id == PB_FTRACE_EVENT_TIMESTAMP && !f.data) {
			*ret = f.u64;
			found = true;
		}
	return found;
}

struct each_time {
	const struct cut_bundle *b;
	void (*fn)(void *ctx, int64_t ts);
	void *ctx;
};

static void pass_time(void *ctx, uint64_t raw)
{
	const struct each_time *e = ctx;
	int64_t ts;

	if (time_of(e->b, raw, &ts))
		e->fn(e->ctx, ts);
}

void cut_bundle_each(const struct cut_bundle *b, void (*fn)(void *ctx, int64_t ts), void *ctx)
{
	const struct pb_field *payload = &b->packet->p.payload;
	struct each_time each = {.b = b, .fn = fn, .ctx = ctx};
	uint64_t ts;

	pb_for_each (f, payload)
		if (f.id == PB_FTRACE_EVENT_BUNDLE_EVENT && f.data && timestamp_of(&f, &ts))
			pass_time(&each, ts);
		else if (f.id == PB_FTRACE_EVENT_BUNDLE_COMPACT_SCHED && f.data)
			cut_columns_times(&f, pass_time, &each);
}

static void cut_bundle_note(void *ctx, int64_t ts)
{
	struct cut_bundle *b = ctx;

	b->first = b->any ? MIN(b->first, ts) : ts;
	b->last = b->any ? MAX(b->last, ts) : ts;
	b->any = true;
}

static void cut_bundle_read_head(struct cut_bundle *b)
{
	const struct pb_field *payload = &b->packet->p.payload;
	struct bundle_clock clock = {0};
	uint64_t cpu = CUT_CPUS_MAX;

	pb_for_each (f, payload)
		switch (f.id) {
		case PB_FTRACE_EVENT_BUNDLE_CPU:
			cpu = f.u64;
			break;
		case PB_FTRACE_EVENT_BUNDLE_FTRACE_CLOCK:
			clock.clock = f.u64;
			break;
		case PB_FTRACE_EVENT_BUNDLE_FTRACE_TIMESTAMP:
			clock.ftrace_ns = f.u64;
			break;
		case PB_FTRACE_EVENT_BUNDLE_BOOT_TIMESTAMP:
			clock.boot_ns = f.u64;
			break;
		case PB_FTRACE_EVENT_BUNDLE_LAST_READ_EVENT_TIMESTAMP:
		case PB_FTRACE_EVENT_BUNDLE_PREVIOUS_BUNDLE_END_TIMESTAMP:
			b->previous_end = (int64_t)f.u64;
			b->has_previous_end = true;
			break;
		case PB_FTRACE_EVENT_BUNDLE_GENERIC_EVENT_DESCRIPTORS:
		case PB_FTRACE_EVENT_BUNDLE_FURTHER_FIELD_DESCRIPTORS:
			b->has_descriptors = true;
			break;
		case PB_FTRACE_EVENT_BUNDLE_COMPACT_SCHED:
			b->has_columns |= f.data != NULL;
			break;
		}
	b->state = cut_machine_cpu(b->packet->m, cpu);
	b->cpu = (uint32_t)cpu;
	cut_bundle_set_clock(b, &clock);
}

void cut_bundle_read(struct cut_reader *r, const struct cut_packet *c, struct cut_bundle *ret)
{
	*ret = (struct cut_bundle){.packet = c, .reader = r};
	cut_bundle_read_head(ret);
	cut_bundle_each(ret, cut_bundle_note, ret);
}

void cut_bundle_times(struct cut_reader *r, const struct cut_packet *c, int64_t *ts,
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

static bool is_in(const struct cut_piece *piece, int64_t ts)
{
	return ts >= piece->first && ts <= piece->last;
}

/* Appends an event with another time. */
static void put_event_at(const struct pb_field *event, uint64_t ts, struct strbuf *ret)
{
	const uint8_t *at = event->data;
	struct strbuf rest = {0};
	struct pb_field f;
	struct pb_dec d;

	cut_put_number(&rest, PB_FTRACE_EVENT_TIMESTAMP, ts);
	pb_dec_init(&d, event->data, event->len);
	while (pb_dec_next(&d, &f)) {
		if (f.id != PB_FTRACE_EVENT_TIMESTAMP)
			strbuf_add(&rest, at, (size_t)(d.cur - at));
		at = d.cur;
	}
	cut_put_bytes(ret, PB_FTRACE_EVENT_BUNDLE_EVENT, rest.s, rest.len);
	ret->failed |= rest.failed;
	strbuf_deinit(&rest);
}

/* raw: the whole field, with its tag. */
static void put_event(const struct cut_bundle *b, struct cut_piece *piece,
		      const struct pb_field *event, const uint8_t *raw, size_t len,
		      struct strbuf *ret)
{
	uint64_t own = 0;
	int64_t ts = 0;

	/* An event without a time is in the first piece: readers count it as an error. */
	if (!timestamp_of(event, &own) || !own_time_of(b, own, &ts)) {
		if (piece->leads)
			strbuf_add(ret, raw, len);
		return;
	}
	if (!is_in(piece, clocks_trace_time(&b->packet->m->clocks, ts)))
		return;
	if (b->rewrites)
		put_event_at(event, (uint64_t)ts, ret);
	else
		strbuf_add(ret, raw, len);
	piece->written_last = MAX(piece->written_last, b->rewrites ? (uint64_t)ts : own);
}

/* Returns true if a range of lost events ends in the piece. */
static bool is_range_in(const struct cut_bundle *b, const struct cut_piece *piece,
			const struct pb_field *range)
{
	int64_t ts = 0;
	uint64_t end = 0;

	pb_read(range, PB_TO(PB_FTRACE_EVENT_BUNDLE_LOST_RANGE_END_TIMESTAMP, &end));
	return time_of(b, end, &ts) ? ts >= piece->lost_first && ts <= piece->lost_last
				    : piece->leads;
}

static uint64_t rewritten(const struct cut_bundle *b, uint64_t own)
{
	int64_t ts;

	return b->rewrites && own_time_of(b, own, &ts) ? (uint64_t)ts : own;
}

static void put_range(const struct cut_bundle *b, const struct pb_field *range, struct strbuf *ret)
{
	struct strbuf out = {0};
	const uint8_t *at = range->data;
	struct pb_field f;
	struct pb_dec d;

	pb_dec_init(&d, range->data, range->len);
	while (pb_dec_next(&d, &f)) {
		if (!f.data && (f.id == PB_FTRACE_EVENT_BUNDLE_LOST_RANGE_BEGIN_TIMESTAMP ||
				f.id == PB_FTRACE_EVENT_BUNDLE_LOST_RANGE_END_TIMESTAMP))
			cut_put_number(&out, f.id, rewritten(b, f.u64));
		else
			strbuf_add(&out, at, (size_t)(d.cur - at));
		at = d.cur;
	}
	cut_put_bytes(ret, PB_FTRACE_EVENT_BUNDLE_LOST_RANGES, out.s, out.len);
	ret->failed |= out.failed;
	strbuf_deinit(&out);
}

static void put_columns(const struct cut_bundle *b, struct cut_piece *piece,
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
				 const struct pb_field *f, const uint8_t *raw, size_t len,
				 struct strbuf *ret)
{
	switch (f->id) {
	case PB_FTRACE_EVENT_BUNDLE_EVENT:
		if (f->data)
			put_event(b, piece, f, raw, len, ret);
		return;
	case PB_FTRACE_EVENT_BUNDLE_COMPACT_SCHED:
		if (f->data)
			put_columns(b, piece, f, ret);
		return;
	case PB_FTRACE_EVENT_BUNDLE_LOST_RANGES:
		if (f->data && is_range_in(b, piece, f))
			put_range(b, f, ret);
		return;
	case PB_FTRACE_EVENT_BUNDLE_FTRACE_CLOCK:
	case PB_FTRACE_EVENT_BUNDLE_FTRACE_TIMESTAMP:
	case PB_FTRACE_EVENT_BUNDLE_BOOT_TIMESTAMP:
		if (!b->rewrites)
			strbuf_add(ret, raw, len);
		return;
	case PB_FTRACE_EVENT_BUNDLE_CPU:
		strbuf_add(ret, raw, len);
		return;
	/* The piece has its own previous_end; the caller adds the descriptors. */
	case PB_FTRACE_EVENT_BUNDLE_LAST_READ_EVENT_TIMESTAMP:
	case PB_FTRACE_EVENT_BUNDLE_PREVIOUS_BUNDLE_END_TIMESTAMP:
	case PB_FTRACE_EVENT_BUNDLE_GENERIC_EVENT_DESCRIPTORS:
	case PB_FTRACE_EVENT_BUNDLE_FURTHER_FIELD_DESCRIPTORS:
		return;
	}
	if (piece->leads)
		strbuf_add(ret, raw, len);
}

int cut_bundle_build(const struct cut_bundle *b, struct cut_piece *piece, struct strbuf *ret)
{
	const struct pb_field *payload = &b->packet->p.payload;
	const uint8_t *at = payload->data;
	struct pb_field f;
	struct pb_dec d;

	pb_dec_init(&d, payload->data, payload->len);
	while (pb_dec_next(&d, &f)) {
		cut_bundle_put_field(b, piece, &f, at, (size_t)(d.cur - at), ret);
		at = d.cur;
	}
	if (piece->previous_end)
		cut_put_number(ret, PB_FTRACE_EVENT_BUNDLE_PREVIOUS_BUNDLE_END_TIMESTAMP,
			       piece->previous_end);
	return ret->failed ? -ENOMEM : 0;
}

/* Stores the new name of the thread that the CPU was switched to last, if the event has one. */
static void note_rename(const struct cut_bundle *b, const struct pb_field *event)
{
	struct cut_switch *last = &b->state->last;
	struct pb_field rename = {.id = 0}, name = {.id = 0};
	uint64_t ts = 0, pid = 0;

	pb_for_each (f, event)
		if (f.id == PB_FTRACE_EVENT_TIMESTAMP)
			ts = rewritten(b, f.u64);
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

void cut_bundle_finish(const struct cut_bundle *b)
{
	const struct pb_field *payload = &b->packet->p.payload;
	struct pb_field f;
	struct pb_dec d;

	if (!b->state)
		return;
	pb_dec_init(&d, payload->data, payload->len);
	while (b->has_columns && pb_dec_next(&d, &f))
		if (f.id == PB_FTRACE_EVENT_BUNDLE_COMPACT_SCHED && f.data &&
		    cut_columns_last(&f, &b->state->last))
			b->state->last.ts = rewritten(b, b->state->last.ts);
	pb_dec_init(&d, payload->data, payload->len);
	while (b->state->last.known && pb_dec_next(&d, &f))
		if (f.id == PB_FTRACE_EVENT_BUNDLE_EVENT && f.data)
			note_rename(b, &f);
}

int cut_bundle_descriptors(const struct cut_bundle *b,
			   int (*fn)(void *ctx, const uint8_t *field, size_t len), void *ctx)
{
	const struct pb_field *payload = &b->packet->p.payload;
	const uint8_t *at = payload->data;
	struct pb_field f;
	struct pb_dec d;
	int r = 0;

	pb_dec_init(&d, payload->data, payload->len);
	while (r >= 0 && pb_dec_next(&d, &f)) {
		if (f.id == PB_FTRACE_EVENT_BUNDLE_GENERIC_EVENT_DESCRIPTORS ||
		    f.id == PB_FTRACE_EVENT_BUNDLE_FURTHER_FIELD_DESCRIPTORS)
			r = fn(ctx, at, (size_t)(d.cur - at));
		at = d.cur;
	}
	return MIN(r, 0);
}
