/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct writer;

/*
 * Counter tracks: counters, and the groups that they stand in, as TrackDescriptor and TrackEvent
 * packets of one writer. Any reader of traces draws them; nothing has to know the counter before.
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
 * A value is written when it differs from the one before (the first always does), and once more by
 * tracks_flush where it had not changed, with the time of the last tracks_set: so a ring buffer
 * holds the last value of each counter. What a reader must know of a track (name, unit, parent) is
 * written before its first value, and again after tracks_clear or when the writer lost a packet; so
 * are the values then. Only tracks_new and tracks_add allocate.
 *
 * A track's uuid is made of the names on its way from the root and of the source's name: the same
 * counter has the same uuid in every recording, and two sources have none in common. It is a hash of
 * 56 bits (8 bytes in a packet; two of 131,072 are the same once in 8 million recordings). A process
 * or a thread is the same track for all sources: readers take two uuids of one pid for two.
 *
 * Format: perfetto.protos.TrackDescriptor, CounterDescriptor, TrackEvent, TracePacketDefaults.
 */
struct tracks;

/* At a time in one struct tracks, groups too; about 300 bytes each. Further ones are refused. */
#define TRACKS_MAX 131072u
/* Groups in groups; deeper ones are refused. */
#define TRACKS_DEPTH_MAX 64u
/* Bytes of a name. Longer ones are cut in the trace; the uuid is made of the whole. */
#define TRACK_NAME_MAX 255u

/* Handles of no track: what stands under no other has the root as parent; what could not be made is
 * void, and so is all under it. Both may be given to every function, which then does nothing. */
#define TRACK_ROOT 0u
#define TRACK_VOID UINT32_MAX

enum track_kind {
	TRACK_GROUP, /* a name that others stand under */
	TRACK_PROCESS, /* the group of a process, by pid */
	TRACK_THREAD, /* the group of a thread, by pid and tid */
	TRACK_COUNTER,
};

enum track_unit { TRACK_UNIT_NONE, TRACK_UNIT_NS, TRACK_UNIT_COUNT, TRACK_UNIT_BYTES };

struct track_spec {
	enum track_kind kind;
	uint32_t parent; /* of a group or counter: its handle */
	const char *name; /* copied; bytes that are no plain text are shown as '?'. Of a process or
			   * thread it may be NULL */
	const char *description; /* one sentence, or NULL. Borrowed until the track is gone, as all
				  * strings from here on are */
	int32_t rank; /* the place among its siblings where the parent orders by rank */
	bool by_rank; /* a group: its children stand by rank; else by name */
	/* of a process or thread */
	int32_t pid;
	int32_t tid;
	uint64_t
		alive_ns; /* a time of CLOCK_BOOTTIME at which it was there; 0: whenever a value of it
			    * is set */
	uint64_t incarnation; /* tells users of one pid apart, such as the start time; 0: unknown,
			       * and right for every source that does not know better */
	/* of a counter */
	enum track_unit unit;
	const char *unit_name; /* "%", "req/s": instead of unit, or NULL */
	int64_t unit_multiplier; /* what readers multiply values with; 0: 1 */
	const char *axis; /* siblings with the same one share their scale, or NULL */
	bool total; /* only grows: it ends with its last value. Another one ends with 0 */
};

/* source (borrowed) is the name of the data source; w is borrowed. Returns 0 or -ENOMEM. */
int tracks_new(const char *source, struct writer *w, struct tracks **ret);
/* Writes nothing. No-op for NULL. */
void tracks_free(struct tracks *t);
/*
 * Threads, and all under them, are written with this writer (borrowed) from the beginning. trace_processor
 * (58) takes the thread that a sequence describes last for that of every event on a process' track in the
 * same sequence, also of events before that thread began. So a source with tracks of both kinds needs it.
 */
void tracks_set_thread_writer(struct tracks *t, struct writer *w);
/* The writer of a track, for packets of the caller's own. */
struct writer *tracks_writer(const struct tracks *t, uint32_t track);

/*
 * The handle of a new track, or TRACK_VOID: too many, too deep, out of memory, or a counter that is
 * there already; each is counted. A group, process or thread that is there already is shared: it
 * goes with the last tracks_remove.
 */
uint32_t tracks_add(struct tracks *t, const struct track_spec *spec);
/* The group of one CPU, "CPU 3", in its place among others. */
uint32_t tracks_add_cpu(struct tracks *t, uint32_t parent, uint32_t cpu);
/* Ends the track and, with the last user of a group, all under it: their handles are void. Counters
 * get their last value, at the moment of the last tracks_begin. */
void tracks_remove(struct tracks *t, uint32_t track);
/* A later alive_ns of a process or thread. */
void tracks_set_alive(struct tracks *t, uint32_t track, uint64_t ns);

/* What follows was so at that moment of CLOCK_BOOTTIME. */
void tracks_begin(struct tracks *t, uint64_t ns);
void tracks_set(struct tracks *t, uint32_t track, int64_t v);
void tracks_set_double(struct tracks *t, uint32_t track, double v);
/* Writes what is gathered (up to 9 values of one moment are one packet): before anything else is
 * written with the writer. The two after it do that, too. */
void tracks_end(struct tracks *t);
void tracks_flush(struct tracks *t);
void tracks_clear(struct tracks *t);
/* A flush in pieces of so many tracks; true: there are more. All else may be done in between, and a
 * flush that is requested meanwhile is this one. */
#define TRACKS_FLUSH_PIECE 256u
bool tracks_flush_piece(struct tracks *t);

/* The track's uuid, for packets of the caller's own on the track's writer (with sequence_flags 2);
 * what readers must know of the track is in the trace from here on. 0: the root, or void. */
uint64_t tracks_refer(struct tracks *t, uint32_t track);

struct tracks_counts {
	uint32_t tracks; /* now */
	uint64_t refused; /* tracks that were not made */
	uint64_t values; /* written */
};
struct tracks_counts tracks_counts(const struct tracks *t);

/*
 * Who looks at the values of all counters of a struct tracks as they are set, for thresholds.
 */

struct track_update {
	uint32_t track; /* its handle, which another one may have when this is gone */
	const char *name; /* of the counter; borrowed during the call */
	double value;
	bool total; /* only grows */
	bool is_first; /* of this track */
	bool is_last; /* the track goes: 0, or the total that it was */
};

/* Called by tracks_set, tracks_set_double, also where the value has not changed, and at the end of a
 * track. It must not change the tracks. */
typedef void (*track_update_fn)(void *ctx, const struct track_update *seen);
/* fn NULL: nobody. */
void tracks_watch(struct tracks *t, track_update_fn fn, void *ctx);
