/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The first pass over an event's arguments finds their parts and their maximum size. It runs once
 * for all instances.
 */
#include "base/core/mem.h"
#include "lib/track_event/event.h"
#include "lib/track_event/string_ids.h"
#include "lib/track_event/track_descriptor.h"

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

static void scan_fixed(struct event *ev, enum event_part part)
{
	ev->parts |= part;
	ev->bound += FIELD_BYTES;
}

static void scan_part(struct event *ev, const struct sonda_arg *a)
{
	switch (a->type) {
	case SONDA_ARG_TRACK:
		ev->track = a->value.p;
		ev->track_uuid = track_uuid(ev->track);
		scan_fixed(ev, EVENT_TRACK);
		break;
	case SONDA_ARG_TRACK_UUID:
		ev->track = NULL;
		ev->track_uuid = a->value.u;
		scan_fixed(ev, EVENT_TRACK);
		break;
	case SONDA_ARG_TIMESTAMP:
		ev->clock = (uint32_t)a->key.number;
		ev->time = a->value.u;
		ev->parts |= EVENT_CLOCK;
		break;
	case SONDA_ARG_COUNTER_INT:
	case SONDA_ARG_COUNTER_DOUBLE:
		scan_fixed(ev, EVENT_COUNTER);
		break;
	case SONDA_ARG_FLOW:
	case SONDA_ARG_FLOW_END:
		scan_fixed(ev, EVENT_FLOWS);
		break;
	case SONDA_ARG_CORRELATION:
		scan_fixed(ev, EVENT_CORRELATION);
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
		scan_fixed(ev, EVENT_EXTRA_COUNTERS);
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
			scan_part(ev, a);
		}
	}
	if (ev->dynamic_name)
		ev->bound += 2 + (uint32_t)MIN(strlen(ev->dynamic_name), NEVER_SMALL);
}

static bool is_known(const struct event_sequence *s, enum intern_field field,
		     struct sonda_string *str)
{
	return intern_map_find(&s->maps[field], string_id(str));
}

bool event_texts_known(const struct event *ev, const struct event_sequence *s)
{
	const struct sonda_category *c = ev->category;

	if (ev->name && !is_known(s, INTERN_NAME, ev->name))
		return false;
	for (int i = 0; i < c->n_names && event_has_category(ev); i++)
		if (!is_known(s, INTERN_CATEGORY, (struct sonda_string *)&c->names[i]))
			return false;
	if (!(ev->parts & EVENT_ANNOTATIONS))
		return true;
	for (const struct sonda_arg *a = ev->args; a->type != SONDA_ARG_LIST_END; a++)
		if (a->type > SONDA_ARG_CLOSE && a->type < SONDA_ARG_FIELD_VARINT &&
		    !a->dynamic_key && a->key.string &&
		    !is_known(s, INTERN_ANNOTATION, a->key.string))
			return false;
	return true;
}
