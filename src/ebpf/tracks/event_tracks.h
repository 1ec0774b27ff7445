/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "client/counters/tracks.h"

/*
 * Events of a program of somebody's own (struct sonda_event of bpf/sonda_program.h), as slices and
 * instants:
 *
 *	thread 71 > NAME, NAME 2 ...    those with a thread
 *	NAME > events, events 2 ...     those without, under the program's group
 *
 * Readers end the slice that began last on a track. So slices that lie across each other go to lanes of
 * their own; what is in none of EVENT_TRACKS_MAX is left out, as is what is too much in a second.
 *
 * Format: perfetto.protos.TrackEvent, DebugAnnotation.
 */
struct event_tracks;

#define EVENT_TRACKS_MAX 4u
#define EVENT_TRACKS_THREADS_MAX 1024u /* with lanes at a time: one that is long gone makes room */
#define EVENT_TRACKS_EVENTS_PER_SECOND 1000u

struct event_tracks_counts {
	uint64_t written;
	uint64_t left_out; /* too many in a second, or too many at a time */
	uint64_t bad; /* not understood */
};

/* name: the program's; all are borrowed. NULL: slices of a thread never lie across each other, and go
 * on its own track. 0 or -ENOMEM. */
int event_tracks_new(struct tracks *tracks, uint32_t group, const char *name,
		     struct event_tracks **ret);
/* Leaves the tracks. NULL is fine. */
void event_tracks_free(struct event_tracks *l);

/* A struct sonda_event or sonda_event_text: foreign bytes, which need not be aligned; now: CLOCK_BOOTTIME, ns. After tracks_end, and nothing is
 * set in between. */
void event_tracks_add(struct event_tracks *l, const void *untrusted_event, size_t size,
		      uint64_t now);
struct event_tracks_counts event_tracks_counts(const struct event_tracks *l);

/* The ring buffer "sonda_events" of a loaded object, read into lanes. */
struct event_ring;

#define EVENT_RING_MAP "sonda_events"

/* fd: the map's, borrowed, as is what event_tracks_new takes. 0 or -errno. */
int event_ring_new(int fd, struct tracks *tracks, uint32_t group, const char *name,
		   struct event_ring **ret);
/* NULL is fine. */
void event_ring_free(struct event_ring *g);
/* Writes what is in it; after tracks_begin. 0 or -errno. */
int event_ring_read(struct event_ring *g);
struct event_tracks_counts event_ring_counts(const struct event_ring *g);
