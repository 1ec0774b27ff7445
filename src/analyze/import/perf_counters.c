/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/import/perf_counters.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/import/profiler_rows.h"
#include "analyze/import/tracks.h"
#include "base/core/mem.h"
#include "gen/fields.h"

static const struct track_type perf_type = {
	"perf_cpu_counter",
	NULL,
	true,
	{{"cpu", false}, {"perf_session_id", false}, {"name", true}}};

/* ---- names ---- */

/* By PerfEvents.Counter. */
static const char *const counter_names[] = {
	"unknown",
	"cpu-clock",
	"page-faults",
	"task-clock",
	"context-switches",
	"cpu-migrations",
	"minor-faults",
	"major-faults",
	"alignment-faults",
	"emulation-faults",
	"cpu-cycles",
	"instructions",
	"cache-references",
	"cache-misses",
	"branch-instructions",
	"branch-misses",
	"bus-cycles",
	"stalled-cycles-frontend",
	"stalled-cycles-backend",
	"ref-cycles",
	[20] = "dummy",
};

/* A timebase and a follower have the same fields with different numbers. */
static const struct counter_fields {
	uint32_t name, counter, tracepoint, raw;
} timebase_fields = {PB_PERF_EVENTS_TIMEBASE_NAME, PB_PERF_EVENTS_TIMEBASE_COUNTER,
		     PB_PERF_EVENTS_TIMEBASE_TRACEPOINT, PB_PERF_EVENTS_TIMEBASE_RAW_EVENT},
  follower_fields = {PB_FOLLOWER_EVENT_NAME, PB_FOLLOWER_EVENT_COUNTER,
		     PB_FOLLOWER_EVENT_TRACEPOINT, PB_FOLLOWER_EVENT_RAW_EVENT};

static uint32_t tracepoint_name(struct import *im, const struct pb_field *tracepoint)
{
	uint32_t name = strings_intern_z(&im->store->strings, "");

	pb_for_each (f, tracepoint)
		if (f.id == PB_PERF_EVENTS_TRACEPOINT_NAME && f.data)
			name = strings_intern(&im->store->strings, f.data, f.len);
	return name;
}

static uint32_t name_of_raw_event(struct import *im, const struct pb_field *raw)
{
	unsigned long long v[PB_PERF_EVENTS_RAW_EVENT_CONFIG2 + 1] = {0};

	pb_for_each (f, raw)
		if (f.id < ARRAY_SIZE(v))
			v[f.id] = f.u64;
	return strings_intern_f(
		&im->store->strings, "raw.0x%llx.0x%llx.0x%llx.0x%llx",
		v[PB_PERF_EVENTS_RAW_EVENT_TYPE], v[PB_PERF_EVENTS_RAW_EVENT_CONFIG],
		v[PB_PERF_EVENTS_RAW_EVENT_CONFIG1], v[PB_PERF_EVENTS_RAW_EVENT_CONFIG2]);
}

/* Returns the counter's own name, or else that of its event. */
static uint32_t counter_name(struct import *im, const struct pb_field *message,
			     const struct counter_fields *fields)
{
	struct strings *s = &im->store->strings;
	uint32_t event = strings_intern_z(s, counter_names[0]);

	pb_for_each (f, message) {
		if (f.id == fields->name && f.data)
			return strings_intern(s, f.data, f.len);
		if (f.id == fields->counter)
			event = strings_intern_z(s, f.u64 < ARRAY_SIZE(counter_names) &&
								    counter_names[f.u64]
							    ? counter_names[f.u64]
							    : counter_names[0]);
		else if (f.id == fields->tracepoint && f.data)
			event = tracepoint_name(im, &f);
		else if (f.id == fields->raw && f.data)
			event = name_of_raw_event(im, &f);
	}
	return event;
}

/* ---- streams ---- */

static void add_perf_track(struct import *im, struct machine *m, struct perf_stream *s,
			   uint32_t name)
{
	const int64_t values[] = {(int64_t)s->key[2], s->session, name};
	uint32_t track = tracks_get(im, m, &perf_type, name, values);
	struct table *t = import_table(im, TABLE_TRACK);

	if (table_u32(t, TRACK_SOURCE_ARGS, track) == NULL_U32) {
		arg_builder_add_int(im->store, &im->args, "is_timebase", ARG_BOOL, !s->n_tracks);
		table_set_u32(t, TRACK_SOURCE_ARGS, track, arg_sets_add(im->store, &im->args));
	}
	s->tracks[s->n_tracks++] = track;
}

static void read_perf_defaults(struct import *im, struct machine *m, struct perf_stream *s,
			       const struct pb_field *defaults)
{
	uint32_t name =
		strings_intern_z(&im->store->strings, counter_names[defaults->data ? 0 : 1]);
	struct pb_field timebase = {0};
	uint64_t shards = 0, shard = 0;

	pb_read(defaults, PB_TO(PB_PERF_SAMPLE_DEFAULTS_TIMEBASE, &timebase),
		PB_TO(PB_PERF_SAMPLE_DEFAULTS_PROCESS_SHARD_COUNT, &shards),
		PB_TO(PB_PERF_SAMPLE_DEFAULTS_CHOSEN_PROCESS_SHARD, &shard));
	if (timebase.id)
		name = counter_name(im, &timebase, &timebase_fields);
	if (shards) {
		stats_set(im->store, STAT_PERF_PROCESS_SHARD_COUNT, s->session, (int64_t)shards);
		stats_set(im->store, STAT_PERF_CHOSEN_PROCESS_SHARD, s->session, (int64_t)shard);
	}
	add_perf_track(im, m, s, name);
	pb_for_each (f, defaults)
		if (f.id == PB_PERF_SAMPLE_DEFAULTS_FOLLOWERS && f.data &&
		    s->n_tracks < ARRAY_SIZE(s->tracks))
			add_perf_track(im, m, s, counter_name(im, &f, &follower_fields));
}

const struct perf_stream *perf_stream_get(struct import *im, struct machine *m, uint32_t state,
					  uint32_t sequence, uint32_t cpu)
{
	const uint64_t key[] = {m->row, sequence, cpu};
	struct perf_stream *s;

	HASH_FIND(hh, im->perf_streams, key, sizeof(key), s);
	if (s)
		return s;
	s = budget_alloc(&im->store->budget, sizeof(*s));
	if (!s)
		return NULL;
	memcpy(s->key, key, sizeof(key));
	s->session =
		profiler_get_session(im, m, REMEMBER_PERF_SESSION, sequence,
				     strings_intern_z(&im->store->strings, PROFILER_LINUX_PERF));
	read_perf_defaults(im, m, s, &sequences_state(&m->sequences, state)->perf_defaults);
	return BUDGET_HASH_ADD(&im->store->budget, im->perf_streams, key, s);
}

uint32_t perf_stream_add_values(struct import *im, const struct perf_stream *s, int64_t ts,
				const struct pb_field *sample)
{
	uint32_t set = NULL_U32;
	uint64_t timebase = 0;
	size_t n = 1;

	pb_read(sample, PB_TO(PB_PERF_SAMPLE_TIMEBASE_COUNT, &timebase));
	profiler_add_value(im, ts, s->tracks[0], (double)timebase, &set);
	pb_for_each (f, sample)
		if (f.id == PB_PERF_SAMPLE_FOLLOWER_COUNTS && n < s->n_tracks)
			profiler_add_value(im, ts, s->tracks[n++], (double)f.u64, &set);
	return set;
}

void perf_streams_deinit(struct import *im)
{
	HASH_FREE(im->perf_streams);
}
