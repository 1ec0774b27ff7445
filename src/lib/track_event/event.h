/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <sonda/track_event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "lib/track_event/event_sequence.h"
#include "lib/track_event/string_ids.h"
#include "wire/pb_enc.h"

/* One track event, from the caller's macros to the sequences of the instances. */

/* The parts of an event's arguments. Each part that exists is written in a pass of its own. */
enum event_part {
	EVENT_ANNOTATIONS = 1 << 0,
	EVENT_FIELDS = 1 << 1,
	EVENT_COUNTER = 1 << 2,
	EVENT_FLOWS = 1 << 3,
	EVENT_CATEGORIES = 1 << 4,
	EVENT_LOCATION = 1 << 5,
	EVENT_LOG = 1 << 6,
	EVENT_CORRELATION = 1 << 7,
	EVENT_EXTRA_COUNTERS = 1 << 8,
	EVENT_CLOCK = 1 << 9, /* the caller's time */
	EVENT_TRACK = 1 << 10,
};

struct event {
	const struct sonda_category *category;
	struct sonda_string *name; /* NULL: none, or dynamic_name */
	const char *dynamic_name;
	const struct sonda_arg *args; /* never NULL */
	uint64_t now_ns;
	uint64_t time; /* EVENT_CLOCK */
	const struct sonda_track *track; /* EVENT_TRACK; NULL: SONDA_TRACK_UUID */
	uint64_t track_uuid;
	uint32_t clock;
	uint32_t parts; /* enum event_part */
	/* Maximum size in bytes, without the definitions of interned texts. It holds only up to
	 * EVENT_SMALL: above that, the event may be larger, since long texts are not counted in
	 * full. */
	uint32_t bound;
	uint8_t type; /* enum sonda_event_type */
};

/* A counter has no category. An end has none, because with a category it would close only a slice
 * of the same category. */
static inline bool event_has_category(const struct event *ev)
{
	return ev->type != SONDA_EVENT_END && ev->type != SONDA_EVENT_COUNTER;
}

/* A packet of at most this number of bytes has 1-byte lengths. */
#define EVENT_SMALL 127u

/* Reads the arguments: sets parts, bound and the track, and the name and time if they have one. */
void event_scan(struct event *ev);

/* Writes the event's packet. The descriptor of its track must be written already. */
void event_encode(const struct event *ev, struct event_sequence *s, struct sonda_writer *w,
		  const struct event_config *c);

/* ---- parts of the encoder ---- */

#define EVENT_DEFINITIONS 24 /* interned texts of one event; others are written in full */

struct event_definition {
	uint8_t field; /* enum intern_field */
	uint32_t iid;
	const char *text;
	uint32_t len;
	const struct sonda_location *location;
};

/* An event's packet while it is written. */
struct event_encoder {
	struct pb_enc *enc;
	struct event_sequence *sequence;
	bool small; /* lengths have 1 byte, and the packet is in one range */
	uint8_t n_definitions;
	struct event_definition definitions[EVENT_DEFINITIONS];
};

/* Defines a text in this packet. id: its number in the process (string_ids.h). Returns its
 * interning id, or 0 if the text must be written in full. */
uint32_t event_define(struct event_encoder *x, enum intern_field field, uint32_t id,
		      const char *text);

/* Return the interning id of a text or location. A new one is defined in this packet. Return 0 if
 * the text must be written in full, and the location left out. */
static inline uint32_t event_intern(struct event_encoder *x, enum intern_field field,
				    struct sonda_string *s)
{
	uint32_t id = string_id(s);
	uint32_t iid = intern_map_find(&x->sequence->maps[field], id);

	return __builtin_expect(iid != 0, 1) ? iid : event_define(x, field, id, s->text);
}

uint32_t event_intern_location(struct event_encoder *x, struct sonda_location *l);
/* Defines a log message, which gets a new id each time. Returns 0 if there are too many
 * definitions. */
uint32_t event_define_log_body(struct event_encoder *x, const struct sonda_arg *a);
/* Writes InternedData, if the packet has definitions. */
void event_write_definitions(struct event_encoder *x);

/* Write debug_annotations, and fields by number. */
void event_write_annotations(struct event_encoder *x, const struct sonda_arg *args);
void event_write_fields(struct event_encoder *x, const struct sonda_arg *args);

/* Opens a nested message. Returns the argument for event_close(). */
static inline uint8_t *event_open(struct event_encoder *x, uint32_t field)
{
	struct pb_enc *e = x->enc;

	if (!x->small) {
		pb_enc_open(e, field);
		return NULL;
	}
	e->cur = pb_put_varint(e->cur, pb_tag(field, PB_WIRE_BYTES));
	return e->cur++;
}

static inline void event_close(struct event_encoder *x, uint8_t *length)
{
	if (length)
		*length = (uint8_t)(x->enc->cur - length - 1);
	else
		pb_enc_close(x->enc);
}

static inline size_t event_text_len(const struct sonda_arg *a)
{
	if (!a->value.p)
		return 0;
	return a->len == SONDA_LEN_TEXT ? strlen((const char *)a->value.p) : a->len;
}
