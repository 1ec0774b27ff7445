/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SONDA_TRACK_H
#define SONDA_TRACK_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/*
 * Tracks: the rows of a timeline, on which the events are shown. An event without a track is on the
 * track of its thread. Other tracks are made from a parent and a name or an id:
 *
 *	struct sonda_track requests = sonda_track_named("requests", 0, NULL);
 *	struct sonda_track one = sonda_track_named("request", r->id, &requests);
 *	SONDA_BEGIN(net, "get", SONDA_TRACK(&one));
 *
 * The uuid of a track depends only on its parents, kind, name and id. So any thread may make the
 * struct again whenever it is needed. No function sets the members after "optional". They can be
 * assigned before the first event; later changes have no effect.
 *
 * The parent and the texts are borrowed as long as events use the track. NULL as parent is the
 * track of the process.
 */

#ifdef __cplusplus
extern "C" {
#endif

enum sonda_track_kind {
	SONDA_TRACK_GLOBAL = 0,
	SONDA_TRACK_PROCESS,
	SONDA_TRACK_THREAD,
	SONDA_TRACK_CUSTOM, /* unnamed: shown with the name of its first event */
	SONDA_TRACK_NAMED,
	SONDA_TRACK_COUNTER,
	SONDA_TRACK_STATE, /* has one state at a time */
};

enum sonda_unit {
	SONDA_UNIT_NONE = 0,
	SONDA_UNIT_NS = 1,
	SONDA_UNIT_COUNT = 2,
	SONDA_UNIT_BYTES = 3
};

/* How the children of a track are sorted in the UI. */
enum sonda_child_ordering {
	SONDA_ORDER_UNKNOWN = 0,
	SONDA_ORDER_LEXICOGRAPHIC = 1,
	SONDA_ORDER_CHRONOLOGICAL = 2,
	SONDA_ORDER_EXPLICIT = 3, /* by sibling_order_rank */
};

/* Which siblings the UI draws as one row. */
enum sonda_sibling_merge {
	SONDA_MERGE_DEFAULT = 0, /* by name */
	SONDA_MERGE_BY_NAME = 1,
	SONDA_MERGE_NONE = 2,
	SONDA_MERGE_BY_KEY = 3, /* sibling_merge_key or sibling_merge_key_int */
};

struct sonda_track {
	uint64_t key; /* the uuid without the parents */
	const struct sonda_track *parent; /* NULL: the process */
	const char *name; /* NULL: none */
	int32_t tid; /* of a thread's track */
	uint8_t kind; /* enum sonda_track_kind */
	/* optional */
	uint8_t child_ordering; /* enum sonda_child_ordering */
	uint8_t sibling_merge; /* enum sonda_sibling_merge */
	uint8_t unit; /* enum sonda_unit, of a counter */
	int32_t sibling_order_rank;
	uint8_t has_sibling_order_rank;
	uint8_t is_incremental; /* counter of one thread: the trace has the differences */
	uint8_t dynamic_name; /* the name is not a compile-time constant */
	uint8_t reserved_byte;
	int64_t unit_multiplier; /* counter; 0 and 1: none */
	const char *description;
	const char *unit_name; /* counter, if unit is SONDA_UNIT_NONE */
	const char *y_axis_share_key; /* counters with the same key share a scale in the UI */
	const char *sibling_merge_key;
	uint64_t sibling_merge_key_int; /* if sibling_merge_key is NULL */
	uint64_t reserved[4];
};

/* FNV-1a of a C string. */
static inline uint64_t sonda_hash_text(const char *text)
{
	uint64_t h = 0xcbf29ce484222325u;

	for (; *text; text++)
		h = (h ^ (uint8_t)*text) * 0x100000001b3u;
	return h;
}

static inline struct sonda_track sonda_track_make_(enum sonda_track_kind kind, const char *name,
						   uint64_t key, const struct sonda_track *parent)
{
	struct sonda_track t;

	memset(&t, 0, sizeof(t));
	t.kind = (uint8_t)kind;
	t.name = name;
	t.key = key;
	t.parent = parent;
	return t;
}

/* The parent of global tracks, which belong to no process. An event that names it as its track goes
 * to the thread's track. */
static inline struct sonda_track sonda_track_global(void)
{
	return sonda_track_make_(SONDA_TRACK_GLOBAL, NULL, 0, NULL);
}

static inline struct sonda_track sonda_track_process(void)
{
	return sonda_track_make_(SONDA_TRACK_PROCESS, NULL, 0, NULL);
}

/* The track of the calling thread. Other threads of the process may use it while the thread
 * runs. */
struct sonda_track sonda_track_thread(void);

/* Tracks with the same parent and id are the same track. */
static inline struct sonda_track sonda_track_custom(uint64_t id, const struct sonda_track *parent)
{
	return sonda_track_make_(SONDA_TRACK_CUSTOM, NULL, id, parent);
}

/* Tracks with the same parent, name and id are the same track. For operations that overlap, use
 * different ids: the UI groups tracks of the same name. */
static inline struct sonda_track sonda_track_named(const char *name, uint64_t id,
						   const struct sonda_track *parent)
{
	uint64_t key = id ^ sonda_hash_text(name) ^ 0xcd571ec5ead37024u;

	return sonda_track_make_(SONDA_TRACK_NAMED, name, key, parent);
}

static inline struct sonda_track sonda_track_counter(const char *name,
						     const struct sonda_track *parent)
{
	uint64_t key = sonda_hash_text(name) ^ 0xb1a4a67d7970839eu;

	return sonda_track_make_(SONDA_TRACK_COUNTER, name, key, parent);
}

/* A track for SONDA_STATE(). Tracks with the same parent, name and id are the same track. */
static inline struct sonda_track sonda_track_state(const char *name, uint64_t id,
						   const struct sonda_track *parent)
{
	uint64_t key = id ^ sonda_hash_text(name) ^ 0x2e2398ec92e89138u;

	return sonda_track_make_(SONDA_TRACK_STATE, name, key, parent);
}

/* Returns the uuid that the track has in traces of this process. */
uint64_t sonda_track_uuid(const struct sonda_track *track);

#ifdef __cplusplus
}
#endif

#endif
