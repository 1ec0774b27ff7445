/* SPDX-License-Identifier: Apache-2.0 */
#include "ebpf/tracks/event_tracks.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/clock.h"
#include "base/core/hash_table.h"
#include "base/core/mem.h"
#include "base/text/str.h"
#include "bpf/sonda_program.h"
#include "client/transport/writer.h"
#include "gen/fields.h"

#define STATE_NEEDED 2 /* TracePacket.sequence_flags */
enum { SLICE_BEGIN = 1, SLICE_END = 2, INSTANT = 3 }; /* TrackEvent.Type */

/* The lanes of a thread, or of none: tid 0. */
struct lanes {
	uint32_t tid; /* the key */
	UT_hash_handle hh; /* in order of arrival */
	uint64_t used; /* serial number of its last event */
	uint32_t thread; /* its track; TRACK_ROOT: none */
	uint32_t tracks[EVENT_TRACKS_MAX]; /* TRACK_ROOT: not created yet */
	uint64_t ends[EVENT_TRACKS_MAX]; /* end of the last slice */
};

struct event_tracks {
	struct tracks *tracks;
	uint32_t group;
	const char *name;
	struct lanes *threads; /* owned */
	uint64_t second; /* begin of the second of the rate limit, ns */
	uint32_t in_second;
	struct event_tracks_counts counts;
};

/* Allocates tracks of slices. name: of the program; NULL: slices of a thread always nest, and go to
 * its own track. All arguments are borrowed. Returns 0 or -ENOMEM. */
static int event_tracks_new(struct tracks *tracks, uint32_t group, const char *name,
			    struct event_tracks **ret)
{
	struct event_tracks *l = calloc(1, sizeof(*l));

	if (!l)
		return -ENOMEM;
	l->tracks = tracks;
	l->group = group;
	l->name = name;
	*ret = l;
	return 0;
}

/* Frees l; the tracks stay. No-op for NULL. */
static void event_tracks_free(struct event_tracks *l)
{
	if (!l)
		return;
	HASH_FREE(l->threads);
	free(l);
}

/* ---- an event ---- */

static void sanitize_text(char *s, size_t size)
{
	s[size - 1] = '\0';
	str_make_plain(s, strlen(s), "");
}

/* Checks an event of a BPF program and terminates its texts. Returns false if it is malformed. A
 * slice may end shortly after the clock was read. */
static bool sanitize_event(struct sonda_event_text *t, uint64_t now)
{
	struct sonda_event *e = &t->event;
	uint64_t end = e->time + e->duration;

	if (e->type != SONDA_INSTANT && e->type != SONDA_SLICE)
		return false;
	if (e->n_values > SONDA_EVENT_VALUES || !e->time || end < e->time || end > now + NS_PER_S)
		return false;
	if (e->tid > INT32_MAX || e->tgid > INT32_MAX || (e->tid && !e->tgid))
		return false;
	sanitize_text(e->name, sizeof(e->name));
	for (uint32_t i = 0; i < e->n_values; i++)
		sanitize_text(e->values[i].name, sizeof(e->values[i].name));
	sanitize_text(t->name, sizeof(t->name));
	sanitize_text(t->text, sizeof(t->text));
	return true;
}

/* Counts an event. Returns false if this second has had as many as are written. */
static bool event_tracks_admit_event(struct event_tracks *l, uint64_t now)
{
	if (now - l->second >= NS_PER_S) {
		l->second = now;
		l->in_second = 0;
	}
	return l->in_second++ < EVENT_TRACKS_EVENTS_PER_SECOND;
}

/* ---- lanes ---- */

static void remove_lanes(struct event_tracks *l, struct lanes *t)
{
	for (uint32_t i = 0; i < EVENT_TRACKS_MAX; i++)
		if (t->tracks[i] != TRACK_ROOT)
			tracks_remove(l->tracks, t->tracks[i]);
	if (t->thread != TRACK_ROOT)
		tracks_remove(l->tracks, t->thread);
	HASH_DEL(l->threads, t);
	free(t);
}

static void event_tracks_evict_oldest(struct event_tracks *l)
{
	struct lanes *t, *next, *oldest = NULL;

	if (HASH_COUNT(l->threads) < EVENT_TRACKS_THREADS_MAX)
		return;
	HASH_ITER (hh, l->threads, t, next)
		if (!oldest || t->used < oldest->used)
			oldest = t;
	remove_lanes(l, oldest);
}

static struct lanes *find_or_add_lanes(struct event_tracks *l, const struct sonda_event *e)
{
	struct lanes *t;

	HASH_FIND(hh, l->threads, &e->tid, sizeof(e->tid), t);
	if (t)
		return t;
	event_tracks_evict_oldest(l);
	t = calloc(1, sizeof(*t));
	if (!t)
		return NULL;
	t->tid = e->tid;
	if (e->tid)
		t->thread = tracks_add(l->tracks, &(struct track_spec){.kind = TRACK_THREAD,
								       .pid = (int32_t)e->tgid,
								       .tid = (int32_t)e->tid,
								       .alive_ns = e->time});
	HASH_ADD(hh, l->threads, tid, sizeof(t->tid), t);
	if (!t->hh.tbl) {
		tracks_remove(l->tracks, t->thread);
		free(TAKE_PTR(t));
	}
	return t;
}

static uint32_t add_lane_track(struct event_tracks *l, const struct lanes *t, uint32_t i)
{
	const char *name = t->tid ? l->name : "events"; /* not NULL: see find_or_add_lane */
	char numbered[96];

	snprintf(numbered, sizeof(numbered), "%s %u", name, i + 1);
	return tracks_add(l->tracks, &(struct track_spec){.kind = TRACK_GROUP,
							  .parent = t->tid ? t->thread : l->group,
							  .name = i ? numbered : name});
}

/* Returns the first lane whose slices end before the event starts, and creates its track. An
 * instant is on the first lane. Without a name (event_tracks_new), the lane of a thread is the
 * thread's own track. TRACK_VOID: all lanes are in use. */
static uint32_t find_or_add_lane(struct event_tracks *l, struct lanes *t,
				 const struct sonda_event *e)
{
	uint32_t i = 0;

	if (!l->name && t->tid)
		return t->thread;
	if (e->type == SONDA_SLICE) {
		while (i < EVENT_TRACKS_MAX && t->ends[i] > e->time)
			i++;
		if (i == EVENT_TRACKS_MAX)
			return TRACK_VOID;
		t->ends[i] = e->time + e->duration;
	}
	if (t->tracks[i] == TRACK_ROOT)
		t->tracks[i] = add_lane_track(l, t, i);
	return t->tracks[i];
}

/* ---- packets ---- */

static struct pb_enc *begin_packet(struct writer *w, uint64_t ns, unsigned type, uint64_t uuid)
{
	struct pb_enc *p = writer_begin(w);

	pb_enc_u64(p, PB_TRACE_PACKET_TIMESTAMP, ns);
	pb_enc_u64(p, PB_TRACE_PACKET_SEQUENCE_FLAGS, STATE_NEEDED);
	pb_enc_open(p, PB_TRACE_PACKET_TRACK_EVENT);
	pb_enc_u64(p, PB_TRACK_EVENT_TYPE, type);
	pb_enc_u64(p, PB_TRACK_EVENT_TRACK_UUID, uuid);
	return p;
}

static void event_tracks_end_packet(struct writer *w, struct pb_enc *p)
{
	pb_enc_close(p);
	writer_end(w);
}

static void event_tracks_write_event(struct writer *w, const struct sonda_event_text *t,
				     uint64_t uuid)
{
	const struct sonda_event *e = &t->event;
	bool is_slice = e->type == SONDA_SLICE;
	struct pb_enc *p = begin_packet(w, e->time, is_slice ? SLICE_BEGIN : INSTANT, uuid);

	pb_enc_str(p, PB_TRACK_EVENT_NAME, e->name);
	for (uint32_t i = 0; i < e->n_values; i++) {
		pb_enc_open(p, PB_TRACK_EVENT_DEBUG_ANNOTATIONS);
		pb_enc_str(p, PB_DEBUG_ANNOTATION_NAME, e->values[i].name);
		pb_enc_i64(p, PB_DEBUG_ANNOTATION_INT_VALUE, e->values[i].value);
		pb_enc_close(p);
	}
	if (*t->name) {
		pb_enc_open(p, PB_TRACK_EVENT_DEBUG_ANNOTATIONS);
		pb_enc_str(p, PB_DEBUG_ANNOTATION_NAME, t->name);
		pb_enc_str(p, PB_DEBUG_ANNOTATION_STRING_VALUE, t->text);
		pb_enc_close(p);
	}
	event_tracks_end_packet(w, p);
	if (is_slice)
		event_tracks_end_packet(w, begin_packet(w, e->time + e->duration, SLICE_END, uuid));
}

/* Adds a struct sonda_event or sonda_event_text. The bytes are untrusted and need not be aligned.
 * now: CLOCK_BOOTTIME, ns. Call it after tracks_end(), with no tracks set in between. */
static void event_tracks_add(struct event_tracks *l, const void *untrusted_event, size_t size,
			     uint64_t now)
{
	struct sonda_event_text e = {.name = ""};
	struct lanes *t = NULL;
	uint32_t lane = TRACK_VOID;

	if (size != sizeof(e.event) && size != sizeof(e)) {
		l->counts.bad++;
		return;
	}
	memcpy(&e, untrusted_event, size);
	if (!sanitize_event(&e, now)) {
		l->counts.bad++;
		return;
	}
	if (event_tracks_admit_event(l, now))
		t = find_or_add_lanes(l, &e.event);
	if (t)
		lane = find_or_add_lane(l, t, &e.event);
	if (lane == TRACK_VOID) {
		l->counts.left_out++;
		return;
	}
	t->used = ++l->counts.written;
	if (t->thread != TRACK_ROOT)
		tracks_set_alive(l->tracks, t->thread, e.event.time);
	event_tracks_write_event(tracks_writer(l->tracks, lane), &e,
				 tracks_get_uuid(l->tracks, lane));
}

static struct event_tracks_counts event_tracks_counts(const struct event_tracks *l)
{
	return l->counts;
}

#define EVENTS_A_READ 65536 /* of a ring that is filled while it is read */

struct event_ring {
	struct tracks *tracks; /* borrowed */
	struct ring_buffer *ring; /* owned */
	struct event_tracks *lanes; /* owned */
	uint64_t read_at; /* CLOCK_BOOTTIME of this read, ns */
	unsigned n_read; /* events in this read */
};

static int on_event(void *ctx, void *untrusted_event, size_t size)
{
	struct event_ring *g = ctx;

	event_tracks_add(g->lanes, untrusted_event, size, g->read_at);
	return ++g->n_read < EVENTS_A_READ ? 0 : -E2BIG;
}

int event_ring_new(int fd, struct tracks *tracks, uint32_t group, const char *name,
		   struct event_ring **ret)
{
	struct event_ring *g = calloc(1, sizeof(*g));
	int r;

	if (!g)
		return -ENOMEM;
	g->tracks = tracks;
	g->ring = ring_buffer__new(fd, on_event, g, NULL);
	r = g->ring ? event_tracks_new(tracks, group, name, &g->lanes) : -errno;
	if (r < 0)
		event_ring_free(g);
	else
		*ret = g;
	return r;
}

void event_ring_free(struct event_ring *g)
{
	if (!g)
		return;
	ring_buffer__free(g->ring);
	event_tracks_free(g->lanes);
	free(g);
}

int event_ring_read(struct event_ring *g)
{
	int r;

	/* Pending values of tracks are written before other packets. */
	tracks_end(g->tracks);
	g->read_at = clock_boot_ns();
	g->n_read = 0;
	r = ring_buffer__consume(g->ring);
	return r < 0 && r != -E2BIG ? r : 0;
}

struct event_tracks_counts event_ring_counts(const struct event_ring *g)
{
	return event_tracks_counts(g->lanes);
}
