/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Events of a user's BPF program, one after another, of any bytes: 8 bytes of time, then an event
 * whose first byte has its size. Slices of a lane must not overlap in part, and each event must be
 * counted as one of three.
 */
#include "base/core/mem.h"
#include "ebpf/tracks/event_tracks.c"

#include "bpf/sonda_program.h"
#include "unit/../unit/procfs/fake_producer.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define EVENTS 64 /* of one input */
#define INSTANT 3

static struct {
	uint64_t uuid, end;
} tracks_seen[EVENTS];
static size_t n_tracks;

static uint64_t *end_of(uint64_t uuid)
{
	size_t i = 0;

	while (i < n_tracks && tracks_seen[i].uuid != uuid)
		i++;
	if (i == n_tracks) {
		tracks_seen[n_tracks].uuid = uuid;
		tracks_seen[n_tracks++].end = 0;
	}
	return &tracks_seen[i].end;
}

/* On each track a slice begins when the one before has ended. */
static void check_packets(void)
{
	uint64_t ns, type, *end;
	struct pb_field event;

	n_tracks = 0;
	for (size_t i = 0; i < fake.n; i++) {
		struct pb_field p = fake_packet_field(i);

		if (!fake_field(p.data, p.len, PB_TRACE_PACKET_TRACK_EVENT, 0, &event))
			continue;
		ns = fake_u64(p, PB_TRACE_PACKET_TIMESTAMP);
		type = fake_u64(event, PB_TRACK_EVENT_TYPE);
		end = end_of(fake_u64(event, PB_TRACK_EVENT_TRACK_UUID));
		if (type != INSTANT && ns < *end)
			abort();
		if (type != INSTANT)
			*end = ns;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const size_t step = 1 + sizeof(uint64_t) + sizeof(struct sonda_event);
	struct event_tracks_counts n;
	struct event_tracks *lanes;
	struct tracks *tracks;
	struct writer *w;
	uint64_t given = 0;

	fake_reset();
	w = writer_new(NULL, 1, WRITER_DROP);
	if (tracks_new("fuzz", w, &tracks) < 0 ||
	    event_tracks_new(tracks, TRACK_ROOT, "fuzz", &lanes) < 0)
		abort();
	for (; size >= step && given < EVENTS; size -= step, data += step, given++) {
		/* What the ring gives for an event of another size than ours; not beyond the
		 * input. */
		size_t len = data[0] % 8 ? sizeof(struct sonda_event)
					 : MIN(data[0], size - 1 - sizeof(uint64_t));
		uint64_t now;

		memcpy(&now, data + 1, sizeof(now));
		event_tracks_add(lanes, data + 1 + sizeof(now), len, now);
	}
	n = event_tracks_counts(lanes);
	if (n.written + n.left_out + n.bad != given)
		abort();
	check_packets();
	event_tracks_free(lanes);
	tracks_free(tracks);
	writer_free(w);
	fake_reset();
	return 0;
}
