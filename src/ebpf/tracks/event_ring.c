/* SPDX-License-Identifier: Apache-2.0 */
#include "ebpf/tracks/event_ring.h"

#include <errno.h>
#include <stdlib.h>

#include <bpf/libbpf.h>

#include "base/core/clock.h"

#define EVENTS_A_READ 65536 /* of a ring that others fill while it is read */

struct event_ring {
	struct tracks *tracks; /* borrowed */
	struct ring_buffer *ring; /* owned */
	struct event_lanes *lanes; /* owned */
	uint64_t read_at; /* CLOCK_BOOTTIME of this read, ns */
	unsigned n_read; /* in it */
};

static int on_event(void *ctx, void *untrusted_event, size_t size)
{
	struct event_ring *g = ctx;

	event_lanes_add(g->lanes, untrusted_event, size, g->read_at);
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
	r = g->ring ? event_lanes_new(tracks, group, name, &g->lanes) : -errno;
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
	event_lanes_free(g->lanes);
	free(g);
}

int event_ring_read(struct event_ring *g)
{
	int r;

	/* What is gathered of the tracks goes before packets of our own. */
	tracks_end(g->tracks);
	g->read_at = clock_boot_ns();
	g->n_read = 0;
	r = ring_buffer__consume(g->ring);
	return r < 0 && r != -E2BIG ? r : 0;
}

struct event_lanes_counts event_ring_counts(const struct event_ring *g)
{
	return event_lanes_counts(g->lanes);
}
