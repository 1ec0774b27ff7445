/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/fixture.h"
#include "unit/client/read_tracks.h"

#include <bpf/bpf.h>

#include "bpf/sonda_program.h"
#include "ebpf/tracks/event_tracks.h"
#include "unit/ebpf/fake_bpf.h"

#define RING_BYTES (4u << 20)

static struct writer *w;
static struct tracks *tracks;
static struct event_ring *ring;
static int fd;

SETUP
{
	fake_reset();
	fake_bpf_reset(1);
	w = writer_new(NULL, 1, WRITER_DROP);
	fd = bpf_map_create(BPF_MAP_TYPE_RINGBUF, EVENT_RING_MAP, 0, 0, RING_BYTES, NULL);
	assert_int_equal(tracks_new("test", w, &tracks), 0);
}

TEARDOWN
{
	event_ring_free(ring);
	ring = NULL;
	tracks_free(tracks);
	writer_free(w);
	close(fd);
	fake_bpf_reset(0);
	fake_reset();
}

static int begin(void)
{
	return event_ring_new(fd, tracks, TRACK_ROOT, "mine", &ring);
}

static void put_event(const char *name)
{
	struct sonda_event e = {.type = SONDA_INSTANT, .tid = 72, .tgid = 71, .time = 1};

	e.time = clock_boot_ns() - 1000;
	memcpy(e.name, name, strlen(name));
	fake_ring_put(EVENT_RING_MAP, &e, sizeof(e));
}

FIXTURE_TEST(events_in_the_ring_are_written_once)
{
	assert_int_equal(begin(), 0);
	assert_int_equal(event_ring_read(ring), 0);
	assert_int_equal(event_ring_counts(ring).written, 0);
	put_event("one");
	put_event("two");
	assert_int_equal(event_ring_read(ring), 0);
	assert_int_equal(event_ring_counts(ring).written, 2);
	assert_int_equal(event_ring_read(ring), 0);
	assert_int_equal(event_ring_counts(ring).written, 2);
	read_tracks();
	assert_non_null(read_find("thread 71/72/mine"));
}

/* A program that fills it faster than it is read: a read ends all the same, and loses nothing. */
FIXTURE_TEST(a_read_has_an_end)
{
	const uint32_t n = 65536 + 10;
	const uint64_t bad = 0;

	assert_int_equal(begin(), 0);
	for (uint32_t i = 0; i < n; i++)
		fake_ring_put(EVENT_RING_MAP, &bad, sizeof(bad));
	assert_int_equal(event_ring_read(ring), 0);
	assert_int_equal(event_ring_counts(ring).bad, 65536);
	assert_int_equal(event_ring_read(ring), 0);
	assert_int_equal(event_ring_counts(ring).bad, n);
}

FIXTURE_TEST(maps_that_are_no_ring)
{
	close(fd);
	fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, EVENT_RING_MAP, 4, 8, 1, NULL);
	assert_int_equal(begin(), -EINVAL);
	assert_null(ring);
	close(fd);
	fd = -1;
	assert_true(begin() < 0);
	assert_null(ring);
}
