/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/bundle_walk.h"

#include <string.h>

#include "base/core/mem.h"
#include "gen/fields.h"
#include "wire/pb_varint.h"

/*
 * Perfetto's probes and sonda write nearly every event in a plain form, which is recognised without
 * iterating the event's fields:
 *
 *	12 len | 08 timestamp ... | 10 pid ... | tag len | message |
 *	        ^ body                                     ^ must end where the event ends
 */

#define TAG_EVENT (PB_FTRACE_EVENT_BUNDLE_EVENT << 3 | PB_WIRE_BYTES)
#define TAG_TIMESTAMP (PB_FTRACE_EVENT_TIMESTAMP << 3 | PB_WIRE_VARINT)
#define TAG_PID (PB_FTRACE_EVENT_PID << 3 | PB_WIRE_VARINT)
_Static_assert(TAG_EVENT < 0x80 && TAG_TIMESTAMP < 0x80 && TAG_PID < 0x80, "tags of one byte");

/* Returns the length of the varint at p; 0 if it is longer than 8 bytes, or if fewer than 8 bytes
 * are left before `end`. */
static inline size_t length_of_varint(const uint8_t *p, const uint8_t *end)
{
	uint64_t word, last;

	if ((size_t)(end - p) < sizeof(word))
		return 0;
	memcpy(&word, p, sizeof(word)); /* little-endian hosts only, as the ABI */
	last = ~word & 0x8080808080808080;
	return last ? (size_t)__builtin_ctzll(last) / 8 + 1 : 0;
}

static inline bool is_message_of_event(uint64_t tag)
{
	uint64_t field = tag >> 3;

	return (tag & 7) == PB_WIRE_BYTES && field > PB_FTRACE_EVENT_PID &&
	       field != PB_FTRACE_EVENT_COMMON_FLAGS && field != PB_FTRACE_EVENT_GENERIC &&
	       field <= PB_MAX_FIELD_ID;
}

/* Returns the number of the message of the event with the body [p, end), 0 if the event has another
 * form. */
static inline uint32_t parse_plain_event(const uint8_t *p, const uint8_t *end, uint64_t *ret_ns)
{
	uint64_t tag, size;
	size_t len;

	if (p == end || *p != TAG_TIMESTAMP)
		return 0;
	p = pb_get_varint(p + 1, end, ret_ns);
	if (!p || p == end || *p != TAG_PID)
		return 0;
	len = length_of_varint(++p, end);
	p = len ? pb_get_varint(p + len, end, &tag) : NULL;
	if (!p || !is_message_of_event(tag))
		return 0;
	p = pb_get_varint(p, end, &size);
	return p && size == (uint64_t)(end - p) ? (uint32_t)(tag >> 3) : 0;
}

/* Returns the body of the next field if it is an event of the plain form, else NULL. */
static inline const uint8_t *find_plain_event(const uint8_t *at, const uint8_t *end,
					      uint64_t *ret_size, uint32_t *ret_event,
					      uint64_t *ret_ns)
{
	const uint8_t *body;

	if (at == end || *at != TAG_EVENT)
		return NULL;
	body = pb_get_varint(at + 1, end, ret_size);
	if (!body || *ret_size > (uint64_t)(end - body))
		return NULL;
	*ret_event = parse_plain_event(body, body + *ret_size, ret_ns);
	return *ret_event ? body : NULL;
}

void bundle_count_plain_events(struct pb_dec *d, struct event_counts *counts, uint64_t *ret_first,
			       uint64_t *ret_last)
{
	const uint8_t *at = d->cur, *end = d->end, *body;
	uint64_t first = UINT64_MAX, last = 0, size, ns;
	uint32_t event;

	while ((body = find_plain_event(at, end, &size, &event, &ns))) {
		event_counts_add_one(counts, event);
		/* A time of 0 means none: 0 - 1 is larger than any other time - 1. */
		first = ns - 1 < first - 1 ? ns : first;
		last = MAX(last, ns);
		at = body + size;
	}
	d->cur = at;
	*ret_first = first == UINT64_MAX ? 0 : first;
	*ret_last = last;
}

/* Reads the next field if it is an event of the plain form. */
static inline bool next_plain_event(struct pb_dec *d, struct bundle_field *ret)
{
	uint64_t size;
	const uint8_t *body = find_plain_event(d->cur, d->end, &size, &ret->event, &ret->ns);

	if (!body)
		return false;
	ret->valid = ret->has_time = true;
	ret->raw = (struct pb_raw){
		.f = {.id = PB_FTRACE_EVENT_BUNDLE_EVENT,
		      .wire_type = PB_WIRE_BYTES,
		      .u64 = size,
		      .data = body,
		      .len = size},
		.data = d->cur,
		.len = (size_t)(body + size - d->cur),
	};
	d->cur = body + size;
	return true;
}

/* Reads an event of any form. A time counts if it comes first, even in an invalid event; else the
 * last one does, as the last message. */
static void read_event(const struct pb_field *event, struct bundle_field *ret)
{
	bool leads = event->len && event->data && event->data[0] == TAG_TIMESTAMP &&
		     pb_get_varint(event->data + 1, event->data + event->len, &ret->ns);

	ret->has_time = leads;
	pb_for_each_checked (f, event, ret->valid)
		if (f.id == PB_FTRACE_EVENT_TIMESTAMP && !leads) {
			ret->ns = f.u64;
			ret->has_time = !f.data;
		} else if (f.data && f.id != PB_FTRACE_EVENT_TIMESTAMP &&
			   f.id != PB_FTRACE_EVENT_PID && f.id != PB_FTRACE_EVENT_COMMON_FLAGS) {
			ret->event = f.id;
		}
}

bool bundle_next(struct pb_dec *d, struct bundle_field *ret)
{
	if (next_plain_event(d, ret))
		return true;
	*ret = (struct bundle_field){.valid = true};
	if (!pb_raw_next(d, &ret->raw))
		return false;
	if (ret->raw.f.id == PB_FTRACE_EVENT_BUNDLE_EVENT)
		read_event(&ret->raw.f, ret);
	return true;
}

/* ---- CompactSched ---- */

#define COLUMN(x) PB_FTRACE_EVENT_BUNDLE_COMPACT_SCHED_##x

static void add_time_to_sum(struct compact_sum *sum, uint64_t ns)
{
	if (ns && (!sum->first_ns || ns < sum->first_ns))
		sum->first_ns = ns;
	sum->last_ns = MAX(sum->last_ns, ns);
}

static void add_times_to_sum(struct compact_sum *sum, const struct pb_field *column)
{
	struct pb_packed p = pb_packed_of(column);
	uint64_t n, delta, ns;

	if (!pb_packed_next(&p, &ns))
		return;
	add_time_to_sum(sum, ns);
	for (n = 1; pb_packed_next(&p, &delta); n++)
		ns += delta;
	add_time_to_sum(sum, ns);
	sum->n += n;
}

/* The columns of switches have the numbers 1 to 6, but the names 5; those of wakings follow. */
bool compact_sum_up(const struct pb_field *columns, struct compact_sums *ret)
{
	struct pb_dec d = pb_dec_of(columns);
	struct pb_raw r;

	*ret = (struct compact_sums){.names = {.n = 0}};
	while (pb_raw_next(&d, &r)) {
		bool of_names = r.f.id == COLUMN(INTERN_TABLE);
		struct compact_sum *sum = of_names			      ? &ret->names
					  : r.f.id < COLUMN(WAKING_TIMESTAMP) ? &ret->switches
									      : &ret->wakings;

		sum->bytes += r.len;
		if (of_names)
			sum->n++;
		else if (r.f.id == COLUMN(SWITCH_TIMESTAMP) || r.f.id == COLUMN(WAKING_TIMESTAMP))
			add_times_to_sum(sum, &r.f);
	}
	return pb_dec_ok_of(&d, columns);
}

static void open_rows(const struct pb_field *columns, const uint32_t fields[COMPACT_COLUMNS],
		      struct compact_rows *ret)
{
	*ret = (struct compact_rows){.fields = fields};
	pb_for_each (f, columns)
		for (size_t i = 0; i < COMPACT_COLUMNS; i++)
			if (f.id == fields[i]) {
				ret->in[i] = pb_packed_of(&f);
				ret->has_rows |= i == COMPACT_TIME;
				ret->has_flags |= i == COMPACT_FLAGS;
			}
}

void compact_begin_switches(const struct pb_field *columns, struct compact_rows *ret)
{
	static const uint32_t fields[COMPACT_COLUMNS] = {
		COLUMN(SWITCH_TIMESTAMP), COLUMN(SWITCH_PREV_STATE),	  COLUMN(SWITCH_NEXT_PID),
		COLUMN(SWITCH_NEXT_PRIO), COLUMN(SWITCH_NEXT_COMM_INDEX),
	};

	open_rows(columns, fields, ret);
}

void compact_begin_wakings(const struct pb_field *columns, struct compact_rows *ret)
{
	static const uint32_t fields[COMPACT_COLUMNS] = {
		COLUMN(WAKING_TIMESTAMP), COLUMN(WAKING_PID),	     COLUMN(WAKING_TARGET_CPU),
		COLUMN(WAKING_PRIO),	  COLUMN(WAKING_COMM_INDEX), COLUMN(WAKING_COMMON_FLAGS),
	};

	open_rows(columns, fields, ret);
}

int compact_next(struct compact_rows *r)
{
	uint64_t delta;

	if (!pb_packed_next(&r->in[COMPACT_TIME], &delta))
		return 0;
	r->row[COMPACT_TIME] += delta;
	for (size_t i = 1; i < COMPACT_FLAGS; i++)
		if (!pb_packed_next(&r->in[i], &r->row[i]))
			return -1;
	return r->has_flags && !pb_packed_next(&r->in[COMPACT_FLAGS], &r->row[COMPACT_FLAGS]) ? -1
											      : 1;
}
