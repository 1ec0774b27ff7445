/* SPDX-License-Identifier: Apache-2.0 */
#include "client/counters/tracks.h"

#include <assert.h>
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#define HASH_NONFATAL_OOM 1 /* HASH_ADD leaves hh.tbl NULL if there is no memory */
#include <uthash.h>

#include "base/core/fnv.h"
#include "base/core/mem.h"
#include "base/core/process_uuid.h"
#include "base/system/process_uuids.h"
#include "base/text/str.h"
#include "client/counters/slab.h"
#include "client/counters/track_packets.h"
#include "client/transport/writer.h"

/*
 * A track is found by its handle, an index into slots. by_path finds an existing track with the
 * same path, by its hash. Each track lists its children, which end with it:
 *
 *	slots[handle] --> track <-- by_path[path]
 *	                    | children
 *	                    v
 *	                  track --> track ...
 *
 * A new state does not reset each track. A track stores the number of the state in which its
 * descriptor and value were written.
 */

struct track {
	uint64_t path; /* the key: hash of the path from the root */
	UT_hash_handle hh;
	LIST_ENTRY(track) sibling;
	LIST_HEAD(, track) children;
	struct track *parent; /* NULL: the root */
	struct track_spec spec; /* spec.name points to the name below, or is NULL */
	struct slab *slab; /* the slab of its memory */
	uint32_t handle;
	uint32_t users; /* number of users that have added it */
	uint32_t depth;
	bool is_of_thread; /* the track or an ancestor is a thread */
	uint32_t described_in; /* state in which the descriptor was written; 0: none */
	uint32_t written_in; /* state in which the value was written */
	bool has_value;
	struct track_value value;
	uint64_t seen_ns; /* time of the last value */
	uint64_t written_ns;
	char name[];
};

/* Most names are short. Two sizes waste little memory, and freed cells are always reusable. */
#define SHORT_NAME 31u

/* The output of one packet sequence. */
struct track_out {
	struct writer *w; /* borrowed; NULL: not used */
	bool state_begun; /* the first packet of the state was written here */
	struct track_batch batch[2]; /* integers and doubles */
};

struct tracks {
	struct track_out outs[2]; /* [1]: threads, if it is used */
	uint64_t seed; /* hash of the source's name */
	struct slab shorts; /* tracks with short names; freeing each by itself would be slow */
	struct slab longs; /* those whose name is longer than SHORT_NAME */
	struct track **slots; /* owned; the slabs own the tracks. [0] is the root's, always NULL */
	size_t cap;
	uint32_t n_slots; /* slots used so far */
	uint32_t *free_slots; /* owned: a stack of the handles that are free */
	size_t free_cap;
	uint32_t n_free;
	struct track *by_path; /* hash table of all tracks, by track.path */
	uint32_t state; /* number of the current state, from 1 on */
	uint64_t now; /* time of tracks_begin */
	uint64_t dropped; /* dropped packets of the writer at the last check */
	uint32_t flushed; /* next slot of the flush in progress; 0: none */
	struct tracks_counts counts;
	track_update_fn seen; /* NULL: no watcher */
	void *seen_ctx;
};

/* ---- uuids ---- */

static uint64_t hash_bytes(uint64_t h, const void *data, size_t len)
{
	h = fnv1a(h, data, len);
	h ^= h >> 32;
	h *= 0xd6e8feb86659fd93ull;
	return h ^ h >> 32;
}

static uint64_t hash_u64(uint64_t h, uint64_t v)
{
	uint8_t bytes[8];

	for (int i = 0; i < 8; i++)
		bytes[i] = (uint8_t)(v >> (8 * i));
	return hash_bytes(h, bytes, sizeof(bytes));
}

/* Returns the uuid of a process (tid 0) or a thread. If the incarnation is known, it distinguishes
 * the uuid from those of other processes with the same pid. */
static uint64_t hash_task(const struct track_spec *s, int32_t tid)
{
	uint64_t uuid = thread_uuid_of(process_uuids_get(s->pid), tid);

	return s->incarnation ? hash_u64(uuid, s->incarnation) : uuid;
}

static uint64_t hash_path(const struct tracks *t, const struct track_spec *s,
			  const struct track *parent)
{
	uint64_t h = parent ? parent->path : t->seed;

	switch (s->kind) {
	case TRACK_PROCESS:
		return hash_task(s, 0);
	case TRACK_THREAD:
		return hash_task(s, s->tid);
	case TRACK_GROUP:
	case TRACK_COUNTER:
		/* A process has groups of several sources, so the source is part of the hash. */
		return hash_bytes(hash_u64(h ^ t->seed, s->kind), s->name, strlen(s->name));
	}
	return h;
}

static uint64_t uuid_of_track(const struct track *t)
{
	uint64_t uuid;

	if (!t)
		return 0;
	if (t->spec.kind == TRACK_PROCESS || t->spec.kind == TRACK_THREAD)
		return t->path;
	uuid = (t->path ^ t->path >> 56) & ((1ull << 56) - 1);
	return uuid ? uuid : 1;
}

/* Returns the uuid of the track's parent. The parent of a thread is its process, as in libsonda:
 * readers compare the descriptors of a uuid. */
static uint64_t uuid_of_parent(const struct track *t)
{
	return t->spec.kind == TRACK_THREAD ? process_uuids_get(t->spec.pid)
					    : uuid_of_track(t->parent);
}

/* ---- tracks ---- */

int tracks_new(const char *source, struct writer *w, struct tracks **ret)
{
	struct tracks *t = calloc(1, sizeof(*t));

	if (!t)
		return -ENOMEM;
	t->outs[0].w = w;
	t->dropped = writer_dropped(w);
	t->seed = hash_bytes(FNV1A_START, source, strlen(source));
	t->shorts.size = sizeof(struct track) + SHORT_NAME + 1;
	t->longs.size = sizeof(struct track) + TRACK_NAME_MAX + 1;
	t->n_slots = 1;
	t->state = 1;
	*ret = t;
	return 0;
}

void tracks_set_thread_writer(struct tracks *t, struct writer *w)
{
	t->outs[1].w = w;
	t->dropped += writer_dropped(w);
}

void tracks_free(struct tracks *t)
{
	if (!t)
		return;
	HASH_CLEAR(hh, t->by_path);
	slab_deinit(&t->shorts);
	slab_deinit(&t->longs);
	free(t->slots);
	free(t->free_slots);
	free(t);
}

static struct track *track_of_handle(const struct tracks *t, uint32_t handle)
{
	if (handle == TRACK_ROOT || handle == TRACK_VOID)
		return NULL;
	assert(handle < t->n_slots && t->slots[handle]);
	return t->slots[handle];
}

/* Creates a track with a copy of the name, cut and safe to print, and adds it to no table. Returns
 * NULL if memory runs out. */
static struct track *track_new(struct tracks *t, const struct track_spec *spec,
			       struct track *parent, uint64_t path)
{
	size_t len = spec->name ? strnlen(spec->name, TRACK_NAME_MAX) : 0;
	struct slab *slab = len > SHORT_NAME ? &t->longs : &t->shorts;
	struct track *k = slab_alloc(slab);

	if (!k)
		return NULL;
	k->slab = slab;
	k->spec = *spec;
	if (spec->name) {
		k->spec.name = memcpy(k->name, spec->name, len);
		str_make_plain(k->name, len, "");
	}
	k->path = path;
	k->parent = parent;
	k->is_of_thread = spec->kind == TRACK_THREAD || (parent && parent->is_of_thread);
	k->depth = parent ? parent->depth + 1 : 0;
	k->users = 1;
	return k;
}

/* Reserves room for every slot in both tables, so that freeing a slot never allocates. Returns 0,
 * -ENOSPC (TRACKS_MAX is reached) or -ENOMEM. */
static int reserve_slot(struct tracks *t)
{
	if (t->counts.tracks >= TRACKS_MAX)
		return -ENOSPC;
	if (array_reserve(&t->slots, &t->cap, t->n_slots + 1, sizeof(struct track *)) < 0 ||
	    array_reserve(&t->free_slots, &t->free_cap, t->n_slots + 1, sizeof(uint32_t)) < 0)
		return -ENOMEM;
	return 0;
}

static uint32_t tracks_count_refused(struct tracks *t)
{
	t->counts.refused++;
	return TRACK_VOID;
}

static uint32_t insert_track(struct tracks *t, struct track *k)
{
	HASH_ADD(hh, t->by_path, path, sizeof(k->path), k);
	if (!k->hh.tbl) { /* no memory */
		slab_free(k->slab, k);
		return tracks_count_refused(t);
	}
	k->handle = t->n_free ? t->free_slots[--t->n_free] : t->n_slots++;
	t->slots[k->handle] = k;
	if (k->parent)
		LIST_INSERT_HEAD(&k->parent->children, k, sibling);
	t->counts.tracks++;
	return k->handle;
}

/* Advances the time of the batch to alive_ns if the task began later, that is, while its values
 * were read. A reader that finds a value of a process before its start creates a second process. */
static void advance_batch_time(struct tracks *t, uint64_t alive_ns)
{
	t->now = MAX(t->now, alive_ns);
}

uint32_t tracks_add(struct tracks *t, const struct track_spec *spec)
{
	bool nests = spec->kind == TRACK_GROUP || spec->kind == TRACK_COUNTER;
	struct track *parent = nests ? track_of_handle(t, spec->parent) : NULL, *k;
	uint64_t path = hash_path(t, spec, parent);

	advance_batch_time(t, spec->alive_ns);
	if ((nests && spec->parent == TRACK_VOID) ||
	    (parent && parent->depth + 1 >= TRACKS_DEPTH_MAX))
		return tracks_count_refused(t);
	HASH_FIND(hh, t->by_path, &path, sizeof(path), k);
	if (k) {
		if (spec->kind == TRACK_COUNTER || k->spec.kind != spec->kind)
			return tracks_count_refused(t);
		k->users++;
		return k->handle;
	}
	if (reserve_slot(t) < 0)
		return tracks_count_refused(t);
	k = track_new(t, spec, parent, path);
	return k ? insert_track(t, k) : tracks_count_refused(t);
}

uint32_t tracks_add_cpu(struct tracks *t, uint32_t parent, uint32_t cpu)
{
	char name[24];

	snprintf(name, sizeof(name), "CPU %u", cpu);
	return tracks_add(t, &(struct track_spec){.kind = TRACK_GROUP,
						  .parent = parent,
						  .name = name,
						  .rank = (int32_t)MIN(cpu, (uint32_t)INT32_MAX)});
}

/* ---- writing ---- */

static struct track_out *output_of_track(struct tracks *t, const struct track *k)
{
	return &t->outs[k && k->is_of_thread && t->outs[1].w];
}

struct writer *tracks_writer(const struct tracks *t, uint32_t track)
{
	return output_of_track((struct tracks *)t, track_of_handle(t, track))->w;
}

/* Writes the descriptors of a track and its ancestors that were not written in this state. ns
 * replaces the alive_ns of a process or thread if that is 0. */
static void tracks_describe(struct tracks *t, struct track *k, uint64_t ns)
{
	struct track_out *out = output_of_track(t, k);

	if (!k || k->described_in == t->state)
		return;
	tracks_describe(t, k->parent, ns); /* recursion ends after TRACKS_DEPTH_MAX levels */
	if (!out->state_begun)
		track_packet_begin_state(out->w, t->now);
	out->state_begun = true;
	ns = k->spec.alive_ns ?: ns;
	if (k->spec.kind == TRACK_THREAD)
		track_packet_descriptor(
			out->w, ns, &(struct track_spec){.kind = TRACK_PROCESS, .pid = k->spec.pid},
			uuid_of_parent(k), 0);
	track_packet_descriptor(out->w, ns, &k->spec, uuid_of_track(k), uuid_of_parent(k));
	k->described_in = t->state;
}

static void write_values_of_batch(struct track_out *out, struct track_batch *b)
{
	if (b->n)
		track_packet_values(out->w, b);
	b->n = 0;
}

void tracks_end(struct tracks *t)
{
	for (size_t o = 0; o < ARRAY_SIZE(t->outs); o++)
		for (size_t i = 0; i < ARRAY_SIZE(t->outs[o].batch); i++)
			write_values_of_batch(&t->outs[o], &t->outs[o].batch[i]);
}

static void write_track_value(struct tracks *t, struct track *k, uint64_t ns)
{
	struct track_out *out = output_of_track(t, k);
	struct track_batch *b = &out->batch[k->value.is_double];

	tracks_describe(t, k, k->seen_ns);
	/* Values in a batch are unordered: two of one track need two packets. */
	if (k->written_ns == ns)
		tracks_end(t);
	if (b->n == TRACK_BATCH_MAX || b->ns != ns)
		write_values_of_batch(out, b);
	b->ns = ns;
	b->uuids[b->n] = uuid_of_track(k);
	b->values[b->n] = k->value;
	b->n++;
	k->written_in = t->state;
	k->written_ns = ns;
	t->counts.values++;
}

static bool track_values_are_equal(const struct track_value *a, const struct track_value *b)
{
	return a->is_double == b->is_double && memcmp(&a->i, &b->i, sizeof(a->i)) == 0;
}
_Static_assert(sizeof(double) == sizeof(int64_t), "one is compared as the other");

void tracks_watch(struct tracks *t, track_update_fn fn, void *ctx)
{
	t->seen = fn;
	t->seen_ctx = ctx;
}

static void notify_watcher(const struct tracks *t, const struct track *k,
			   const struct track_value *v, bool is_last)
{
	const struct track_update seen = {
		.track = k->handle,
		.name = k->spec.name,
		.value = v->is_double ? v->d : (double)v->i,
		.total = k->spec.total,
		.is_first = !k->has_value,
		.is_last = is_last,
	};

	if (t->seen)
		t->seen(t->seen_ctx, &seen);
}

static void tracks_set_value(struct tracks *t, uint32_t handle, struct track_value v)
{
	struct track *k = track_of_handle(t, handle);
	bool same;

	if (!k)
		return;
	assert(k->spec.kind == TRACK_COUNTER);
	notify_watcher(t, k, &v, false);
	same = k->has_value && k->written_in == t->state && track_values_are_equal(&k->value, &v);
	k->seen_ns = t->now;
	if (same)
		return;
	k->value = v;
	k->has_value = true;
	write_track_value(t, k, t->now);
}

void tracks_set(struct tracks *t, uint32_t track, int64_t v)
{
	tracks_set_value(t, track, (struct track_value){.i = v});
}

void tracks_set_double(struct tracks *t, uint32_t track, double v)
{
	tracks_set_value(t, track, (struct track_value){.is_double = true, .d = v});
}

void tracks_clear(struct tracks *t)
{
	tracks_end(t);
	t->state++;
	t->outs[0].state_begun = t->outs[1].state_begun = false;
}

void tracks_begin(struct tracks *t, uint64_t ns)
{
	uint64_t dropped = writer_dropped(t->outs[0].w);

	if (t->outs[1].w)
		dropped += writer_dropped(t->outs[1].w);
	tracks_end(t);
	t->now = ns;
	if (dropped != t->dropped)
		tracks_clear(t); /* the lost packet may have been a descriptor */
	t->dropped = dropped;
}

bool tracks_flush_piece(struct tracks *t)
{
	uint32_t end = MIN(t->flushed + TRACKS_FLUSH_PIECE, t->n_slots);

	for (t->flushed = MAX(t->flushed, 1u); t->flushed < end; t->flushed++) {
		struct track *k = t->slots[t->flushed];

		if (k && k->has_value && (k->written_in != t->state || k->written_ns != k->seen_ns))
			write_track_value(t, k, k->seen_ns);
	}
	if (t->flushed < t->n_slots)
		return true;
	t->flushed = 0;
	tracks_end(t);
	return false;
}

void tracks_flush(struct tracks *t)
{
	while (tracks_flush_piece(t))
		;
}

uint64_t tracks_get_uuid(struct tracks *t, uint32_t track)
{
	struct track *k = track_of_handle(t, track);

	tracks_describe(t, k, t->now);
	return uuid_of_track(k);
}

void tracks_set_alive(struct tracks *t, uint32_t track, uint64_t ns)
{
	struct track *k = track_of_handle(t, track);

	if (!k)
		return;
	k->spec.alive_ns = MAX(k->spec.alive_ns, ns);
	advance_batch_time(t, ns);
}

struct tracks_counts tracks_counts(const struct tracks *t)
{
	return t->counts;
}

/* ---- the end of tracks ---- */

/* Writes the last value of a track that ends, and passes it to the watcher: 0 for a gauge, the
 * current value for a total. */
static void write_last_value(struct tracks *t, struct track *k)
{
	if (!k->has_value)
		return;
	if (!k->spec.total)
		k->value = (struct track_value){.is_double = k->value.is_double};
	notify_watcher(t, k, &k->value, true);
	if (k->written_ns != t->now || !k->spec.total)
		write_track_value(t, k, t->now);
}

static void unlink_track(struct tracks *t, struct track *k)
{
	HASH_DEL(t->by_path, k);
	t->slots[k->handle] = NULL;
	t->free_slots[t->n_free++] = k->handle;
	if (k->parent)
		LIST_REMOVE(k, sibling);
	t->counts.tracks--;
}

static void remove_track(struct tracks *t, struct track *k)
{
	struct track *child;

	while ((child = LIST_FIRST(&k->children)))
		remove_track(t, child); /* recursion ends after TRACKS_DEPTH_MAX levels */
	write_last_value(t, k);
	unlink_track(t, k);
	slab_free(k->slab, k);
}

void tracks_remove(struct tracks *t, uint32_t track)
{
	struct track *k = track_of_handle(t, track);

	if (k && --k->users == 0)
		remove_track(t, k);
}
