/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "analyze/import/arg_writer.h"
#include "analyze/import/described_tracks.h"

/* One TrackEvent, with the fields that are read for events of all types. */

enum track_event_type { /* TrackEvent.Type */
			EVENT_UNSPECIFIED,
			EVENT_BEGIN,
			EVENT_END,
			EVENT_INSTANT,
			EVENT_COUNTER,
			EVENT_STATE
};

/* TrackEvent.LegacyEvent: what events of older programs have. */
struct legacy_event {
	bool has_phase, has_bind_id, has_pid, has_tid;
	int32_t phase;
	int64_t dur, thread_dur, instructions; /* times in ns; NULL_I64: too large */
	uint64_t scope; /* InstantEventScope */
	uint64_t bind_id, flow; /* flow: FlowDirection */
	int64_t pid, tid; /* instead of those of the sequence's thread */
};

struct track_event {
	int64_t ts;
	uint32_t state; /* number of its sequence's state */
	const struct packet_sequence_info *seq;
	const uint8_t *packet; /* first byte of the packet: key of event_value_get() */
	struct pb_field message; /* TrackEvent */
	uint64_t type;
	bool has_type;
	bool has_track, names_track; /* names_track: the event itself has the uuid */
	uint64_t track; /* uuid */
	struct legacy_event legacy;
	uint64_t legacy_name; /* iid; 0: none */
	struct pb_field counter; /* id 0: none */
	struct pb_field callstack; /* InlineCallstack, or an iid; id 0: none */
	int64_t thread_ns, instructions; /* times of the thread so far; NULL_I64: unknown */
	/* Set by import_track_event(). Strings and ids are NULL_U32 where there is none. */
	uint32_t name, category;
	struct described_track *described; /* the track of the uuid; NULL: uuid 0 */
	bool on_thread; /* belongs to the track of thread utid, not to a uuid */
	uint32_t utid, upid; /* the thread or process that the track belongs to */
	uint32_t writer; /* utid of the thread that wrote an event of another track */
};

/* track_event.c: reads an event whose e->state is set. The track may come from the sequence's
 * defaults. */
void track_event_read(struct track_event *e, struct sequences *q, const struct pb_field *message);

/* Values that depend on earlier events. tokenize_track_event() stores them for the rows. Slots: 0
 * is the event's own counter, 1 to 8 are extra counters, SLOT_THREAD_TIME the thread's time, and
 * the next one its instructions. */
#define EXTRA_COUNTERS_MAX 8
#define SLOT_THREAD_TIME 16
/* Returns false if the event has no such value. */
bool event_value_get(struct import *im, const uint8_t *packet, unsigned slot, double *ret);
void event_values_deinit(struct import *im);

/* Returns a number without its fraction; NULL_I64 if it does not fit. */
static inline int64_t whole_number(double v)
{
	return v > -9.2e18 && v < 9.2e18 ? (int64_t)v : NULL_I64;
}

/* Returns the value that an event has for a counter: its number times the counter's multiplier. */
double counter_value(const struct described_track *d, const struct pb_field *f);

/* A value of an extra counter, with the track that the event or its sequence's defaults name. */
struct extra_counter {
	uint64_t track;
	struct pb_field value;
};
/* Lists the values of extra counters. Returns false, and counts it, if there are fewer tracks than
 * values or too many values: then only the values before the excess are listed. */
bool track_event_list_extras(struct import *im, struct machine *m, const struct track_event *e,
			     struct extra_counter extras[static EXTRA_COUNTERS_MAX], size_t *ret_n);

/* Reads an event in the file's order. Returns false, and counts it, if the event is dropped. */
bool tokenize_track_event(struct import *im, struct machine *m, const struct packet *p,
			  struct packet_sequence_info *seq, const uint8_t *packet);
/* Reads the time of an older program's event. Returns 1 and sets *ret to ns of the trace clock, or
 * of the event's own clock if no snapshot has both; 0 if the event has no such time, so that the
 * packet's time applies; -1, and counts it, if the event is dropped. */
int tokenize_track_event_time(struct import *im, struct machine *m, const struct packet *p,
			      struct packet_sequence_info *seq, int64_t *ret);

/* track_event_rows.c: makes the rows of an event, in the order of time. */
void import_track_event(struct import *im, struct machine *m, int64_t ts, const struct packet *p,
			const uint8_t *packet, uint32_t state);

/* track_event_args.c: adds the event's arguments to im->args. earlier: those that the slice has
 * from its begin; may be NULL. */
void track_event_add_args(struct import *im, struct machine *m, const struct track_event *e,
			  const struct arg_builder *earlier);

/* proto_fields.c: messages that an ExtensionDescriptor describes. */
void tokenize_extension_descriptor(struct import *im, const struct pb_field *f);
/* Adds the fields of a message that the trace describes as arguments. type: the message's full
 * name. skip: returns true for fields to leave out; may be NULL. */
void proto_field_add_args(struct import *im, struct arg_writer *w, const char *type,
			  const struct pb_field *message, bool (*skip)(uint32_t field));
void proto_fields_deinit(struct import *im);
