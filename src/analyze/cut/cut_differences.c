/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/cut/cut_differences.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/mem.h"
#include "gen/fields.h"
#include "wire/pb_varint.h"

void cut_put_number(struct strbuf *b, uint32_t field, uint64_t v)
{
	uint8_t *p = (uint8_t *)strbuf_reserve(b, 20);

	if (p)
		b->len = (size_t)((char *)pb_put_varint(
					  pb_put_varint(p, pb_tag(field, PB_WIRE_VARINT)), v) -
				  b->s);
}

static void cut_put_fixed64(struct strbuf *b, uint32_t field, uint64_t v)
{
	uint8_t *p = (uint8_t *)strbuf_reserve(b, 20);

	if (!p)
		return;
	p = pb_put_varint(p, pb_tag(field, PB_WIRE_FIXED64));
	memcpy(p, &v, sizeof(v));
	b->len = (size_t)((char *)p + sizeof(v) - b->s);
}

void cut_put_bytes(struct strbuf *b, uint32_t field, const void *data, size_t len)
{
	cut_put_number(b, field, len);
	if (b->failed)
		return;
	/* cut_put_number() has written a tag for a varint: change its wire type to bytes. */
	b->s[b->len - pb_varint_len(len) - pb_varint_len(pb_tag(field, PB_WIRE_BYTES))] |=
		PB_WIRE_BYTES;
	strbuf_add(b, data, len);
}

#define TYPE_COUNTER 4 /* TrackEvent.Type */

struct cut_sum {
	uint64_t track;
	double sum;
	UT_hash_handle hh;
};

struct cut_counter {
	uint64_t uuid;
	bool incremental;
	bool has_last; /* the next two are its last value; false if it is incremental */
	int64_t last_ts;
	struct pb_field last;
	UT_hash_handle hh;
};

/* ---- sums ---- */

void cut_sums_clear(struct cut_sums *s)
{
	HASH_FREE(s->by_track);
}

/* Returns the sum of a track, created with 0 if needed; NULL if out of memory. */
static double *cut_differences_find_or_add_sum(struct cut_sums *s, uint64_t track)
{
	struct cut_sum *e;

	HASH_FIND(hh, s->by_track, &track, sizeof(track), e);
	if (e)
		return &e->sum;
	e = calloc(1, sizeof(*e));
	if (!e)
		return NULL;
	e->track = track;
	HASH_ADD(hh, s->by_track, track, sizeof(e->track), e);
	if (e->hh.tbl)
		return &e->sum;
	free(e);
	return NULL;
}

/* ---- counters ---- */

void cut_counters_deinit(struct cut_counters *c)
{
	HASH_FREE(c->by_uuid);
}

static bool is_incremental(const struct pb_field *counter)
{
	bool incremental = false;

	pb_read(counter, PB_TO(PB_COUNTER_DESCRIPTOR_IS_INCREMENTAL, &incremental));
	return incremental;
}

static struct cut_counter *find_counter(const struct cut_counters *c, uint64_t uuid)
{
	struct cut_counter *e;

	HASH_FIND(hh, c->by_uuid, &uuid, sizeof(uuid), e);
	return e;
}

/* Only the first description of a track counts. */
int cut_counters_read_descriptor(struct cut_counters *c, const struct pb_field *descriptor)
{
	struct pb_field counter = {.id = 0};
	struct cut_counter *e;
	uint64_t uuid = 0;

	pb_read(descriptor, PB_TO(PB_TRACK_DESCRIPTOR_UUID, &uuid),
		PB_TO(PB_TRACK_DESCRIPTOR_COUNTER, &counter));
	if (!counter.data || find_counter(c, uuid))
		return 0;
	e = calloc(1, sizeof(*e));
	if (!e)
		return -ENOMEM;
	e->uuid = uuid;
	e->incremental = is_incremental(&counter);
	HASH_ADD(hh, c->by_uuid, uuid, sizeof(e->uuid), e);
	if (e->hh.tbl)
		return 0;
	free(e);
	return -ENOMEM;
}

/* ---- times ---- */

void cut_times_read_descriptor(struct cut_times *t, const struct pb_field *descriptor)
{
	*t = (struct cut_times){.known = true};
	pb_read(descriptor, PB_TO(PB_THREAD_DESCRIPTOR_REFERENCE_TIMESTAMP_US, &t->us),
		PB_TO(PB_THREAD_DESCRIPTOR_REFERENCE_THREAD_TIME_US, &t->thread_us),
		PB_TO(PB_THREAD_DESCRIPTOR_REFERENCE_THREAD_INSTRUCTION_COUNT, &t->instructions));
}

static int64_t add_wrapping(int64_t *sum, uint64_t v)
{
	return *sum = (int64_t)((uint64_t)*sum + v);
}

/* Reads the times of an event. Adds differences to t, and sets ret to the sums. */
static void read_event_times(const struct pb_field *event, struct cut_times *t,
			     struct cut_differences *ret)
{
	pb_for_each (f, event)
		switch (f.id) {
		case PB_TRACK_EVENT_TIMESTAMP_DELTA_US:
		case PB_TRACK_EVENT_TIMESTAMP_ABSOLUTE_US:
			if (ret->has_time)
				break;
			ret->has_time = f.id == PB_TRACK_EVENT_TIMESTAMP_ABSOLUTE_US || t->known;
			ret->us = f.id == PB_TRACK_EVENT_TIMESTAMP_DELTA_US
					  ? add_wrapping(&t->us, f.u64)
					  : (int64_t)f.u64;
			ret->any |= ret->has_time;
			break;
		case PB_TRACK_EVENT_THREAD_TIME_DELTA_US:
			ret->thread_us = add_wrapping(&t->thread_us, f.u64);
			ret->any = true;
			break;
		case PB_TRACK_EVENT_THREAD_INSTRUCTION_COUNT_DELTA:
			ret->instructions = add_wrapping(&t->instructions, f.u64);
			ret->any = true;
			break;
		}
}

/* ---- values ---- */

static double cut_differences_to_double(const struct pb_field *f)
{
	double v;

	if (f->wire_type != PB_WIRE_FIXED64)
		return (double)(int64_t)f->u64;
	memcpy(&v, &f->u64, sizeof(v));
	return v;
}

/* Lists the values of a repeated field, packed or not: of 8 bytes each if fixed, else varints.
 * Returns their number, at most max. */
static size_t cut_differences_list_values(const void *message, size_t len, uint32_t field,
					  bool fixed, struct pb_field *ret, size_t max)
{
	uint32_t type = fixed ? PB_WIRE_FIXED64 : PB_WIRE_VARINT;
	struct pb_field f;
	struct pb_dec d;
	size_t n = 0;

	pb_dec_init(&d, message, len);
	while (n < max && pb_dec_next(&d, &f)) {
		struct pb_packed p = pb_packed_of(&f);
		struct pb_field one = {.id = field, .wire_type = (uint8_t)type};

		if (f.id != field)
			continue;
		if (!f.data && f.wire_type == type) {
			one.u64 = f.u64;
			ret[n++] = one;
		}
		for (size_t at = 0; f.data && fixed && n < max && at + 8 <= f.len; at += 8) {
			memcpy(&one.u64, f.data + at, sizeof(one.u64));
			ret[n++] = one;
		}
		while (f.data && !fixed && n < max && pb_packed_next(&p, &one.u64))
			ret[n++] = one;
	}
	return n;
}

/* Returns the TrackEventDefaults within TracePacketDefaults; id 0: there are none. */
static struct pb_field find_event_defaults(const struct strbuf *defaults)
{
	struct pb_field f, found = {.id = 0};
	struct pb_dec d;

	pb_dec_init(&d, defaults->s, defaults->len);
	while (pb_dec_next(&d, &f))
		if (f.id == PB_TRACE_PACKET_DEFAULTS_TRACK_EVENT_DEFAULTS && f.data)
			found = f;
	return found;
}

/* Lists the values of a field of the event, or else of the defaults, whose fields have the same
 * numbers. Returns their number, at most max. */
static size_t list_tracks_or_defaults(const struct pb_field *event, const struct cut_values_of *of,
				      uint32_t field, struct pb_field *ret, size_t max)
{
	size_t n = cut_differences_list_values(event->data, event->len, field, false, ret, max);
	struct pb_field defaults;

	if (n)
		return n;
	defaults = find_event_defaults(of->defaults);
	return cut_differences_list_values(defaults.data, defaults.len, field, false, ret, max);
}

/* Adds a value to *ret. Returns false if readers drop it and the values after it, or if memory runs
 * out, which sets *ret_error. */
static bool add_counter_value(const struct cut_values_of *of, uint64_t track,
			      const struct pb_field *field, struct cut_differences *ret,
			      int *ret_error)
{
	struct cut_counter *counter = find_counter(of->counters, track);
	struct cut_value *v = &ret->values[ret->n_values];
	double *sum;

	if (!counter)
		return false;
	*v = (struct cut_value){
		.track = track,
		.field = *field,
		.incremental = counter->incremental,
		.counter = counter,
	};
	ret->n_values++;
	if (!v->incremental)
		return true;
	sum = cut_differences_find_or_add_sum(of->sums, track);
	if (!sum) {
		*ret_error = -ENOMEM;
		return false;
	}
	v->before = *sum;
	v->after = *sum += cut_differences_to_double(field);
	ret->any = true;
	return true;
}

static bool read_counter(const struct pb_field *event, const struct cut_values_of *of,
			 struct cut_differences *ret, int *ret_error)
{
	struct pb_field value = {.id = 0}, track[1];
	uint64_t type = 0;

	pb_for_each (f, event)
		if (f.id == PB_TRACK_EVENT_TYPE && !f.data)
			type = f.u64;
		else if ((f.id == PB_TRACK_EVENT_COUNTER_VALUE ||
			  f.id == PB_TRACK_EVENT_DOUBLE_COUNTER_VALUE) &&
			 !f.data)
			value = f;
	if (type != TYPE_COUNTER)
		return true;
	if (!value.id || !list_tracks_or_defaults(event, of, PB_TRACK_EVENT_TRACK_UUID, track, 1))
		return false;
	ret->has_counter = add_counter_value(of, track[0].u64, &value, ret, ret_error);
	return ret->has_counter;
}

static const struct {
	uint32_t values, tracks;
	bool fixed;
} extras[] = {
	{PB_TRACK_EVENT_EXTRA_COUNTER_VALUES, PB_TRACK_EVENT_EXTRA_COUNTER_TRACK_UUIDS, false},
	{PB_TRACK_EVENT_EXTRA_DOUBLE_COUNTER_VALUES,
	 PB_TRACK_EVENT_EXTRA_DOUBLE_COUNTER_TRACK_UUIDS, true},
};

/* Readers drop the values of an event that has more values than tracks, or more than they
 * accept. */
static void read_extra_counters(const struct pb_field *event, const struct cut_values_of *of,
				struct cut_differences *ret, int *ret_error)
{
	size_t room = CUT_VALUES_MAX - 1;

	for (size_t k = 0; k < ARRAY_SIZE(extras); k++) {
		struct pb_field values[CUT_VALUES_MAX], tracks[CUT_VALUES_MAX];
		size_t n = cut_differences_list_values(event->data, event->len, extras[k].values,
						       extras[k].fixed, values, CUT_VALUES_MAX);

		if (!n)
			continue;
		if (n > room || list_tracks_or_defaults(event, of, extras[k].tracks, tracks, n) < n)
			return;
		room -= n;
		for (size_t i = 0; i < n; i++)
			if (!add_counter_value(of, tracks[i].u64, &values[i], ret, ret_error))
				return;
	}
}

int cut_differences_read(const struct pb_field *event, const struct cut_values_of *of,
			 struct cut_differences *ret)
{
	int error = 0;

	ret->any = ret->has_time = ret->has_counter = false;
	ret->n_values = 0;
	read_event_times(event, of->times, ret);
	if (of->counters->by_uuid && read_counter(event, of, ret, &error))
		read_extra_counters(event, of, ret, &error);
	return error;
}

/* ---- for a part ---- */

static void cut_differences_put_field(struct strbuf *ret, const struct pb_field *f)
{
	if (f->wire_type == PB_WIRE_FIXED64)
		cut_put_fixed64(ret, f->id, f->u64);
	else
		cut_put_number(ret, f->id, f->u64);
}

/* Appends a field like f with another value. */
static void cut_differences_put_number(struct strbuf *ret, const struct pb_field *f, double v)
{
	struct pb_field new = *f;

	if (f->wire_type == PB_WIRE_FIXED64)
		memcpy(&new.u64, &v, sizeof(v));
	else if (v > -9.2e18 && v < 9.2e18)
		new.u64 = (uint64_t)llround(v);
	cut_differences_put_field(ret, &new);
}

/* Appends all values of a field. Returns 1 if a sum of the part differs from that of the trace, 0,
 * or -ENOMEM. */
static int put_field_values(const struct cut_differences *d, uint32_t field, struct cut_sums *part,
			    struct strbuf *ret)
{
	int differs = 0;

	for (size_t i = 0; i < d->n_values; i++) {
		const struct cut_value *v = &d->values[i];
		double *sum = NULL;

		if (v->field.id != field)
			continue;
		if (v->incremental) {
			sum = cut_differences_find_or_add_sum(part, v->track);
			if (!sum)
				return -ENOMEM;
		}
		if (!sum || *sum == v->before) {
			cut_differences_put_field(ret, &v->field);
		} else {
			cut_differences_put_number(ret, &v->field, v->after - *sum);
			differs = 1;
		}
		if (sum)
			*sum = v->after;
	}
	return differs;
}

/* Returns true for a field whose values are in d. */
static bool field_has_values(const struct cut_differences *d, uint32_t field)
{
	for (size_t i = 0; i < d->n_values; i++)
		if (d->values[i].field.id == field)
			return true;
	return false;
}

/* For a field that is a difference, returns the field with the absolute value and sets *ret to that
 * value. Returns 0 for other fields, and for a time that is unknown. */
static uint32_t find_absolute_field(const struct cut_differences *d, uint32_t field, int64_t *ret)
{
	switch (field) {
	case PB_TRACK_EVENT_TIMESTAMP_DELTA_US:
		*ret = d->us;
		return d->has_time ? PB_TRACK_EVENT_TIMESTAMP_ABSOLUTE_US : 0;
	case PB_TRACK_EVENT_THREAD_TIME_DELTA_US:
		*ret = d->thread_us;
		return PB_TRACK_EVENT_THREAD_TIME_ABSOLUTE_US;
	case PB_TRACK_EVENT_THREAD_INSTRUCTION_COUNT_DELTA:
		*ret = d->instructions;
		return PB_TRACK_EVENT_THREAD_INSTRUCTION_COUNT_ABSOLUTE;
	}
	return 0;
}

int cut_differences_build(const struct pb_field *event, const struct cut_differences *d,
			  struct cut_sums *part, struct strbuf *ret)
{
	uint32_t done[3] = {0}; /* fields whose values are written */
	const uint8_t *at = event->data;
	int differs = 0, r = 0;
	struct pb_field f;
	struct pb_dec dec;
	size_t n = 0;

	pb_dec_init(&dec, event->data, event->len);
	for (; r >= 0 && pb_dec_next(&dec, &f); at = dec.cur) {
		int64_t value;
		uint32_t absolute = find_absolute_field(d, f.id, &value);

		if (absolute) {
			cut_put_number(ret, absolute, (uint64_t)value);
			r = 1;
		} else if (!field_has_values(d, f.id)) {
			strbuf_add(ret, at, (size_t)(dec.cur - at));
			continue;
		} else if (done[0] == f.id || done[1] == f.id || done[2] == f.id) {
			continue;
		} else {
			r = put_field_values(d, f.id, part, ret);
			done[n++] = f.id;
		}
		differs |= r;
	}
	return r < 0 ? r : ret->failed ? -ENOMEM : differs;
}

/* ---- the value at the beginning of a part ---- */

bool cut_value_put_before(const struct cut_value *v, int64_t from, struct strbuf *ret)
{
	const struct cut_counter *counter = v->counter;
	struct pb_field value = counter->last;

	if (!counter->has_last || counter->last_ts >= from)
		return false;
	value.id = value.wire_type == PB_WIRE_FIXED64 ? PB_TRACK_EVENT_DOUBLE_COUNTER_VALUE
						      : PB_TRACK_EVENT_COUNTER_VALUE;
	cut_put_number(ret, PB_TRACK_EVENT_TYPE, TYPE_COUNTER);
	cut_put_number(ret, PB_TRACK_EVENT_TRACK_UUID, v->track);
	cut_differences_put_field(ret, &value);
	return true;
}

void cut_differences_keep_last_values(const struct cut_differences *d, int64_t ts)
{
	for (size_t i = 0; i < d->n_values; i++) {
		struct cut_counter *counter = d->values[i].counter;

		if (counter->incremental || (counter->has_last && counter->last_ts > ts))
			continue;
		counter->has_last = true;
		counter->last_ts = ts;
		counter->last = d->values[i].field;
	}
}
