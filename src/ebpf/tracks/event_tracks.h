/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "client/counters/tracks.h"

/*
 * Events of a user program (struct sonda_event of bpf/sonda_program.h) as slices and instants:
 *
 *	thread 71 > NAME, NAME 2 ...    those with a thread
 *	NAME > events, events 2 ...     those without, in the group of the program
 *
 * A reader ends the slice that began last on a track. So slices that overlap without nesting go to
 * separate lanes (tracks). Events that fit into none of EVENT_TRACKS_MAX lanes, and events above
 * the rate limit, are dropped and counted.
 *
 * Format: perfetto.protos.TrackEvent, DebugAnnotation.
 */
struct event_tracks;

#define EVENT_TRACKS_MAX 4u
#define EVENT_TRACKS_THREADS_MAX 1024u /* threads with lanes; the least recently used is evicted */
#define EVENT_TRACKS_EVENTS_PER_SECOND 1000u

struct event_tracks_counts {
	uint64_t written;
	uint64_t left_out; /* dropped: above the rate limit or without a free lane */
	uint64_t bad; /* invalid events */
};

/* Reads the ring buffer "sonda_events" of a loaded object into lanes. */
struct event_ring;

#define EVENT_RING_MAP "sonda_events"

/* Opens the ring of a map. name: of the program; NULL: slices of a thread always nest, and go to
 * its own track. All arguments are borrowed. Returns 0 or -errno. */
int event_ring_new(int fd, struct tracks *tracks, uint32_t group, const char *name,
		   struct event_ring **ret);
/* No-op for NULL. */
void event_ring_free(struct event_ring *g);
/* Writes all events in the ring; call it after tracks_begin(). Returns 0 or -errno. */
int event_ring_read(struct event_ring *g);
struct event_tracks_counts event_ring_counts(const struct event_ring *g);
