/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "client/counters/track_spec.h"

struct writer;

/*
 * Counter tracks and the groups that contain them, written as TrackDescriptor and TrackEvent
 * packets by one writer. Any trace reader displays them without knowing the counter.
 *
 *	tracks_new("linux.x_stats", writer, &t);
 *	group = tracks_add(t, &(struct track_spec){.kind = TRACK_GROUP, .name = "eth0"});
 *	bytes = tracks_add(t, &(struct track_spec){.kind = TRACK_COUNTER, .parent = group,
 *		.name = "received", .unit = TRACK_UNIT_BYTES, .total = true});
 *	at each tick:  tracks_begin(t, clock_boot_ns());
 *	               tracks_set(t, bytes, 4711), ..., tracks_end(t);
 *	at a flush, and at the stop:  tracks_flush(t), then writer_flush()
 *	at ClearIncrementalState:     tracks_clear(t)
 *
 * A value is written when it differs from the previous one (the first always does). tracks_flush
 * writes unchanged values once more, with the time of the last tracks_set, so that a ring buffer
 * holds the last value of each counter. The descriptor of a track (name, unit, parent) is written
 * before its first value. Descriptors and values are written again after tracks_clear, or when the
 * writer has lost a packet. Only tracks_new and tracks_add allocate.
 *
 * A track's uuid is a hash of the names on its path from the root and of the source's name. The
 * same counter has the same uuid in every recording, and no two sources share a uuid. The hash has
 * 56 bits (8 bytes in a packet; among 131,072 tracks two collide once in 8 million recordings). A
 * process or thread has the same uuid for all sources, and for libsonda in the process itself
 * (base/core/process_uuid.h).
 *
 * Format: perfetto.protos.TrackDescriptor, CounterDescriptor, TrackEvent, TracePacketDefaults.
 */
struct tracks;

/* Maximum number of tracks, groups included, in one struct tracks; about 300 bytes each. Further
 * ones are refused. */
#define TRACKS_MAX 131072u
/* Maximum depth of nested groups; deeper ones are refused. */
#define TRACKS_DEPTH_MAX 64u
/* Bytes of a name. Longer names are cut in the trace; the uuid uses the whole name. */
#define TRACK_NAME_MAX 255u

/* Special handles. TRACK_ROOT is the parent of top-level tracks. TRACK_VOID stands for a track that
 * could not be created, and for all tracks below it. Every function accepts both and does
 * nothing. */
#define TRACK_ROOT 0u
#define TRACK_VOID UINT32_MAX

/* source (borrowed) is the name of the data source; w is borrowed. Returns 0 or -ENOMEM. */
int tracks_new(const char *source, struct writer *w, struct tracks **ret);
/* Frees the tracks without writing anything. No-op for NULL. */
void tracks_free(struct tracks *t);
/* Sets the writer (borrowed) of threads and all tracks below them; call it before the first track.
 * In each sequence, trace_processor (58) assigns every event on a track of a process to the thread
 * of that process that the sequence describes last, even if the event precedes that thread. So a
 * source with tracks of both kinds needs two writers. */
void tracks_set_thread_writer(struct tracks *t, struct writer *w);
/* Returns the writer of a track, for the caller's own packets. */
struct writer *tracks_writer(const struct tracks *t, uint32_t track);

/* Adds a track and returns its handle. A group, process or thread that exists already is shared:
 * its handle is returned, and the last tracks_remove() ends it. Returns TRACK_VOID, and counts a
 * refused track, if there are too many tracks, the nesting is too deep, memory runs out, or the
 * counter exists already. */
uint32_t tracks_add(struct tracks *t, const struct track_spec *spec);
/* Adds the group of one CPU, "CPU 3", sorted by number. */
uint32_t tracks_add_cpu(struct tracks *t, uint32_t parent, uint32_t cpu);
/* Ends the track and all tracks below it. A shared track ends only when its last user removes it.
 * The handles are then invalid, and may be reused. Counters get their last value, at the time of
 * the last tracks_begin. */
void tracks_remove(struct tracks *t, uint32_t track);
/* Raises alive_ns of a process or thread to ns, and the time of the following values if it is
 * earlier. */
void tracks_set_alive(struct tracks *t, uint32_t track, uint64_t ns);

/* Sets the time of the following values, CLOCK_BOOTTIME. A later alive_ns of a process or thread
 * advances it. */
void tracks_begin(struct tracks *t, uint64_t ns);
void tracks_set(struct tracks *t, uint32_t track, int64_t v);
void tracks_set_double(struct tracks *t, uint32_t track, double v);
/* Writes the collected values (up to 9 values of one time are one packet). Call it before anything
 * else is written with the writer. tracks_flush() and tracks_clear() include it. */
void tracks_end(struct tracks *t);
void tracks_flush(struct tracks *t);
void tracks_clear(struct tracks *t);
/* Flushes the next TRACKS_FLUSH_PIECE tracks. Returns true if more remain. All other functions may
 * be called in between. A flush requested meanwhile joins this one. */
#define TRACKS_FLUSH_PIECE 256u
bool tracks_flush_piece(struct tracks *t);

/* Returns the track's uuid, for the caller's own packets on the track's writer (with sequence_flags
 * 2). Writes the track's descriptor if the trace does not have it yet. Returns 0 for the root or a
 * void track. */
uint64_t tracks_get_uuid(struct tracks *t, uint32_t track);

struct tracks_counts {
	uint32_t tracks; /* current number */
	uint64_t refused; /* tracks that were refused */
	uint64_t values; /* written */
};
struct tracks_counts tracks_counts(const struct tracks *t);

/*
 * A watcher sees the values of all counters of a struct tracks as they are set, for thresholds.
 */

struct track_update {
	uint32_t track; /* its handle, which may be reused after the track ends */
	const char *name; /* of the counter; borrowed during the call */
	double value;
	bool total; /* monotonic */
	bool is_first; /* first value of this track */
	bool is_last; /* the track ends: the value is 0, or the last total */
};

/* Called by tracks_set and tracks_set_double, even for unchanged values, and at the end of a track.
 * It must not change the tracks. */
typedef void (*track_update_fn)(void *ctx, const struct track_update *seen);
/* Sets the watcher. fn NULL: none. */
void tracks_watch(struct tracks *t, track_update_fn fn, void *ctx);
