/* SPDX-License-Identifier: Apache-2.0 */
/* Events in a ring (fake_bpf.h) become slices and instants on lanes. */
#include <time.h>

#include <bpf/bpf.h>

#include "bpf/sonda_program.h"
#include "ebpf/tracks/event_tracks.h"
#include "unit/client/read_tracks.h"
#include "unit/ebpf/fake_bpf.h"
#include "unit/fixture.h"

#define RING_BYTES (4u << 20)
enum { BEGIN = 1, END = 2, TYPE_INSTANT = 3 };

static struct writer *w;
static struct tracks *tracks;
static struct event_ring *ring;
static uint32_t group;
static uint64_t now; /* CLOCK_BOOTTIME of this test */
static int fd;

/* Takes the place of clock_gettime(2). */
int clock_gettime(clockid_t clock, struct timespec *ret)
{
	if (clock != CLOCK_BOOTTIME)
		return (int)syscall(SYS_clock_gettime, clock, ret);
	*ret = (struct timespec){(time_t)(now / NS_PER_S), (long)(now % NS_PER_S)};
	return 0;
}

SETUP
{
	fake_reset();
	fake_bpf_reset(1);
	now = 100 * NS_PER_S;
	w = writer_new(NULL, 1, WRITER_DROP);
	fd = bpf_map_create(BPF_MAP_TYPE_RINGBUF, EVENT_RING_MAP, 0, 0, RING_BYTES, NULL);
	assert_int_equal(tracks_new("test", w, &tracks), 0);
	group = tracks_add(tracks, &(struct track_spec){.kind = TRACK_GROUP, .name = "prog"});
	assert_int_equal(event_ring_new(fd, tracks, group, "prog", &ring), 0);
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

static void add_bytes(const void *event, size_t len)
{
	fake_ring_put(EVENT_RING_MAP, event, (uint32_t)len);
	assert_int_equal(event_ring_read(ring), 0);
}

static struct sonda_event slice(uint32_t tid, uint64_t from, uint64_t to)
{
	return (struct sonda_event){.type = SONDA_SLICE,
				    .tid = tid,
				    .tgid = tid,
				    .time = from,
				    .duration = to - from,
				    .name = "slice"};
}

static void add(struct sonda_event e)
{
	add_bytes(&e, sizeof(e));
}

/* The n-th event in the packets: its type, 0: there are no more. */
static unsigned event(size_t n, uint64_t *ret_ns, uint64_t *ret_track, struct pb_field *ret)
{
	for (size_t i = 0; i < fake.n; i++) {
		struct pb_field p = fake_packet_field(i), f;

		if (!read_sub(p, PB_TRACE_PACKET_TRACK_EVENT, ret) || n--)
			continue;
		assert_true(read_sub(p, PB_TRACE_PACKET_TIMESTAMP, &f));
		*ret_ns = f.u64;
		assert_true(read_sub(*ret, PB_TRACK_EVENT_TRACK_UUID, &f));
		*ret_track = f.u64;
		assert_true(read_sub(*ret, PB_TRACK_EVENT_TYPE, &f));
		return (unsigned)f.u64;
	}
	return 0;
}

static void expect(size_t n, unsigned type, uint64_t ns, const char *path)
{
	struct pb_field f;
	uint64_t at, track;

	assert_int_equal(event(n, &at, &track, &f), type);
	assert_int_equal(at, ns);
	assert_true(read_path_is(read_by_uuid(track), path));
}

FIXTURE_TEST(a_slice_with_values_on_a_thread)
{
	struct sonda_event e = slice(71, 50, 80);
	struct pb_field f, a, v;
	uint64_t ns, track;

	e.n_values = 1;
	memcpy(e.name, "0123456789abcdef0123456789abcdef", sizeof(e.name)); /* no NUL */
	e.values[0].value = -4;
	memcpy(e.values[0].name, "code\x1b", 5);
	add(e);
	read_tracks();
	expect(0, BEGIN, 50, "thread 71/71/prog");
	expect(1, END, 80, "thread 71/71/prog");
	assert_int_equal(event(0, &ns, &track, &f), BEGIN);
	assert_true(read_sub(f, PB_TRACK_EVENT_NAME, &a));
	assert_int_equal(a.len, SONDA_EVENT_NAME - 1);
	assert_true(read_sub(f, PB_TRACK_EVENT_DEBUG_ANNOTATIONS, &a));
	assert_true(read_sub(a, PB_DEBUG_ANNOTATION_INT_VALUE, &v));
	assert_int_equal((int64_t)v.u64, -4);
	assert_true(read_sub(a, PB_DEBUG_ANNOTATION_NAME, &v));
	assert_memory_equal(v.data, "code?", 5);
	assert_int_equal(event_ring_counts(ring).written, 1);
}

FIXTURE_TEST(slices_of_a_thread_on_its_own_track)
{
	struct sonda_event_text e = {
		.event = slice(71, 50, 80), .name = "ran before", .text = "make"};
	struct pb_field f, a, v;
	uint64_t ns, track;

	event_ring_free(ring);
	assert_int_equal(event_ring_new(fd, tracks, TRACK_ROOT, NULL, &ring), 0);
	add_bytes(&e, sizeof(e));
	e.event = slice(71, 40, 90); /* around it: comes later */
	*e.name = '\0';
	add_bytes(&e, sizeof(e));
	add_bytes(&e, sizeof(e) - 1);
	read_tracks();
	expect(0, BEGIN, 50, "thread 71/71");
	expect(1, END, 80, "thread 71/71");
	expect(2, BEGIN, 40, "thread 71/71");
	expect(3, END, 90, "thread 71/71");
	assert_int_equal(event(0, &ns, &track, &f), BEGIN);
	assert_true(read_sub(f, PB_TRACK_EVENT_DEBUG_ANNOTATIONS, &a));
	assert_true(read_sub(a, PB_DEBUG_ANNOTATION_STRING_VALUE, &v));
	assert_memory_equal(v.data, "make", 4);
	assert_int_equal(event(2, &ns, &track, &f), BEGIN);
	assert_false(read_sub(f, PB_TRACK_EVENT_DEBUG_ANNOTATIONS, &a));
	assert_int_equal(event_ring_counts(ring).bad, 1);
}

FIXTURE_TEST(slices_across_each_other_have_lanes)
{
	add(slice(0, 10, 20));
	add(slice(0, 20, 30)); /* after the first */
	add(slice(0, 25, 35)); /* across it */
	add(slice(0, 5, 40)); /* around both */
	add(slice(72, 5, 40)); /* another thread */
	read_tracks();
	expect(0, BEGIN, 10, "prog/events");
	expect(2, BEGIN, 20, "prog/events");
	expect(4, BEGIN, 25, "prog/events 2");
	expect(6, BEGIN, 5, "prog/events 3");
	expect(8, BEGIN, 5, "thread 72/72/prog");
	add(slice(0, 1, 50));
	assert_int_equal(event_ring_counts(ring).left_out, 0);
	add(slice(0, 1, 50)); /* there is no lane any more */
	assert_int_equal(event_ring_counts(ring).left_out, 1);
}

FIXTURE_TEST(events_above_the_rate_limit_are_counted)
{
	struct sonda_event e = {.type = SONDA_INSTANT, .time = 1};

	for (unsigned i = 0; i < EVENT_TRACKS_EVENTS_PER_SECOND + 7; i++)
		add(e);
	assert_int_equal(event_ring_counts(ring).written, EVENT_TRACKS_EVENTS_PER_SECOND);
	assert_int_equal(event_ring_counts(ring).left_out, 7);
	now += NS_PER_S;
	add(e);
	assert_int_equal(event_ring_counts(ring).written, EVENT_TRACKS_EVENTS_PER_SECOND + 1);
}

FIXTURE_TEST(the_oldest_thread_is_evicted)
{
	for (uint32_t i = 1; i <= EVENT_TRACKS_THREADS_MAX + 3; i++) {
		struct sonda_event e = slice(i, 1, 2);

		now += NS_PER_S;
		add(e);
	}
	assert_int_equal(event_ring_counts(ring).written, EVENT_TRACKS_THREADS_MAX + 3);
	/* A thread and its lane each, and the program's group. */
	assert_int_equal(tracks_counts(tracks).tracks, 2 * EVENT_TRACKS_THREADS_MAX + 1);
}

FIXTURE_TEST(invalid_events_are_counted)
{
	struct sonda_event good = slice(0, 10, 20), e = good;
	const uint64_t n = 9;

	add_bytes(&e, sizeof(e) - 1);
	add_bytes(&e, 0);
	e.type = 3;
	add(e);
	e = good, e.n_values = SONDA_EVENT_VALUES + 1;
	add(e);
	e = good, e.time = 0;
	add(e);
	e = good, e.duration = UINT64_MAX;
	add(e);
	e = good, e.time = now + NS_PER_S; /* some other clock */
	add(e);
	e = good, e.tid = UINT32_MAX, e.tgid = 1;
	add(e);
	e = good, e.tid = 5;
	add(e);
	assert_int_equal(event_ring_counts(ring).bad, n);
	assert_int_equal(fake.n, 0);
}

FIXTURE_TEST(events_are_written_once)
{
	add(slice(71, 50, 80));
	assert_int_equal(event_ring_read(ring), 0);
	assert_int_equal(event_ring_counts(ring).written, 1);
}

/* A program that fills it faster than it is read: a read ends all the same, and loses nothing. */
FIXTURE_TEST(a_read_has_an_end)
{
	const uint32_t n = 65536 + 10;
	const uint64_t bad = 0;

	for (uint32_t i = 0; i < n; i++)
		fake_ring_put(EVENT_RING_MAP, &bad, sizeof(bad));
	assert_int_equal(event_ring_read(ring), 0);
	assert_int_equal(event_ring_counts(ring).bad, 65536);
	assert_int_equal(event_ring_read(ring), 0);
	assert_int_equal(event_ring_counts(ring).bad, n);
}

FIXTURE_TEST(maps_that_are_no_ring)
{
	struct event_ring *other = NULL;

	close(fd);
	fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, EVENT_RING_MAP, 4, 8, 1, NULL);
	assert_int_equal(event_ring_new(fd, tracks, group, "mine", &other), -EINVAL);
	assert_null(other);
	close(fd);
	fd = -1;
	assert_true(event_ring_new(fd, tracks, group, "mine", &other) < 0);
	assert_null(other);
}
