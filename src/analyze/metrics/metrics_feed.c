/* SPDX-License-Identifier: Apache-2.0 */
/*
 *	descriptors of tracks --> place and meaning of each track
 *	values of tracks -------> series                              by the track's meaning
 *	rows of histograms -----> series
 *	control groups ---------> labels of subjects
 *
 * A track whose subject has no series of its own yet keeps its last value, and gets the series when
 * the subject is chosen.
 */
#include "analyze/metrics/metrics_feed.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/metrics/metrics_counters.h"
#include "analyze/metrics/metrics_processes.h"
#include "analyze/packets.h"
#include "base/core/mem.h"
#include "base/text/str.h"
#include "gen/fields.h"

#define TRACKS_MAX (1u << 18)
#define GROUP_IDS_MAX METRICS_SUBJECTS_MAX
#define NAME_SIZE 256
#define FAILURES_MAX 4096 /* bytes */
#define COST_MAX 1e6 /* percent of a CPU */

/* A value of a track. whole: as an integer, since a double is not exact above 2^53; 0 if negative
 * or too large. */
struct track_number {
	uint64_t whole;
	double real;
};

struct metrics_track {
	UT_hash_handle hh; /* by uuid */
	uint64_t uuid;
	uint32_t sequence;
	enum counter_place place; /* of the tracks below it */
	struct metrics_subject *subject; /* of PLACE_CGROUP; NULL: none */
	char *device; /* owned: of PLACE_DISK */
	struct counter_meaning meaning; /* EFFECT_NONE: no counter of interest */
	bool has_last;
	struct track_number last;
	int32_t tid; /* of PLACE_THREAD */
	uint64_t slice_begin_ns; /* of PLACE_THREAD: a wait that has not ended */
	struct metrics_series *series; /* valid in this generation of the table */
	uint64_t generation;
};

/* The id of a control group in rows. */
struct group_id {
	UT_hash_handle hh; /* by id */
	uint64_t id;
	struct metrics_subject *subject;
};

struct metrics_feed {
	struct metrics_setup setup;
	struct metrics_table *table; /* borrowed */
	struct metrics_track *tracks; /* owned */
	struct group_id *groups; /* owned */
	struct metrics_processes *processes; /* owned */
	uint64_t now_ns; /* the newest time of a packet, CLOCK_BOOTTIME */
	uint64_t period_ns,
		chosen_ns; /* at the end of the last period, and when subjects were chosen */
	int64_t realtime_offset_ns;
	uint64_t members_lost; /* as of the last packet */
	uint64_t major_faults; /* to be subtracted from page faults */
	struct strbuf failures;
};

int metrics_feed_new(const struct metrics_setup *setup, struct metrics_table *t,
		     struct metrics_feed **ret)
{
	struct metrics_feed *f = calloc(1, sizeof(*f));

	if (!f)
		return -ENOMEM;
	f->setup = *setup;
	f->table = t;
	f->processes = metrics_processes_new();
	if (!f->processes) {
		free(f);
		return -ENOMEM;
	}
	*ret = f;
	return 0;
}

static void metrics_track_free(struct metrics_feed *f, struct metrics_track *t)
{
	HASH_DEL(f->tracks, t);
	free(t->device);
	free(t);
}

static void metrics_feed_free_tracks(struct metrics_feed *f)
{
	while (f->tracks)
		metrics_track_free(f, f->tracks);
	HASH_FREE(f->groups);
}

void metrics_feed_free(struct metrics_feed *f)
{
	if (!f)
		return;
	metrics_feed_free_tracks(f);
	metrics_processes_free(f->processes);
	strbuf_deinit(&f->failures);
	free(f);
}

/* Gauges of tracks that are added up begin at 0 again. */
void metrics_feed_begin_session(struct metrics_feed *f)
{
	struct metrics_series *s;

	metrics_feed_free_tracks(f);
	metrics_processes_clear(f->processes);
	TAILQ_FOREACH (s, &f->table->of[METRIC_RUNQ_WAITING], of_metric)
		s->gauge = 0;
	f->major_faults = f->members_lost = 0;
	f->period_ns = 0;
	strbuf_clear(&f->failures);
}

const char *metrics_feed_failures(const struct metrics_feed *f)
{
	return f->failures.s ? f->failures.s : "";
}

/* ---- values of tracks ---- */

static struct metrics_track *metrics_track_find(struct metrics_feed *f, uint64_t uuid)
{
	struct metrics_track *t;

	HASH_FIND(hh, f->tracks, &uuid, sizeof(uuid), t);
	return t;
}

static struct metrics_series *find_series_of_track(struct metrics_feed *f, struct metrics_track *t)
{
	const struct counter_meaning *m = &t->meaning;
	const char *first = t->device ? t->device : m->labels[0];

	return metrics_series_get(f->table, m->metric, t->subject, first, m->labels[1]);
}

/* Returns the series of a track, created if needed, or NULL. Remembers it in the track. */
static struct metrics_series *metrics_track_series(struct metrics_feed *f, struct metrics_track *t)
{
	if (t->series && t->generation == f->table->generation)
		return t->series;
	t->series = find_series_of_track(f, t);
	t->generation = f->table->generation;
	return t->series;
}

/* Adds page faults to a series of the minor ones: the kernel's number includes the major ones,
 * which are counted apart. */
static void add_faults(struct metrics_feed *f, struct metrics_series *s, enum counter_effect effect,
		       uint64_t growth)
{
	uint64_t major = effect == EFFECT_FAULTS ? MIN(f->major_faults, growth) : 0;

	if (effect == EFFECT_MAJOR_FAULTS)
		f->major_faults += growth;
	else
		f->major_faults -= major;
	s->total += growth - major;
}

/* Applies a value of a track to its series or, for CPU time, to its subject. Subjects that are not
 * chosen share a series, which gets the growth of totals but no gauges. */
static void metrics_track_apply(struct metrics_feed *f, struct metrics_track *t,
				struct track_number v)
{
	const struct counter_meaning *m = &t->meaning;
	struct track_number last = t->has_last ? t->last : (struct track_number){0};
	uint64_t growth = v.whole >= last.whole ? v.whole - last.whole : v.whole;
	bool is_own = !t->subject || t->subject->is_chosen;
	struct metrics_series *s;

	if (m->effect == EFFECT_CPU_TIME) {
		t->subject->cpu_ns = v.whole * m->factor;
		if (!t->has_last && !t->subject->cpu_before_ns)
			t->subject->cpu_before_ns = t->subject->cpu_ns;
		return;
	}
	s = metrics_track_series(f, t);
	if (!s)
		return;
	switch (m->effect) {
	case EFFECT_GROWTH:
		s->total += growth * m->factor;
		break;
	case EFFECT_TOTAL:
		/* How much of the first value is new is unknown. */
		if (is_own)
			s->total = v.whole * m->factor;
		else if (t->has_last)
			s->total += growth * m->factor;
		break;
	case EFFECT_GAUGE:
		if (is_own)
			s->gauge = v.real * m->factor;
		break;
	case EFFECT_GAUGE_SUM:
		s->gauge = fmax(s->gauge + v.real - last.real, 0);
		break;
	case EFFECT_FAULTS:
	case EFFECT_MAJOR_FAULTS:
		add_faults(f, s, m->effect, growth);
		break;
	case EFFECT_NONE:
	case EFFECT_CPU_TIME:
	case EFFECT_PERCENT:
		break;
	}
}

static void metrics_track_set(struct metrics_feed *f, uint64_t uuid, struct track_number v,
			      uint64_t at)
{
	struct metrics_track *t = metrics_track_find(f, uuid);

	if (!t || t->meaning.effect == EFFECT_NONE || !isfinite(v.real))
		return;
	if (t->subject)
		t->subject->seen_ns = MAX(t->subject->seen_ns, at);
	metrics_track_apply(f, t, v);
	t->last = v;
	t->has_last = true;
}

/* ---- slices: outliers of the waits ---- */

static void metrics_track_end_slice(struct metrics_feed *f, struct metrics_track *t, uint64_t at)
{
	uint64_t ns = t->slice_begin_ns && at > t->slice_begin_ns ? at - t->slice_begin_ns : 0;
	struct metrics_series *s = TAILQ_FIRST(&f->table->of[METRIC_RUNQ_LATENCY]);

	t->slice_begin_ns = 0;
	if (ns && s)
		s->histogram->exemplars[metrics_classic_bucket(ns)] = (struct metrics_exemplar){
			.ns = ns,
			.at_ms = (uint64_t)((int64_t)at + f->realtime_offset_ns) / 1000000,
			.tid = t->tid,
		};
}

static void metrics_feed_read_slice(struct metrics_feed *f, const struct pb_field *event,
				    uint64_t type, uint64_t uuid, uint64_t at)
{
	struct metrics_track *t = metrics_track_find(f, uuid);
	struct pb_field name = pb_inner_field(event, PB_TRACK_EVENT_NAME);

	if (!t || t->place != PLACE_THREAD)
		return;
	if (type == 1) /* TYPE_SLICE_BEGIN */
		t->slice_begin_ns = pb_field_is(&name, "runq wait") ? at : 0;
	else if (type == 2)
		metrics_track_end_slice(f, t, at);
}

static struct track_number read_track_number(const struct pb_field *f, bool is_double)
{
	struct track_number v = {.whole = (int64_t)f->u64 > 0 ? f->u64 : 0,
				 .real = (double)(int64_t)f->u64};

	if (!is_double)
		return v;
	memcpy(&v.real, &f->u64, sizeof(v.real));
	v.whole = v.real > 0 && v.real < 9e18 ? (uint64_t)v.real : 0;
	return v;
}

/* Reads the extra values of a track event. They are two lists of fields in the same order, tracks
 * and values, which our sources do not pack. */
static void read_extra_values(struct metrics_feed *f, const struct packet *p, uint32_t tracks_field,
			      uint32_t values_field)
{
	struct pb_dec of_tracks = pb_dec_of(&p->payload), of_values = of_tracks;
	struct pb_field track, value;

	while (pb_dec_next(&of_tracks, &track)) {
		if (track.id != tracks_field || track.data)
			continue;
		do {
			if (!pb_dec_next(&of_values, &value))
				return;
		} while (value.id != values_field || value.data);
		metrics_track_set(
			f, track.u64,
			read_track_number(
				&value, values_field == PB_TRACK_EVENT_EXTRA_DOUBLE_COUNTER_VALUES),
			p->timestamp);
	}
}

static void metrics_feed_read_event(struct metrics_feed *f, const struct packet *p)
{
	struct pb_field value = {0}, more = {0}, doubles = {0};
	uint64_t uuid = 0, type = 0;

	if (!pb_read(&p->payload, PB_TO(PB_TRACK_EVENT_TRACK_UUID, &uuid),
		     PB_TO(PB_TRACK_EVENT_TYPE, &type),
		     PB_TO_ANY(PB_TRACK_EVENT_COUNTER_VALUE, &value),
		     PB_TO_ANY(PB_TRACK_EVENT_DOUBLE_COUNTER_VALUE, &value),
		     PB_TO_ANY(PB_TRACK_EVENT_EXTRA_COUNTER_VALUES, &more),
		     PB_TO_ANY(PB_TRACK_EVENT_EXTRA_DOUBLE_COUNTER_VALUES, &doubles)))
		return;
	if (type == 1 || type == 2) {
		metrics_feed_read_slice(f, &p->payload, type, uuid, p->timestamp);
		return;
	}
	if (value.id && !value.data)
		metrics_track_set(
			f, uuid,
			read_track_number(&value, value.id == PB_TRACK_EVENT_DOUBLE_COUNTER_VALUE),
			p->timestamp);
	if (more.id)
		read_extra_values(f, p, PB_TRACK_EVENT_EXTRA_COUNTER_TRACK_UUIDS,
				  PB_TRACK_EVENT_EXTRA_COUNTER_VALUES);
	if (doubles.id)
		read_extra_values(f, p, PB_TRACK_EVENT_EXTRA_DOUBLE_COUNTER_TRACK_UUIDS,
				  PB_TRACK_EVENT_EXTRA_DOUBLE_COUNTER_VALUES);
}

/* ---- descriptions of tracks ---- */

struct metrics_description {
	uint64_t uuid, parent;
	char name[NAME_SIZE];
	bool is_counter, is_thread;
	int32_t tid;
};

static bool read_track(const struct pb_field *message, struct metrics_description *d)
{
	*d = (struct metrics_description){0};
	pb_for_each (x, message) {
		if (x.id == PB_TRACK_DESCRIPTOR_UUID) {
			d->uuid = x.u64;
		} else if (x.id == PB_TRACK_DESCRIPTOR_PARENT_UUID) {
			d->parent = x.u64;
		} else if (x.id == PB_TRACK_DESCRIPTOR_NAME && x.data) {
			packet_copy_text(&x, d->name, sizeof(d->name));
		} else if (x.id == PB_TRACK_DESCRIPTOR_COUNTER && x.data) {
			d->is_counter = true;
		} else if (x.id == PB_TRACK_DESCRIPTOR_THREAD && x.data) {
			uint64_t tid = 0;

			pb_read(&x, PB_TO(PB_THREAD_DESCRIPTOR_TID, &tid));
			d->is_thread = tid > 0 && tid <= INT32_MAX;
			d->tid = d->is_thread ? (int32_t)tid : 0;
		}
	}
	return d->uuid != 0;
}

static struct metrics_track *metrics_track_get(struct metrics_feed *f, uint64_t uuid)
{
	struct metrics_track *t = metrics_track_find(f, uuid);

	if (t || HASH_COUNT(f->tracks) >= TRACKS_MAX)
		return t;
	t = calloc(1, sizeof(*t));
	if (!t)
		return NULL;
	t->uuid = uuid;
	HASH_ADD(hh, f->tracks, uuid, sizeof(t->uuid), t);
	if (!t->hh.tbl)
		free(TAKE_PTR(t));
	return t;
}

static struct metrics_subject *make_subject_below(struct metrics_feed *f,
						  const struct metrics_track *parent,
						  const char *name)
{
	_cleanup_(strbuf_deinit) struct strbuf path = {0};
	const char *above = parent && parent->subject ? parent->subject->path : NULL;

	strbuf_printf(&path, "%s/%s", above && strcmp(above, "/") != 0 ? above : "", name);
	return path.failed ? NULL : metrics_subject_get(f->table, path.s, f->now_ns);
}

static void describe_group(struct metrics_feed *f, struct metrics_track *t,
			   const struct metrics_track *parent, const struct metrics_description *d)
{
	if (!parent && !strcmp(d->name, "eBPF counters")) {
		t->place = PLACE_EBPF;
	} else if (!parent && !strcmp(d->name, "cgroups")) {
		t->place = PLACE_CGROUP;
		t->subject = make_subject_below(f, NULL, "");
	} else if (parent) {
		t->place = counter_find_place(parent->place, d->name);
		if (t->place == PLACE_CGROUP)
			t->subject = make_subject_below(f, parent, d->name);
		if (t->place == PLACE_CGROUP && !t->subject)
			t->place = PLACE_NONE;
		if (t->place == PLACE_DISK && !t->device)
			t->device = strdup(d->name);
	}
	if (t->subject)
		t->subject->seen_ns = MAX(t->subject->seen_ns, f->now_ns);
}

static void describe_counter(struct metrics_feed *f, struct metrics_track *t,
			     const struct metrics_track *parent, const char *name)
{
	if (!parent || t->meaning.effect != EFFECT_NONE)
		return;
	t->meaning = counter_find_meaning(parent->place, name);
	t->subject = parent->place == PLACE_CGROUP ? parent->subject : NULL;
	if (parent->place == PLACE_CGROUP && !t->subject)
		t->meaning.effect = EFFECT_NONE;
	if (parent->device && !t->device)
		t->device = strdup(parent->device);
}

static void metrics_feed_read_track(struct metrics_feed *f, const struct packet *p)
{
	const struct metrics_track *parent;
	struct metrics_description d;
	struct metrics_track *t;

	if (!read_track(&p->payload, &d))
		return;
	parent = d.parent ? metrics_track_find(f, d.parent) : NULL;
	t = d.parent && !parent ? NULL : metrics_track_get(f, d.uuid);
	if (!t)
		return;
	/* A producer that was restarted counts from 0 again. */
	if (t->sequence != p->sequence && t->meaning.effect != EFFECT_TOTAL &&
	    t->meaning.effect != EFFECT_GAUGE_SUM && t->meaning.effect != EFFECT_GAUGE)
		t->has_last = false;
	t->sequence = p->sequence;
	if (d.is_thread) {
		t->place = PLACE_THREAD;
		t->tid = d.tid;
	} else if (d.is_counter) {
		describe_counter(f, t, parent, d.name);
	} else {
		describe_group(f, t, parent, &d);
	}
}

/* ---- histograms ---- */

/* Returns the middle of a bucket. Bucket 32 * e + k begins at (32 + k) * 2^(e - 1) ns
 * (EbpfHistogramRows). */
static uint64_t bucket_middle_ns(uint64_t bucket)
{
	uint64_t octave = bucket >> 5, begin, width;

	if (!octave)
		return bucket;
	width = 1ull << (octave - 1);
	begin = ((bucket & 31) + 32) << (octave - 1);
	return begin + (width - 1) / 2;
}

static void metrics_feed_read_histogram(struct metrics_feed *f, const struct packet *p)
{
	struct pb_field family = {0}, device = {0}, operation = {0}, rows = {0};
	char first[COUNTER_LABEL_SIZE], second[COUNTER_LABEL_SIZE];
	uint64_t sum = 0, bucket, n;
	struct metrics_series *s;
	struct pb_packed packed;

	if (!pb_read(&p->payload, PB_TO(PB_EBPF_HISTOGRAM_ROWS_FAMILY, &family),
		     PB_TO(PB_EBPF_HISTOGRAM_ROWS_DEVICE, &device),
		     PB_TO(PB_EBPF_HISTOGRAM_ROWS_OPERATION, &operation),
		     PB_TO(PB_EBPF_HISTOGRAM_ROWS_SUM_NS, &sum),
		     PB_TO(PB_EBPF_HISTOGRAM_ROWS_ROWS, &rows)))
		return;
	packet_copy_text(&device, first, sizeof(first));
	packet_copy_text(&operation, second, sizeof(second));
	if (pb_field_is(&family, "runq"))
		s = metrics_series_get(f->table, METRIC_RUNQ_LATENCY, NULL, NULL, NULL);
	else if (pb_field_is(&family, "block"))
		s = metrics_series_get(f->table, METRIC_BLOCK_LATENCY, NULL, first, second);
	else
		return;
	if (!s)
		return;
	s->histogram->sum_ns += sum;
	packed = pb_packed_of(&rows);
	while (pb_packed_next(&packed, &bucket) && pb_packed_next(&packed, &n))
		if (bucket < 1024)
			metrics_histogram_add(s->histogram, bucket_middle_ns(bucket), n);
}

/* ---- waits by control group ---- */

static const char *const causes[] = {"other", "same", "kernel", "idle"};
#define CAUSE_QUOTA 4

/* Returns the middle of a bucket of CgroupWaits, in ns. Bucket 0 is below 1024 ns; 1 + 4 * e + k
 * begins at (4 + k) * 2^(8 + e) ns. */
static uint64_t middle_of_wait_bucket(uint64_t bucket)
{
	uint64_t e = (bucket - 1) / 4, k = (bucket - 1) % 4;

	return bucket ? ((4 + k) << (8 + e)) + (1ull << (7 + e)) : 512;
}

struct wait_row {
	uint64_t group, cause, total, longest, pairs;
};

/* Returns the subject of a control group; for an unknown one a subject that is never chosen. */
static struct metrics_subject *get_subject_of_group(struct metrics_feed *f, uint64_t id)
{
	struct group_id *g;

	HASH_FIND(hh, f->groups, &id, sizeof(id), g);
	return g ? g->subject : metrics_subject_get(f->table, "", f->now_ns);
}

static void add_waits(struct metrics_feed *f, const struct wait_row *row, struct pb_packed *rows)
{
	struct metrics_subject *subject = get_subject_of_group(f, row->group);
	struct metrics_series *s = NULL;
	uint64_t bucket, n, waits = 0;

	if (row->cause == CAUSE_QUOTA)
		s = metrics_series_get(f->table, METRIC_RUNQ_THROTTLED, NULL, NULL, NULL);
	else if (subject && row->cause < ARRAY_SIZE(causes))
		s = metrics_series_get(f->table, METRIC_SUBJECT_RUNQ, subject, NULL, NULL);
	for (uint64_t i = 0; i < row->pairs; i++) {
		if (!pb_packed_next(rows, &bucket) || !pb_packed_next(rows, &n))
			return;
		waits += n;
		if (s && bucket < 96)
			metrics_histogram_add(s->histogram, middle_of_wait_bucket(bucket), n);
	}
	if (!s)
		return;
	s->histogram->sum_ns += row->total;
	if (row->cause == CAUSE_QUOTA)
		return;
	metrics_increase_counter(f->table, METRIC_SUBJECT_PREEMPTIONS, subject, causes[row->cause],
				 waits);
	metrics_increase_counter(f->table, METRIC_SUBJECT_PREEMPTED_TIME, subject,
				 causes[row->cause], row->total);
}

static void metrics_feed_read_waits(struct metrics_feed *f, const struct packet *p)
{
	struct pb_field rows = {0};
	struct pb_packed packed;
	struct wait_row row;

	if (!pb_read(&p->payload, PB_TO(PB_CGROUP_WAITS_ROWS, &rows)))
		return;
	packed = pb_packed_of(&rows);
	while (pb_packed_next(&packed, &row.group) && pb_packed_next(&packed, &row.cause) &&
	       pb_packed_next(&packed, &row.total) && pb_packed_next(&packed, &row.longest) &&
	       pb_packed_next(&packed, &row.pairs))
		add_waits(f, &row, &packed);
}

/* ---- counters of processes ---- */

static void add_growth_of_process(void *ctx, enum metrics_process_family family, uint64_t group,
				  const uint64_t growth[static METRICS_PROCESS_COLUMNS])
{
	static const char *const states[] = {NULL, "runnable", "sleeping", "blocked", "other"};
	static const enum metric_id calls[] = {METRIC_SUBJECT_SYSCALLS, METRIC_SUBJECT_SYSCALL_TIME,
					       METRIC_SUBJECT_SYSCALL_ERRORS};
	struct metrics_feed *f = ctx;
	struct metrics_subject *subject = get_subject_of_group(f, group);

	for (size_t i = 1; subject && family == PROCESS_CPU_TIME && i < ARRAY_SIZE(states); i++)
		if (growth[i])
			metrics_increase_counter(f->table, METRIC_SUBJECT_OFF_CPU, subject,
						 states[i], growth[i]);
	for (size_t i = 0; subject && family == PROCESS_SYSCALLS && i < ARRAY_SIZE(calls); i++)
		if (growth[i])
			metrics_increase_counter(f->table, calls[i], subject, NULL, growth[i]);
}

static void metrics_feed_read_rows(struct metrics_feed *f, const struct packet *p)
{
	metrics_processes_read_rows(f->processes, &p->payload, p->timestamp, add_growth_of_process,
				    f);
}

static void metrics_feed_read_members(struct metrics_feed *f, const struct packet *p)
{
	uint64_t lost = 0;

	metrics_processes_read_members(f->processes, &p->payload, p->timestamp);
	if (!pb_read(&p->payload, PB_TO(PB_CGROUP_MEMBERS_LOST, &lost)) || lost <= f->members_lost)
		return;
	metrics_increase_counter(f->table, METRIC_LOST, NULL, "members of control groups",
				 lost - f->members_lost);
	f->members_lost = lost;
}

/* ---- control groups ---- */

static void set_subject_facts(struct metrics_subject *s, const struct pb_field *group)
{
	static const struct {
		uint32_t field;
		const char *label;
	} facts[] = {
		{PB_CGROUP_TREE_GROUP_NAME, "name"},
		{PB_CGROUP_TREE_GROUP_IMAGE, "image"},
		{PB_CGROUP_TREE_GROUP_NAMESPACE, "namespace"},
		{PB_CGROUP_TREE_GROUP_POD, "pod"},
		{PB_CGROUP_TREE_GROUP_CONTAINER, "container"},
		{PB_CGROUP_TREE_GROUP_UNIT, "unit"},
	};
	struct strbuf b = {0};
	char text[NAME_SIZE];

	for (size_t i = 0; i < ARRAY_SIZE(facts); i++) {
		struct pb_field f = pb_inner_field(group, facts[i].field);

		packet_copy_text(&f, text, sizeof(text));
		metrics_put_label(&b, facts[i].label, text);
	}
	free(s->facts);
	s->facts = strbuf_take(&b);
}

static void read_group(struct metrics_feed *f, const struct pb_field *group, uint64_t at)
{
	struct pb_field path = {0};
	struct metrics_subject *s;
	char text[4096];
	struct group_id *g;
	uint64_t id = 0;

	if (!pb_read(group, PB_TO(PB_CGROUP_TREE_GROUP_ID, &id),
		     PB_TO(PB_CGROUP_TREE_GROUP_PATH, &path)))
		return;
	packet_copy_text(&path, text, sizeof(text));
	s = id && text[0] == '/' ? metrics_subject_get(f->table, text, at) : NULL;
	if (!s)
		return;
	s->seen_ns = MAX(s->seen_ns, at);
	set_subject_facts(s, group);
	HASH_FIND(hh, f->groups, &id, sizeof(id), g);
	if (!g && HASH_COUNT(f->groups) < GROUP_IDS_MAX) {
		g = calloc(1, sizeof(*g));
		if (!g)
			return;
		g->id = id;
		HASH_ADD(hh, f->groups, id, sizeof(g->id), g);
		if (!g->hh.tbl)
			free(TAKE_PTR(g));
	}
	if (g)
		g->subject = s;
}

static void metrics_feed_read_tree(struct metrics_feed *f, const struct packet *p)
{
	pb_for_each (x, &p->payload)
		if (x.id == PB_CGROUP_TREE_GROUPS && x.data)
			read_group(f, &x, p->timestamp);
}

/* ---- packets ---- */

static void read_failure(struct metrics_feed *f, const struct pb_field *message)
{
	struct pb_field what = {0}, reason = {0}, count = {0};
	char text[2][NAME_SIZE];
	struct strbuf line = {0};

	pb_read(message, PB_TO(PB_EBPF_COUNTERS_STATS_FAILURE_WHAT, &what),
		PB_TO(PB_EBPF_COUNTERS_STATS_FAILURE_REASON, &reason),
		PB_TO_ANY(PB_EBPF_COUNTERS_STATS_FAILURE_COUNT, &count));
	if (count.id || !what.data || !reason.data || f->failures.len > FAILURES_MAX)
		return;
	packet_copy_text(&what, text[0], NAME_SIZE);
	packet_copy_text(&reason, text[1], NAME_SIZE);
	strbuf_printf(&line, "%s: %s\n", text[0], text[1]);
	/* Failures are written again when the state was cleared. */
	if (line.s && (!f->failures.s || !strstr(f->failures.s, line.s)))
		strbuf_puts(&f->failures, line.s);
	strbuf_deinit(&line);
}

static void metrics_feed_read_failures(struct metrics_feed *f, const struct packet *p)
{
	pb_for_each (x, &p->payload)
		if (x.id == PB_EBPF_COUNTERS_STATS_FAILURES && x.data)
			read_failure(f, &x);
}

static void metrics_feed_read_uuid(struct metrics_feed *f, const struct packet *p)
{
	uint64_t msb = 0, lsb = 0;

	if (pb_read(&p->payload, PB_TO(PB_TRACE_UUID_MSB, &msb), PB_TO(PB_TRACE_UUID_LSB, &lsb)))
		snprintf(f->table->trace_uuid, sizeof(f->table->trace_uuid),
			 "%08x-%04x-%04x-%04x-%012" PRIx64, (unsigned)(msb >> 32),
			 (unsigned)(msb >> 16 & 0xffff), (unsigned)(msb & 0xffff),
			 (unsigned)(lsb >> 48), (uint64_t)(lsb & 0xffffffffffffull));
}

static const struct {
	uint32_t field;
	void (*read)(struct metrics_feed *f, const struct packet *p);
} readers[] = {
	{PB_TRACE_PACKET_TRACK_EVENT, metrics_feed_read_event},
	{PB_TRACE_PACKET_TRACK_DESCRIPTOR, metrics_feed_read_track},
	{PB_TRACE_PACKET_EBPF_HISTOGRAM_ROWS, metrics_feed_read_histogram},
	{PB_TRACE_PACKET_CGROUP_WAITS, metrics_feed_read_waits},
	{PB_TRACE_PACKET_CGROUP_TREE, metrics_feed_read_tree},
	{PB_TRACE_PACKET_CGROUP_MEMBERS, metrics_feed_read_members},
	{PB_TRACE_PACKET_EBPF_PROCESS_ROWS, metrics_feed_read_rows},
	{PB_TRACE_PACKET_EBPF_COUNTERS_STATS, metrics_feed_read_failures},
	{PB_TRACE_PACKET_TRACE_UUID, metrics_feed_read_uuid},
};

static bool is_metrics_payload(uint32_t field)
{
	for (size_t i = 0; i < ARRAY_SIZE(readers); i++)
		if (readers[i].field == field)
			return true;
	return false;
}

void metrics_feed_add(struct metrics_feed *f, const uint8_t *data, size_t len)
{
	struct packet p;

	if (!packet_read(&p, data, len, is_metrics_payload)) {
		metrics_increase_counter(f->table, METRIC_LOST, NULL, "invalid packets", 1);
		return;
	}
	/* The first packet of a sequence may have the mark without a loss. */
	if (p.dropped && !p.first)
		metrics_increase_counter(f->table, METRIC_LOST, NULL, "packets",
					 MAX(p.n_dropped, 1u));
	/* Control groups of other machines may have the same names. */
	if (p.machine)
		return;
	f->now_ns = MAX(f->now_ns, p.timestamp);
	for (size_t i = 0; i < ARRAY_SIZE(readers); i++)
		if (readers[i].field == p.payload.id)
			readers[i].read(f, &p);
}

/* ---- the end of a period ---- */

/* Adds the time of eBPF programs since the last period. */
static void add_cost(struct metrics_feed *f, struct metrics_track *t, uint64_t ns)
{
	struct metrics_series *s = metrics_track_series(f, t);

	if (s && t->has_last)
		s->total += (uint64_t)(fmin(fmax(t->last.real, 0), COST_MAX) / 100 * (double)ns);
}

static bool metrics_subject_has_expired(const struct metrics_feed *f,
					const struct metrics_subject *s)
{
	return s->seen_ns + f->setup.gone_ns < f->now_ns;
}

static void remove_expired_subjects(struct metrics_feed *f)
{
	struct metrics_track *t, *next_track;
	struct group_id *g, *next_group;
	struct metrics_subject *s, *next;

	HASH_ITER (hh, f->tracks, t, next_track)
		if (t->subject && metrics_subject_has_expired(f, t->subject))
			metrics_track_free(f, t);
	HASH_ITER (hh, f->groups, g, next_group)
		if (metrics_subject_has_expired(f, g->subject)) {
			HASH_DEL(f->groups, g);
			free(g);
		}
	HASH_ITER (hh, f->table->subjects, s, next)
		if (metrics_subject_has_expired(f, s))
			metrics_subject_free(f->table, s);
}

static void choose_subjects(struct metrics_feed *f)
{
	struct metrics_subject *s, *next;

	HASH_ITER (hh, f->table->subjects, s, next)
		if (!s->is_chosen && *s->path && s->first_ns + f->setup.settle_ns <= f->now_ns)
			metrics_subject_choose(f->table, s);
	if (f->chosen_ns + f->setup.choose_ns > f->now_ns)
		return;
	f->chosen_ns = f->now_ns;
	metrics_subjects_choose(f->table);
}

/* Sets the series of subjects that were chosen just now; values of idle groups do not come
 * again. */
static void set_series_of_chosen_subjects(struct metrics_feed *f)
{
	struct metrics_track *t, *next;

	HASH_ITER (hh, f->tracks, t, next)
		if (t->subject && t->subject->is_chosen && t->has_last &&
		    t->generation != f->table->generation &&
		    (t->meaning.effect == EFFECT_TOTAL || t->meaning.effect == EFFECT_GAUGE))
			metrics_track_apply(f, t, t->last);
}

static bool is_gauge_of_other(const struct metrics_track *t)
{
	return t->subject && !t->subject->is_chosen && t->has_last &&
	       t->meaning.effect == EFFECT_GAUGE;
}

/* Sets the gauges with the label "other" to the sums over the subjects that are not chosen. */
static void sum_other_gauges(struct metrics_feed *f)
{
	struct metrics_track *t, *next;
	struct metrics_series *s;

	HASH_ITER (hh, f->tracks, t, next)
		if (is_gauge_of_other(t) && (s = metrics_track_series(f, t)))
			s->gauge = 0;
	HASH_ITER (hh, f->tracks, t, next)
		if (is_gauge_of_other(t) && (s = metrics_track_series(f, t)))
			s->gauge += t->last.real * t->meaning.factor;
}

void metrics_feed_end_period(struct metrics_feed *f, int64_t realtime_offset_ns)
{
	uint64_t ns = f->period_ns && f->now_ns > f->period_ns ? f->now_ns - f->period_ns : 0;
	uint64_t generation = f->table->generation;
	struct metrics_track *t, *next;

	f->realtime_offset_ns = realtime_offset_ns;
	f->period_ns = f->now_ns;
	HASH_ITER (hh, f->tracks, t, next)
		if (t->meaning.effect == EFFECT_PERCENT)
			add_cost(f, t, ns);
	remove_expired_subjects(f);
	choose_subjects(f);
	if (generation != f->table->generation)
		set_series_of_chosen_subjects(f);
	sum_other_gauges(f);
}
