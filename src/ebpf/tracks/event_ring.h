/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdint.h>

#include "ebpf/tracks/event_lanes.h"

/* The ring buffer "sonda_events" of a loaded object, read into lanes. */
struct event_ring;

#define EVENT_RING_MAP "sonda_events"

/* fd: the map's, borrowed, as is what event_lanes_new takes. 0 or -errno. */
int event_ring_new(int fd, struct tracks *tracks, uint32_t group, const char *name,
		   struct event_ring **ret);
/* NULL is fine. */
void event_ring_free(struct event_ring *g);
/* Writes what is in it; after tracks_begin. 0 or -errno. */
int event_ring_read(struct event_ring *g);
struct event_lanes_counts event_ring_counts(const struct event_ring *g);
