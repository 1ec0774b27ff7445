/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "analyze/import/arg_writer.h"
#include "analyze/import/described_tracks.h"

/* One TrackEvent, as far as its parts are needed before its kind is known. */

enum track_event_type { /* TrackEvent.Type */
			EVENT_UNSPECIFIED,
			EVENT_BEGIN,
			EVENT_END,
			EVENT_INSTANT,
			EVENT_COUNTER
};

struct track_event {
	int64_t ts;
	uint32_t state; /* of its sequence */
	const struct packet_sequence_info *seq;
	const uint8_t *packet; /* its identity */
	struct pb_field message; /* TrackEvent */
	uint64_t type;
	bool has_track;
	uint64_t track; /* uuid */
	struct pb_field legacy; /* id 0: none */
	struct pb_field counter; /* id 0: none */
	int64_t thread_ns, instructions; /* NULL_I64: unknown */
	uint32_t name, category; /* strings or NULL_U32; set by rows_track_event */
};

/* Reads the parts that stand in the event's bytes. */
void track_event_read(struct track_event *e, struct sequences *q, const struct pb_field *message);

/* track_event_tokens.c: in the file's order. Returns false if the event is dropped, and counts
 * it. */
bool tokens_track_event(struct import *im, struct machine *m, const struct packet *p,
			struct packet_sequence_info *seq, const uint8_t *packet);
/* The time of an older program's event. Returns 1 and the time, 0 if the packet has it, -1 if there
 * is none. */
int tokens_track_event_time(struct import *im, struct machine *m, const struct packet *p,
			    struct packet_sequence_info *seq, int64_t *ret);

/* Values that depend on the events before: slot 0 is the counter's, 1 to 8 those of extra
 * counters. */
#define EXTRA_COUNTERS_MAX 8
#define SLOT_THREAD_TIME 16
#define SLOT_INSTRUCTIONS 17
bool event_value_get(struct import *im, const uint8_t *packet, unsigned slot, double *ret);
void event_values_deinit(struct import *im);

/* The whole part of a number; NULL_I64 if it does not fit. */
static inline int64_t whole_number(double v)
{
	return v > -9.2e18 && v < 9.2e18 ? (int64_t)v : NULL_I64;
}

/* A counter's value in an event: its number times the counter's unit. */
double counter_value(const struct described_track *d, const struct pb_field *f);

/* Values of further counters, with the tracks that the event or the defaults name. Returns their
 * number, or -1 and counts it if they do not match. */
struct extra_counter {
	uint64_t track;
	struct pb_field value;
};
int track_event_extras(struct import *im, struct machine *m, const struct track_event *e,
		       struct extra_counter extras[static EXTRA_COUNTERS_MAX]);

/* track_event_rows.c: in the order of time. */
void rows_track_event(struct import *im, struct machine *m, int64_t ts, const struct packet *p,
		      const uint8_t *packet, uint32_t state);
/* Times of older programs, which are also counters of their thread. */
void take_track_event_times(struct import *im, struct machine *m, struct track_event *e);

/* track_event_args.c: collects the arguments in im->args. */
void track_event_args(struct import *im, struct machine *m, const struct track_event *e);

/* legacy_events.c: an event of an older program. thread: utid, or NULL_U32. */
void rows_legacy_event(struct import *im, struct machine *m, struct track_event *e);

/* proto_fields.c: messages that an ExtensionDescriptor describes. */
void tokens_extension_descriptor(struct import *im, const struct pb_field *f);
/* Adds the field as arguments if it is one that the trace describes. type: a message's full
 * name. */
void proto_field_args(struct import *im, struct arg_writer *w, const char *type,
		      const struct pb_field *message, bool (*skip)(uint32_t field));
void proto_fields_deinit(struct import *im);
