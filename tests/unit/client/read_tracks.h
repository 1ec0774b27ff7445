/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "gen/fields.h"
#include "unit/procfs/fake_producer.h"
#include "unit/test.h"

/*
 * What a reader of traces makes of the counter tracks in the packets of fake_producer.h: tracks by
 * their path ("cgroups/system.slice/memory"), values in the order of the packets. It is strict:
 * values need a state that has begun, and a track that was described in it.
 */

#define READ_TRACKS 2048
#define READ_VALUES 8192

struct read_track {
	uint64_t uuid;
	uint64_t parent;
	char name[300]; /* "process 71", "thread 71/72" for theirs */
	bool counter;
	struct pb_field descriptor; /* the last one */
	unsigned described; /* so often */
	unsigned state; /* in which it was described last */
};

struct read_value {
	uint64_t uuid;
	uint64_t ns;
	bool is_double;
	int64_t i;
	double d;
	size_t packet;
};

static struct {
	struct read_track tracks[READ_TRACKS];
	size_t n_tracks;
	struct read_value values[READ_VALUES];
	size_t n_values;
	unsigned states;
} rd;

static inline bool read_sub(struct pb_field m, uint32_t id, struct pb_field *ret)
{
	return fake_field(m.data, m.len, id, 0, ret);
}

static inline struct read_track *read_by_uuid(uint64_t uuid)
{
	for (size_t i = 0; i < rd.n_tracks; i++)
		if (rd.tracks[i].uuid == uuid)
			return &rd.tracks[i];
	return NULL;
}

static inline void read_descriptor(struct pb_field m)
{
	uint64_t uuid = fake_u64(m, PB_TRACK_DESCRIPTOR_UUID);
	struct read_track *k = read_by_uuid(uuid);
	struct pb_field f;

	assert_true(rd.states > 0);
	if (!k) {
		assert_true(rd.n_tracks < READ_TRACKS);
		k = &rd.tracks[rd.n_tracks++];
		*k = (struct read_track){.uuid = uuid};
	}
	k->descriptor = m;
	k->described++;
	k->state = rd.states;
	if (read_sub(m, PB_TRACK_DESCRIPTOR_PARENT_UUID, &f)) {
		assert_non_null(read_by_uuid(f.u64)); /* parents come first */
		assert_int_equal(read_by_uuid(f.u64)->state, rd.states);
		if (!read_sub(m, PB_TRACK_DESCRIPTOR_THREAD, &f))
			k->parent = fake_u64(m, PB_TRACK_DESCRIPTOR_PARENT_UUID);
	}
	k->counter = read_sub(m, PB_TRACK_DESCRIPTOR_COUNTER, &f);
	if (read_sub(m, PB_TRACK_DESCRIPTOR_PROCESS, &f))
		snprintf(k->name, sizeof(k->name), "process %d",
			 (int)fake_u64(f, PB_PROCESS_DESCRIPTOR_PID));
	else if (read_sub(m, PB_TRACK_DESCRIPTOR_THREAD, &f))
		snprintf(k->name, sizeof(k->name), "thread %d/%d",
			 (int)fake_u64(f, PB_THREAD_DESCRIPTOR_PID),
			 (int)fake_u64(f, PB_THREAD_DESCRIPTOR_TID));
	else if (read_sub(m, PB_TRACK_DESCRIPTOR_NAME, &f))
		snprintf(k->name, sizeof(k->name), "%.*s", (int)f.len, (const char *)f.data);
}

static inline double read_double(uint64_t bits)
{
	double d;

	memcpy(&d, &bits, sizeof(d));
	return d;
}

/* Extra values behind one that is 0 are lost on trace_processor. */
static inline void read_value(struct read_value v, bool extra)
{
	static bool ended;
	const struct read_track *k = read_by_uuid(v.uuid);
	bool zero = v.is_double ? v.d == 0 : v.i == 0;

	assert_false(extra && ended && !zero);
	ended = extra && zero;
	assert_non_null(k);
	assert_true(k->counter);
	assert_int_equal(k->state, rd.states);
	assert_true(rd.n_values < READ_VALUES);
	rd.values[rd.n_values++] = v;
}

static inline void read_event(struct pb_field m, uint64_t ns, size_t packet)
{
	struct read_value v = {.ns = ns, .packet = packet};
	struct pb_field f, value;
	unsigned i, j;

	v.uuid = fake_u64(m, PB_TRACK_EVENT_TRACK_UUID);
	if (fake_u64(m, PB_TRACK_EVENT_TYPE) <= 3) {
		/* A slice or instant of the source's own has no value; its track is described. */
		assert_non_null(read_by_uuid(v.uuid));
		assert_int_equal(read_by_uuid(v.uuid)->state, rd.states);
		return;
	}
	assert_int_equal(fake_u64(m, PB_TRACK_EVENT_TYPE), 4);
	v.is_double = read_sub(m, PB_TRACK_EVENT_DOUBLE_COUNTER_VALUE, &f);
	assert_true(v.is_double != fake_has(m, PB_TRACK_EVENT_COUNTER_VALUE));
	v.d = v.is_double ? read_double(f.u64) : 0;
	v.i = v.is_double ? 0 : (int64_t)fake_u64(m, PB_TRACK_EVENT_COUNTER_VALUE);
	read_value(v, false);
	for (i = 0; fake_field(m.data, m.len, PB_TRACK_EVENT_EXTRA_COUNTER_TRACK_UUIDS, i, &f);
	     i++) {
		assert_true(
			fake_field(m.data, m.len, PB_TRACK_EVENT_EXTRA_COUNTER_VALUES, i, &value));
		read_value(
			(struct read_value){
				.uuid = f.u64, .ns = ns, .i = (int64_t)value.u64, .packet = packet},
			true);
	}
	for (j = 0;
	     fake_field(m.data, m.len, PB_TRACK_EVENT_EXTRA_DOUBLE_COUNTER_TRACK_UUIDS, j, &f);
	     j++) {
		assert_true(fake_field(m.data, m.len, PB_TRACK_EVENT_EXTRA_DOUBLE_COUNTER_VALUES, j,
				       &value));
		read_value((struct read_value){.uuid = f.u64,
					       .ns = ns,
					       .is_double = true,
					       .d = read_double(value.u64),
					       .packet = packet},
			   true);
	}
	assert_in_range(i + j, 0, 8); /* readers drop them all when there are more */
	assert_int_equal(fake_count(m.data, m.len, PB_TRACK_EVENT_EXTRA_COUNTER_VALUES), i);
	assert_int_equal(fake_count(m.data, m.len, PB_TRACK_EVENT_EXTRA_DOUBLE_COUNTER_VALUES), j);
}

static inline void read_packet(size_t i)
{
	struct pb_field p = fake_packet_field(i), f;
	uint64_t flags = read_sub(p, PB_TRACE_PACKET_SEQUENCE_FLAGS, &f) ? f.u64 : 0;

	if (flags & 1) {
		rd.states++;
		assert_true(fake_has(p, PB_TRACE_PACKET_TRACE_PACKET_DEFAULTS));
	}
	if (read_sub(p, PB_TRACE_PACKET_TRACK_DESCRIPTOR, &f))
		read_descriptor(f);
	if (!read_sub(p, PB_TRACE_PACKET_TRACK_EVENT, &f))
		return;
	assert_int_equal(flags, 2);
	read_event(f, fake_u64(p, PB_TRACE_PACKET_TIMESTAMP), i);
}

/* Reads the packets of a writer (from 0). Packets of other kinds are passed over. */
static inline __attribute__((unused)) void read_tracks_of(unsigned writer)
{
	rd.n_tracks = rd.n_values = 0;
	rd.states = 0;
	for (size_t i = 0; i < fake.n; i++)
		if (fake.packets[i].writer == writer)
			read_packet(i);
}

/* Reads all packets, as one sequence. */
static inline void read_tracks(void)
{
	rd.n_tracks = rd.n_values = 0;
	rd.states = 0;
	for (size_t i = 0; i < fake.n; i++)
		read_packet(i);
}

static inline bool read_path_is(const struct read_track *k, const char *path)
{
	size_t len = strlen(path), n = strlen(k->name);

	if (len < n || strcmp(path + len - n, k->name) != 0)
		return false;
	if (!k->parent)
		return len == n;
	if (len == n || path[len - n - 1] != '/')
		return false;
	{
		char rest[1024];

		snprintf(rest, sizeof(rest), "%.*s", (int)(len - n - 1), path);
		return read_path_is(read_by_uuid(k->parent), rest);
	}
}

/* NULL: there is none. */
static inline const struct read_track *read_find(const char *path)
{
	for (size_t i = 0; i < rd.n_tracks; i++)
		if (read_path_is(&rd.tracks[i], path))
			return &rd.tracks[i];
	return NULL;
}

/* So many values the counter got. */
static inline unsigned read_count(const char *path)
{
	const struct read_track *k = read_find(path);
	unsigned n = 0;

	for (size_t i = 0; k && i < rd.n_values; i++)
		n += rd.values[i].uuid == k->uuid;
	return n;
}

/* The n-th value (from 0) of a counter that must have it. */
static inline const struct read_value *read_nth(const char *path, unsigned n)
{
	const struct read_track *k = read_find(path);

	for (size_t i = 0; k && i < rd.n_values; i++)
		if (rd.values[i].uuid == k->uuid && n-- == 0)
			return &rd.values[i];
	print_error("no such value of %s\n", path);
	fail();
	return NULL;
}

static inline int64_t read_last(const char *path)
{
	return read_nth(path, read_count(path) - 1)->i;
}

static inline double read_last_double(const char *path)
{
	return read_nth(path, read_count(path) - 1)->d;
}
