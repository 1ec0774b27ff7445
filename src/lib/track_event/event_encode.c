/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The packet of an event. Fields are in the order of their numbers. Texts that are new to the
 * sequence are collected while the event is written, and defined after it in the same packet:
 *
 *	timestamp | track_event { ... name_iid 3 } | interned_data { event_names { 3, "send" } } | flags
 *
 * Most events are short and have no new text. Their packet is written directly into the chunk, with
 * 1-byte lengths.
 */
#include "base/core/mem.h"
#include "gen/fields.h"
#include "lib/data_source/packet.h"
#include "lib/track_event/event.h"
#include "lib/track_event/string_ids.h"
#include "lib/track_event/track_descriptor.h"

/*
 * The first pass over an event's arguments finds their parts and their maximum size. It runs once
 * for all instances.
 */

#define BASE_BYTES 46u /* time, clock, lengths, category, type, name and flags */
#define NUMBER_BYTES 22u /* an annotation: tag, length, name id, value */
#define FIELD_BYTES 20u /* a tag and the longest value of fixed size */
#define NEVER_SMALL 1000u

static void scan_annotation(struct event *ev, const struct sonda_arg *a)
{
	ev->parts |= EVENT_ANNOTATIONS;
	ev->bound += NUMBER_BYTES;
	if (a->dynamic_key)
		ev->bound += (uint32_t)MIN(strlen(a->key.text), NEVER_SMALL);
	switch (a->type) {
	case SONDA_ARG_STRING:
	case SONDA_ARG_JSON:
		ev->bound += (uint32_t)MIN(event_text_len(a), NEVER_SMALL);
		break;
	case SONDA_ARG_INTERNED:
	case SONDA_ARG_PROTO:
		ev->bound += NEVER_SMALL;
		break;
	}
}

static void scan_text(struct event *ev, const struct sonda_arg *a, enum event_part part)
{
	ev->parts |= part;
	ev->bound += FIELD_BYTES + (uint32_t)MIN(event_text_len(a), NEVER_SMALL);
}

static void add_fixed_part(struct event *ev, enum event_part part)
{
	ev->parts |= part;
	ev->bound += FIELD_BYTES;
}

static void scan_argument(struct event *ev, const struct sonda_arg *a)
{
	switch (a->type) {
	case SONDA_ARG_TRACK:
		ev->track = a->value.p;
		ev->track_uuid = track_uuid(ev->track);
		add_fixed_part(ev, EVENT_TRACK);
		break;
	case SONDA_ARG_TRACK_UUID:
		ev->track = NULL;
		ev->track_uuid = a->value.u;
		add_fixed_part(ev, EVENT_TRACK);
		break;
	case SONDA_ARG_TIMESTAMP:
		ev->clock = (uint32_t)a->key.number;
		ev->time = a->value.u;
		ev->parts |= EVENT_CLOCK;
		break;
	case SONDA_ARG_COUNTER_INT:
	case SONDA_ARG_COUNTER_DOUBLE:
		add_fixed_part(ev, EVENT_COUNTER);
		break;
	case SONDA_ARG_FLOW:
	case SONDA_ARG_FLOW_END:
		add_fixed_part(ev, EVENT_FLOWS);
		break;
	case SONDA_ARG_CORRELATION:
		add_fixed_part(ev, EVENT_CORRELATION);
		break;
	case SONDA_ARG_CORRELATION_TEXT:
		scan_text(ev, a, EVENT_CORRELATION);
		break;
	case SONDA_ARG_CATEGORY:
		scan_text(ev, a, EVENT_CATEGORIES);
		break;
	case SONDA_ARG_NAME:
		ev->name = NULL;
		ev->dynamic_name = a->value.p;
		break;
	case SONDA_ARG_LOCATION:
		ev->bound += NEVER_SMALL;
		ev->parts |= EVENT_LOCATION;
		break;
	case SONDA_ARG_LOG:
		ev->bound += NEVER_SMALL;
		ev->parts |= EVENT_LOG;
		break;
	case SONDA_ARG_EXTRA_INT:
	case SONDA_ARG_EXTRA_DOUBLE:
		ev->bound += FIELD_BYTES; /* and the uuid of the track */
		add_fixed_part(ev, EVENT_EXTRA_COUNTERS);
		break;
	}
}

void event_scan(struct event *ev)
{
	ev->parts = 0;
	ev->bound = BASE_BYTES;
	ev->track = NULL;
	ev->track_uuid = 0;
	for (const struct sonda_arg *a = ev->args; a->type != SONDA_ARG_LIST_END; a++) {
		if (a->type <= SONDA_ARG_CLOSE) {
			continue;
		} else if (a->type < SONDA_ARG_FIELD_VARINT) {
			scan_annotation(ev, a);
		} else if (a->type < SONDA_ARG_TRACK) {
			ev->bound += FIELD_BYTES;
			if (a->type == SONDA_ARG_FIELD_BYTES)
				ev->bound += (uint32_t)MIN(event_text_len(a), NEVER_SMALL);
			ev->parts |= EVENT_FIELDS;
		} else {
			scan_argument(ev, a);
		}
	}
	if (ev->dynamic_name)
		ev->bound += 2 + (uint32_t)MIN(strlen(ev->dynamic_name), NEVER_SMALL);
}

static bool text_is_known(const struct event_sequence *s, enum intern_field field,
			  struct sonda_string *str)
{
	return intern_map_find(&s->maps[field], string_id(str));
}

/* Returns true if the sequence has defined all texts of the event. */
static bool event_texts_known(const struct event *ev, const struct event_sequence *s)
{
	const struct sonda_category *c = ev->category;

	if (ev->name && !text_is_known(s, INTERN_NAME, ev->name))
		return false;
	for (int i = 0; i < c->n_names && event_has_category(ev); i++)
		if (!text_is_known(s, INTERN_CATEGORY, (struct sonda_string *)&c->names[i]))
			return false;
	if (!(ev->parts & EVENT_ANNOTATIONS))
		return true;
	for (const struct sonda_arg *a = ev->args; a->type != SONDA_ARG_LIST_END; a++)
		if (a->type > SONDA_ARG_CLOSE && a->type < SONDA_ARG_FIELD_VARINT &&
		    !a->dynamic_key && a->key.string &&
		    !text_is_known(s, INTERN_ANNOTATION, a->key.string))
			return false;
	return true;
}

#define NEEDS_STATE 2u
#define FILTERED "FILTERED" /* replaces dynamic names, as in Perfetto's library */
#define MAX_EXTRA 8u /* extra counter values of one event; readers accept no more */

/* ---- categories and names ---- */

static void write_category_iids(struct event_encoder *x, const struct sonda_category *c)
{
	for (int i = 0; i < c->n_names; i++) {
		uint32_t iid =
			event_intern(x, INTERN_CATEGORY, (struct sonda_string *)&c->names[i]);

		if (iid)
			pb_enc_u64(x->enc, PB_TRACK_EVENT_CATEGORY_IIDS, iid);
		else
			pb_enc_str(x->enc, PB_TRACK_EVENT_CATEGORIES, c->names[i].text);
	}
}

static void write_categories(struct event_encoder *x, const struct event *ev)
{
	for (const struct sonda_arg *a = ev->args; a->type != SONDA_ARG_LIST_END; a++)
		if (a->type == SONDA_ARG_CATEGORY)
			pb_enc_bytes(x->enc, PB_TRACK_EVENT_CATEGORIES, a->value.p,
				     event_text_len(a));
}

static void write_name(struct event_encoder *x, const struct event *ev,
		       const struct event_config *c)
{
	uint32_t iid;

	if (ev->name) {
		iid = event_intern(x, INTERN_NAME, ev->name);
		if (iid)
			pb_enc_u64(x->enc, PB_TRACK_EVENT_NAME_IID, iid);
		else
			pb_enc_str(x->enc, PB_TRACK_EVENT_NAME, ev->name->text);
	} else if (ev->dynamic_name) {
		pb_enc_str(x->enc, PB_TRACK_EVENT_NAME,
			   c->filter_dynamic_event_names ? FILTERED : ev->dynamic_name);
	}
}

/* ---- counters ---- */

/* Returns the value to write: for an incremental counter, the difference from its last value.
 * Stores `value` as the last one. */
static int64_t convert_counter_and_store_last(struct event_encoder *x, const struct sonda_track *t,
					      uint64_t uuid, int64_t value)
{
	struct seen_track *seen;
	int64_t last;

	if (!t || !t->is_incremental)
		return value;
	seen = track_set_find(&x->sequence->tracks, uuid);
	if (!seen)
		return value;
	last = seen->last_value;
	seen->last_value = value;
	return (int64_t)((uint64_t)value - (uint64_t)last);
}

static void write_counter(struct event_encoder *x, const struct event *ev, uint8_t type)
{
	for (const struct sonda_arg *a = ev->args; a->type != SONDA_ARG_LIST_END; a++) {
		if (a->type != type)
			continue;
		if (type == SONDA_ARG_COUNTER_INT)
			pb_enc_i64(x->enc, PB_TRACK_EVENT_COUNTER_VALUE,
				   convert_counter_and_store_last(x, ev->track, ev->track_uuid,
								  a->value.i));
		else
			pb_enc_double(x->enc, PB_TRACK_EVENT_DOUBLE_COUNTER_VALUE, a->value.d);
		return;
	}
}

struct extra_counters {
	struct {
		uint64_t uuid;
		int64_t value;
	} ints[MAX_EXTRA];
	struct {
		uint64_t uuid;
		double value;
	} doubles[MAX_EXTRA];
	unsigned n_ints, n_doubles;
	bool named; /* the event names its tracks; else they are the sequence's defaults */
};

static void collect_extra_counters(struct event_encoder *x, const struct event *ev,
				   struct extra_counters *m)
{
	for (const struct sonda_arg *a = ev->args; a->type != SONDA_ARG_LIST_END; a++) {
		if (m->n_ints + m->n_doubles == MAX_EXTRA)
			return;
		if (a->type == SONDA_ARG_EXTRA_INT) {
			uint64_t uuid = track_uuid(a->key.track);

			m->ints[m->n_ints].uuid = uuid;
			m->ints[m->n_ints++].value =
				convert_counter_and_store_last(x, a->key.track, uuid, a->value.i);
			m->named = true;
		} else if (a->type == SONDA_ARG_EXTRA_DOUBLE) {
			m->doubles[m->n_doubles].uuid = track_uuid(a->key.track);
			m->doubles[m->n_doubles++].value = a->value.d;
		}
	}
}

static void write_extra_values(struct event_encoder *x, const struct extra_counters *m)
{
	for (unsigned i = 0; i < m->n_ints; i++)
		pb_enc_i64(x->enc, PB_TRACK_EVENT_EXTRA_COUNTER_VALUES, m->ints[i].value);
}

static void write_extra_tracks(struct event_encoder *x, const struct extra_counters *m)
{
	for (unsigned i = 0; m->named && i < m->n_ints; i++)
		pb_enc_u64(x->enc, PB_TRACK_EVENT_EXTRA_COUNTER_TRACK_UUIDS, m->ints[i].uuid);
}

static void write_extra_doubles(struct event_encoder *x, const struct extra_counters *m)
{
	for (unsigned i = 0; i < m->n_doubles; i++)
		pb_enc_u64(x->enc, PB_TRACK_EVENT_EXTRA_DOUBLE_COUNTER_TRACK_UUIDS,
			   m->doubles[i].uuid);
	for (unsigned i = 0; i < m->n_doubles; i++)
		pb_enc_double(x->enc, PB_TRACK_EVENT_EXTRA_DOUBLE_COUNTER_VALUES,
			      m->doubles[i].value);
}

/* ---- the other parts ---- */

static uint32_t location_iid(struct event_encoder *x, const struct event *ev)
{
	for (const struct sonda_arg *a = ev->args; a->type != SONDA_ARG_LIST_END; a++)
		if (a->type == SONDA_ARG_LOCATION)
			return event_intern_location(x, (struct sonda_location *)a->value.p);
	return 0;
}

static void write_log_message(struct event_encoder *x, const struct event *ev)
{
	struct pb_enc *e = x->enc;

	for (const struct sonda_arg *a = ev->args; a->type != SONDA_ARG_LIST_END; a++) {
		uint32_t location;

		if (a->type != SONDA_ARG_LOG)
			continue;
		pb_enc_open(e, PB_TRACK_EVENT_LOG_MESSAGE);
		location = location_iid(x, ev);
		if (location)
			pb_enc_u64(e, PB_LOG_MESSAGE_SOURCE_LOCATION_IID, location);
		pb_enc_u64(e, PB_LOG_MESSAGE_BODY_IID, event_define_log_body(x, a));
		pb_enc_u64(e, PB_LOG_MESSAGE_PRIO, a->key.number);
		pb_enc_close(e);
		return;
	}
}

static void write_flows(struct event_encoder *x, const struct event *ev, uint8_t type,
			uint32_t field)
{
	for (const struct sonda_arg *a = ev->args; a->type != SONDA_ARG_LIST_END; a++)
		if (a->type == type)
			pb_enc_fixed64(x->enc, field,
				       a->value.u ^ (a->key.number ? process_identity.uuid : 0));
}

static void write_correlation(struct event_encoder *x, const struct event *ev)
{
	for (const struct sonda_arg *a = ev->args; a->type != SONDA_ARG_LIST_END; a++) {
		if (a->type == SONDA_ARG_CORRELATION)
			pb_enc_u64(x->enc, PB_TRACK_EVENT_CORRELATION_ID, a->value.u);
		else if (a->type == SONDA_ARG_CORRELATION_TEXT)
			pb_enc_bytes(x->enc, PB_TRACK_EVENT_CORRELATION_ID_STR, a->value.p,
				     event_text_len(a));
		else
			continue;
		return;
	}
}

/* Writes the optional fields that follow the track, in the order of their numbers. */
static void write_optional_parts(struct event_encoder *x, const struct event *ev,
				 const struct event_config *c, const struct extra_counters *m)
{
	uint32_t iid;

	write_extra_values(x, m);
	if (ev->parts & EVENT_LOG)
		write_log_message(x, ev);
	if (ev->parts & EVENT_CATEGORIES && event_has_category(ev))
		write_categories(x, ev);
	if (!ev->name)
		write_name(x, ev, c);
	if (ev->parts & EVENT_COUNTER)
		write_counter(x, ev, SONDA_ARG_COUNTER_INT);
	write_extra_tracks(x, m);
	if (ev->parts & EVENT_LOCATION) {
		iid = location_iid(x, ev);
		if (iid)
			pb_enc_u64(x->enc, PB_TRACK_EVENT_SOURCE_LOCATION_IID, iid);
	}
	if (ev->parts & EVENT_COUNTER)
		write_counter(x, ev, SONDA_ARG_COUNTER_DOUBLE);
	write_extra_doubles(x, m);
	if (ev->parts & EVENT_FLOWS) {
		write_flows(x, ev, SONDA_ARG_FLOW, PB_TRACK_EVENT_FLOW_IDS);
		write_flows(x, ev, SONDA_ARG_FLOW_END, PB_TRACK_EVENT_TERMINATING_FLOW_IDS);
	}
	if (ev->parts & EVENT_CORRELATION)
		write_correlation(x, ev);
	if (ev->parts & EVENT_FIELDS)
		event_write_fields(x, ev->args);
}

static void event_encode_write_event(struct event_encoder *x, const struct event *ev,
				     const struct event_config *c)
{
	struct event_sequence *s = x->sequence;
	struct extra_counters extra;

	extra.n_ints = extra.n_doubles = 0;
	extra.named = false;
	if (c->enable_thread_time_sampling && !(ev->parts & EVENT_TRACK)) {
		extra.ints[0].uuid = thread_time_uuid(s->tid);
		extra.ints[0].value = (int64_t)event_sequence_thread_time(s, c, ev->now_ns);
		extra.n_ints = 1;
	}
	if (ev->parts & EVENT_EXTRA_COUNTERS)
		collect_extra_counters(x, ev, &extra);
	if (event_has_category(ev))
		write_category_iids(x, ev->category);
	if (ev->parts & EVENT_ANNOTATIONS && !c->filter_debug_annotations)
		event_write_annotations(x, ev->args);
	pb_enc_u64(x->enc, PB_TRACK_EVENT_TYPE, ev->type);
	if (ev->name)
		write_name(x, ev, c);
	if (ev->parts & EVENT_TRACK)
		pb_enc_u64(x->enc, PB_TRACK_EVENT_TRACK_UUID, ev->track_uuid);
	if (ev->parts & ~(EVENT_ANNOTATIONS | EVENT_TRACK | EVENT_CLOCK) || extra.n_ints ||
	    ev->dynamic_name)
		write_optional_parts(x, ev, c, &extra);
}

void event_encode(const struct event *ev, struct event_sequence *s, struct sonda_writer *w,
		  const struct event_config *c)
{
	struct event_encoder x;
	struct event_stamp stamp;
	struct sonda_packet *p = NULL;
	uint8_t *length;

	x.sequence = s;
	x.n_definitions = 0;
	x.small = ev->bound <= EVENT_SMALL && !c->enable_thread_time_sampling &&
		  event_texts_known(ev, s);
	if (x.small)
		p = packet_begin_small(w);
	if (!p) {
		x.small = false;
		p = sonda_packet_begin(w);
	}
	x.enc = packet_enc(p);
	stamp = ev->parts & EVENT_CLOCK ? event_sequence_make_stamp(s, c, ev->clock, ev->time)
					: event_sequence_stamp(s, c, ev->now_ns);
	pb_enc_u64(x.enc, PB_TRACE_PACKET_TIMESTAMP, stamp.value);
	length = event_open(&x, PB_TRACE_PACKET_TRACK_EVENT);
	event_encode_write_event(&x, ev, c);
	event_close(&x, length);
	event_write_definitions(&x);
	pb_enc_u64(x.enc, PB_TRACE_PACKET_SEQUENCE_FLAGS, NEEDS_STATE);
	if (stamp.clock)
		pb_enc_u64(x.enc, PB_TRACE_PACKET_TIMESTAMP_CLOCK_ID, stamp.clock);
	sonda_packet_end(w);
}
