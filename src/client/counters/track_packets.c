/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every packet with values requires the state (the descriptors of the tracks) and is marked with
 * SEQ_NEEDS_INCREMENTAL_STATE. A reader that has lost a packet then skips values until the next
 * state begins, and never shows a value on a track without a name. Each packet has an absolute boot
 * time, not a delta, so that packets that report losses are sorted correctly.
 */
#include "client/counters/track_packets.h"

#include <string.h>

#include "client/transport/writer.h"
#include "gen/fields.h"

/* TracePacket.sequence_flags. */
enum { STATE_BEGINS = 1, STATE_NEEDED = 2 };
#define CLOCK_BOOTTIME_ID 6
#define EVENT_COUNTER 4 /* TrackEvent.Type */
/* TrackDescriptor.ChildTracksOrdering. */
enum { ORDER_NAME = 1, ORDER_RANK = 3 };
#define MERGE_NONE 2 /* TrackDescriptor.SiblingMergeBehavior */

void track_packet_begin_state(struct writer *w, uint64_t ns)
{
	struct pb_enc *e = writer_begin(w);

	pb_enc_u64(e, PB_TRACE_PACKET_TIMESTAMP, ns);
	pb_enc_u64(e, PB_TRACE_PACKET_SEQUENCE_FLAGS, STATE_BEGINS);
	pb_enc_open(e, PB_TRACE_PACKET_TRACE_PACKET_DEFAULTS);
	pb_enc_u64(e, PB_TRACE_PACKET_DEFAULTS_TIMESTAMP_CLOCK_ID, CLOCK_BOOTTIME_ID);
	pb_enc_open(e, PB_TRACE_PACKET_DEFAULTS_TRACK_EVENT_DEFAULTS);
	pb_enc_close(e);
	pb_enc_close(e);
	writer_end(w);
}

static void put_process(struct pb_enc *e, const struct track_spec *s)
{
	pb_enc_open(e, PB_TRACK_DESCRIPTOR_PROCESS);
	pb_enc_i64(e, PB_PROCESS_DESCRIPTOR_PID, s->pid);
	if (s->name)
		pb_enc_str(e, PB_PROCESS_DESCRIPTOR_PROCESS_NAME, s->name);
	pb_enc_close(e);
}

static void put_thread(struct pb_enc *e, const struct track_spec *s)
{
	pb_enc_open(e, PB_TRACK_DESCRIPTOR_THREAD);
	pb_enc_i64(e, PB_THREAD_DESCRIPTOR_PID, s->pid);
	pb_enc_i64(e, PB_THREAD_DESCRIPTOR_TID, s->tid);
	if (s->name)
		pb_enc_str(e, PB_THREAD_DESCRIPTOR_THREAD_NAME, s->name);
	pb_enc_close(e);
}

static void put_counter(struct pb_enc *e, const struct track_spec *s)
{
	pb_enc_open(e, PB_TRACK_DESCRIPTOR_COUNTER);
	if (s->unit_name)
		pb_enc_str(e, PB_COUNTER_DESCRIPTOR_UNIT_NAME, s->unit_name);
	else if (s->unit)
		pb_enc_u64(e, PB_COUNTER_DESCRIPTOR_UNIT, s->unit);
	if (s->unit_multiplier)
		pb_enc_i64(e, PB_COUNTER_DESCRIPTOR_UNIT_MULTIPLIER, s->unit_multiplier);
	if (s->axis)
		pb_enc_str(e, PB_COUNTER_DESCRIPTOR_Y_AXIS_SHARE_KEY, s->axis);
	pb_enc_close(e);
}

static void put_kind_of_track(struct pb_enc *e, const struct track_spec *s)
{
	if (s->kind == TRACK_PROCESS)
		put_process(e, s);
	else if (s->kind == TRACK_THREAD)
		put_thread(e, s);
	else
		pb_enc_str(e, PB_TRACK_DESCRIPTOR_NAME, s->name);
	/* Groups with the same name and parent are one track here anyway. If this field is missing,
	 * trace_processor (58) looks up the newest group of that name at the first event of any
	 * such group, and lets the process of that group begin at that time. */
	if (s->kind == TRACK_GROUP)
		pb_enc_u64(e, PB_TRACK_DESCRIPTOR_SIBLING_MERGE_BEHAVIOR, MERGE_NONE);
	if (s->kind == TRACK_COUNTER)
		put_counter(e, s);
	else
		pb_enc_u64(e, PB_TRACK_DESCRIPTOR_CHILD_ORDERING,
			   s->by_rank ? ORDER_RANK : ORDER_NAME);
}

/* Readers sort packets by time. A packet without a time gets that of the newest packet before it in
 * the file. The process may have ended by then, and readers would attach the descriptor to a new
 * process with the same pid, without a name. */
void track_packet_descriptor(struct writer *w, uint64_t ns, const struct track_spec *s,
			     uint64_t uuid, uint64_t parent_uuid)
{
	struct pb_enc *e = writer_begin(w);

	pb_enc_u64(e, PB_TRACE_PACKET_TIMESTAMP, ns);
	pb_enc_open(e, PB_TRACE_PACKET_TRACK_DESCRIPTOR);
	pb_enc_u64(e, PB_TRACK_DESCRIPTOR_UUID, uuid);
	if (parent_uuid)
		pb_enc_u64(e, PB_TRACK_DESCRIPTOR_PARENT_UUID, parent_uuid);
	put_kind_of_track(e, s);
	if (s->rank)
		pb_enc_i64(e, PB_TRACK_DESCRIPTOR_SIBLING_ORDER_RANK, s->rank);
	if (s->description)
		pb_enc_str(e, PB_TRACK_DESCRIPTOR_DESCRIPTION, s->description);
	pb_enc_close(e);
	writer_end(w);
}

static void put_first_value(struct pb_enc *e, uint64_t uuid, const struct track_value *v)
{
	pb_enc_u64(e, PB_TRACK_EVENT_TRACK_UUID, uuid);
	if (v->is_double)
		pb_enc_double(e, PB_TRACK_EVENT_DOUBLE_COUNTER_VALUE, v->d);
	else
		pb_enc_i64(e, PB_TRACK_EVENT_COUNTER_VALUE, v->i);
}

static void put_extra_value(struct pb_enc *e, uint64_t uuid, const struct track_value *v)
{
	if (v->is_double) {
		pb_enc_u64(e, PB_TRACK_EVENT_EXTRA_DOUBLE_COUNTER_TRACK_UUIDS, uuid);
		pb_enc_double(e, PB_TRACK_EVENT_EXTRA_DOUBLE_COUNTER_VALUES, v->d);
	} else {
		pb_enc_u64(e, PB_TRACK_EVENT_EXTRA_COUNTER_TRACK_UUIDS, uuid);
		pb_enc_i64(e, PB_TRACK_EVENT_EXTRA_COUNTER_VALUES, v->i);
	}
}

static bool track_packets_is_zero(const struct track_value *v)
{
	return v->is_double ? v->d == 0 : v->i == 0;
}

/* Readers pair the n-th track with the n-th value. trace_processor (55) reads all values after an
 * extra value 0 as 0, so values of 0 come last. */
void track_packet_values(struct writer *w, const struct track_batch *b)
{
	struct pb_enc *e = writer_begin(w);
	unsigned n = 0;

	pb_enc_u64(e, PB_TRACE_PACKET_TIMESTAMP, b->ns);
	pb_enc_u64(e, PB_TRACE_PACKET_SEQUENCE_FLAGS, STATE_NEEDED);
	pb_enc_open(e, PB_TRACE_PACKET_TRACK_EVENT);
	pb_enc_u64(e, PB_TRACK_EVENT_TYPE, EVENT_COUNTER);
	for (int zeros = 0; zeros < 2; zeros++)
		for (unsigned i = 0; i < b->n; i++) {
			if (track_packets_is_zero(&b->values[i]) != zeros)
				continue;
			(n++ ? put_extra_value : put_first_value)(e, b->uuids[i], &b->values[i]);
		}
	pb_enc_close(e);
	writer_end(w);
}
