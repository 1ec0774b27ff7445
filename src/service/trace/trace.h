/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/core/err.h"
#include "service/trace/trace_events.h"
#include "service/trace/trace_owner.h"

struct trace_buffer;

/*
 * The trace of one session: its buffers, the packets of the service itself, and the position of the
 * reader. Producers fill the buffers; service/trace/trace_reader.h reads everything in batches.
 *
 *	session --trace_record_event(), ...--> struct trace --trace_read_batch()--> packets
 *	producers --chunks--> trace_buffers --^
 *
 * All functions are called from the loop's thread.
 */
struct trace;

/* Creates a trace without buffers, with the uuid of the config or a random one. Returns 0, or
 * -errno and sets e if the config's filter is refused or there is no memory. */
int trace_new(const struct trace_env *env, const struct trace_owner *owner, struct err_text *e,
	      struct trace **ret);
/* Creates a trace without buffers that continues the events, clocks, counters and sequence ids of
 * source. Its uuid has the second half of the source's. unfiltered: ignores the config's filter.
 * Returns 0 or -ENOMEM. */
int trace_new_clone(const struct trace *source, const struct trace_owner *owner, bool unfiltered,
		    struct trace **ret);
/* Also frees the buffers. NULL is allowed. */
void trace_free(struct trace *t);

/* ---- buffers, in the order of the config ---- */

/* Adds a buffer, which may be NULL for now; the trace owns it. id is unique in the service. Returns
 * 0 or -ENOMEM (then the buffer stays the caller's). */
int trace_add_buffer(struct trace *t, uint16_t id, struct trace_buffer *buffer);
size_t trace_n_buffers(const struct trace *t);
struct trace_buffer *trace_get_buffer(const struct trace *t, size_t i);
uint16_t trace_get_buffer_id(const struct trace *t, size_t i);
/* Returns the index, or -1 if the buffer belongs to another trace. */
int trace_find_buffer(const struct trace *t, uint16_t buffer_id);
/* Replaces buffer i. Returns the old buffer, which the caller owns. */
struct trace_buffer *trace_replace_buffer(struct trace *t, size_t i, struct trace_buffer *with);
/* Returns true if any buffer has received this many bytes, or half its size, since
 * trace_read_begin(). */
bool trace_has_received(const struct trace *t, uint64_t bytes);
/* Returns the bytes read from all buffers. */
uint64_t trace_bytes_read(const struct trace *t);

/* ---- packets of the service ---- */

/* Records an event of the session's life, with the current time. */
void trace_record_event(struct trace *t, enum service_event_kind kind);
/* Records an event with this time. value: 1, or a value that depends on the kind. */
void trace_record_event_at(struct trace *t, enum service_event_kind kind, uint64_t boot_ns,
			   uint32_t value);
/* Records an event of a slow kind, with the current time. bytes: a TracingServiceEvent.DataSources,
 * copied. */
void trace_record_slow_sources(struct trace *t, enum service_event_kind kind, const void *bytes,
			       size_t len);
/* Drops the events of this kind that are not written yet. */
void trace_drop_events(struct trace *t, enum service_event_kind kind);

/* Takes a snapshot of the clocks, unless the config disables such snapshots. */
void trace_snapshot_clocks(struct trace *t);
/* Call when the session starts. Takes the first snapshot of the clocks. */
void trace_start(struct trace *t);
/* Call when another file with a trace of its own begins. The head of the trace is written again,
 * with a new first half of the uuid. */
void trace_restart_head(struct trace *t);
/* Returns CLOCK_REALTIME of trace_start(), or 0 before. */
int64_t trace_start_realtime_ns(const struct trace *t);
void trace_uuid(const struct trace *t, int64_t *ret_msb, int64_t *ret_lsb);

enum trace_due { TRACE_DUE_STATS = 1, TRACE_DUE_SYNC_MARKER = 2 };
/* The next reading pass writes these packets once. due: a mask of enum trace_due. */
void trace_mark_due(struct trace *t, unsigned due);

/* Copies the trigger. Above MAX_RECEIVED_TRIGGERS the oldest unwritten one is dropped and counted.
 * If memory runs out, the trigger is dropped. */
void trace_add_trigger(struct trace *t, const struct received_trigger *trigger);
/* Moves the unwritten triggers to `to`, which has none. */
void trace_move_triggers(struct trace *from, struct trace *to);
/* Moves *trigger, which caused this clone, into the trace. */
void trace_set_clone_trigger(struct trace *t, struct received_trigger *trigger);

/* Adds the change of state of another session. Copies the event; its name may be NULL. Above
 * MAX_CONCURRENT_EVENTS the event is counted as refused. */
struct concurrent_event;
void trace_add_concurrent_event(struct trace *t, const struct concurrent_event *event);

struct pb_enc;
struct trace;

/* The fields of TraceStats that describe a trace. The session writes the other fields. */

/* Writes one buffer_stats for each buffer. */
void trace_put_buffer_stats(const struct trace *t, struct pb_enc *e);
/* Writes invalid_packets and filter_stats. */
void trace_put_read_stats(const struct trace *t, struct pb_enc *e);
/* Writes the histograms of each writer, until the encoder's position has reached end. */
void trace_put_writer_stats(struct trace *t, struct pb_enc *e, uint64_t end);
