/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "analyze/import/tracks.h"

/*
 * Tracks that programs describe: a TrackDescriptor says where the track of a uuid belongs, an event
 * names the uuid. Descriptors are read in the file's order, before any event; a track becomes a row
 * when the first event needs it. Kinds of tracks:
 *
 *	thread		the thread's own track, which kernel events share
 *	process		a track of the process
 *	counter		belongs to the thread or process that its ancestors lead to, or to none
 *	state		likewise
 *	plain		likewise; plain tracks of one name under one parent form a group, unless
 *			the descriptor forbids it
 */

enum described_kind {
	DESCRIBED_PLAIN,
	DESCRIBED_THREAD,
	DESCRIBED_PROCESS,
	DESCRIBED_COUNTER,
	DESCRIBED_STATE
};
enum track_owner { OWNER_NONE, OWNER_PROCESS, OWNER_THREAD };
enum builtin_counter { BUILTIN_NONE, BUILTIN_THREAD_TIME, BUILTIN_THREAD_INSTRUCTIONS };
enum merge_by { MERGE_BY_NAME, MERGE_NEVER, MERGE_BY_KEY };

struct described_key {
	uint64_t uuid;
	uint64_t machine;
};

struct described_counter {
	enum builtin_counter builtin;
	int64_t multiplier;
	bool incremental;
	uint32_t unit, categories, share_key; /* strings or NULL_U32 */
};

struct described_track {
	struct described_key key;
	uint64_t parent; /* uuid; 0: none */
	enum described_kind kind;
	int64_t pid, tid;
	int64_t writer; /* see import_translate_ids() */
	struct described_counter counter;
	enum merge_by merge;
	uint32_t merge_key; /* a string */
	uint32_t name, description, ordering; /* strings or NULL_U32 */
	bool own_track; /* true for a thread's track that kernel events do not share */
	bool has_rank, has_first, first; /* first: argument has_first_packet_on_sequence */
	int32_t rank;
	bool ranks_processes, ranks_threads; /* of track 0: the ranks of their tracks count */
	bool owner_known; /* owner and owner_id are known */
	enum track_owner owner;
	uint32_t owner_id; /* utid or upid */
	uint32_t track; /* NULL_U32: not made yet */
	struct track_group *group; /* borrowed; of a merged track, after its first event */
};

struct described_node;

/* Reads a descriptor in the file's order. */
void tokenize_track_descriptor(struct import *im, struct machine *m, const struct packet *p,
			       struct packet_sequence_info *seq);
/* Reads the thread or process in a descriptor; called in the order of time. */
void import_track_descriptor(struct import *im, struct machine *m, const struct packet *p);
/* Read a ThreadDescriptor or ProcessDescriptor, which is a packet or a part of a TrackDescriptor.
 * import_*() return the utid or upid, and make the thread or process if necessary; writer: see
 * import_translate_ids(). tokenize_thread_descriptor() returns false, and counts it, if the packet
 * is dropped. */
uint32_t import_thread_descriptor(struct import *im, struct machine *m, int64_t writer,
				  const struct pb_field *f);
uint32_t import_process_descriptor(struct import *im, struct machine *m, int64_t writer,
				   const struct pb_field *f);
bool tokenize_thread_descriptor(struct import *im, struct machine *m, const struct packet *p,
				struct packet_sequence_info *seq);

/* Returns the track with this uuid, valid until the import ends; NULL: none. */
struct described_track *described_find(struct import *im, const struct machine *m, uint64_t uuid);
/* Adds a copy of a track whose key is new. Returns it; NULL if out of memory. */
struct described_track *described_add(struct import *im, const struct described_track *d);

/* Returns the track that an event names, and finds its owner. Adds a track that no descriptor
 * describes; seq is the sequence of the event, or NULL. Returns NULL if the owner cannot be found,
 * which it counts, or if out of memory. */
struct described_track *described_get_for_event(struct import *im, struct machine *m, uint64_t uuid,
						const struct packet_sequence_info *seq);
/* Returns true if the track's slices may be on tracks that other uuids share. */
bool described_is_merged(const struct described_track *d);

enum slice_step { STEP_BEGIN, STEP_END, STEP_INSTANT };
/* Return a row of TABLE_TRACK, made at the first use; 0 if out of memory. described_slice_row()
 * takes the row for one slice of the track: slices of a group's track may be on different rows.
 * described_own_row() is for counters and states, which share no row. event_name: for a track
 * without a name. */
uint32_t described_slice_row(struct import *im, struct machine *m, struct described_track *d,
			     uint32_t event_name, enum slice_step step);
uint32_t described_own_row(struct import *im, struct machine *m, struct described_track *d);
void described_deinit(struct import *im);
