/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counter tracks of linux.ebpf_counters and linux.process_stats. The name of a track determines
 * what it counts, and its parent determines the owner. Names in neither table belong to counters
 * that are not shown, or to groups of tracks.
 */
#include "analyze/live/live_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/mem.h"
#include "gen/fields.h"

static const struct {
	const char *name;
	enum live_metric metric;
	enum live_source source;
} counters[] = {
	{"CPU time", LIVE_CPU, LIVE_EBPF},
	{"off CPU: runnable", LIVE_RUNQ, LIVE_EBPF},
	{"off CPU: blocked", LIVE_BLOCKED, LIVE_EBPF},
	{"off CPU: sleeping", LIVE_SLEEP, LIVE_EBPF},
	{"syscalls", LIVE_SYSCALLS, LIVE_EBPF},
	{"syscall time", LIVE_SYSCALL_TIME, LIVE_EBPF},
	{"syscall errors", LIVE_SYSCALL_ERRORS, LIVE_EBPF},
	{"io.read_bytes", LIVE_READ, LIVE_PROCESS_TRACKS},
	{"io.write_bytes", LIVE_WRITTEN, LIVE_PROCESS_TRACKS},
	{"sched.run_ns", LIVE_CPU, LIVE_PROCESS_TRACKS},
	{"sched.wait_ns", LIVE_RUNQ, LIVE_PROCESS_TRACKS},
};

static const char *const cpu_counters[LIVE_CPU_METRICS] = {
	[LIVE_RUNQ_P99] = "runq latency p99", [LIVE_RUNQ_MAX] = "runq latency max",
	[LIVE_DEPTH] = "runq depth",	      [LIVE_DEPTH_MAX] = "runq depth max",
	[LIVE_SWITCHES] = "context switches",
};

static struct live_track *live_find_track(struct live *l, uint64_t uuid)
{
	struct live_track *t;

	HASH_FIND(hh, l->tracks, &uuid, sizeof(uuid), t);
	return t;
}

static struct live_track *get_track(struct live *l, uint64_t uuid)
{
	struct live_track *t = live_find_track(l, uuid);

	if (t || HASH_COUNT(l->tracks) >= LIVE_TRACKS_MAX)
		return t;
	t = calloc(1, sizeof(*t));
	if (!t)
		return NULL;
	t->uuid = uuid;
	HASH_ADD(hh, l->tracks, uuid, sizeof(t->uuid), t);
	if (!t->hh.tbl)
		free(TAKE_PTR(t));
	return t;
}

/* ---- descriptions ---- */

struct description {
	uint64_t uuid, parent;
	struct pb_field name, process_name; /* process_name: of a thread its own */
	int32_t pid, tid;
	bool is_process, is_thread;
};

static void read_track_owner(struct description *d, const struct pb_field *message,
			     uint32_t pid_field, uint32_t tid_field, uint32_t name_field)
{
	pb_for_each (f, message) {
		if (f.id == pid_field && f.u64 <= INT32_MAX)
			d->pid = (int32_t)f.u64;
		else if (f.id == tid_field && f.u64 <= INT32_MAX)
			d->tid = (int32_t)f.u64;
		else if (f.id == name_field && f.data)
			d->process_name = f;
	}
}

static void read_description(struct description *d, const struct pb_field *message)
{
	*d = (struct description){0};
	pb_for_each (f, message) {
		if (f.id == PB_TRACK_DESCRIPTOR_UUID) {
			d->uuid = f.u64;
		} else if (f.id == PB_TRACK_DESCRIPTOR_PARENT_UUID) {
			d->parent = f.u64;
		} else if (f.id == PB_TRACK_DESCRIPTOR_NAME && f.data) {
			d->name = f;
		} else if (f.id == PB_TRACK_DESCRIPTOR_PROCESS && f.data) {
			d->is_process = true;
			read_track_owner(d, &f, PB_PROCESS_DESCRIPTOR_PID, 0,
					 PB_PROCESS_DESCRIPTOR_PROCESS_NAME);
		} else if (f.id == PB_TRACK_DESCRIPTOR_THREAD && f.data) {
			d->is_thread = true;
			read_track_owner(d, &f, PB_THREAD_DESCRIPTOR_PID, PB_THREAD_DESCRIPTOR_TID,
					 PB_THREAD_DESCRIPTOR_THREAD_NAME);
		}
	}
}

/* Returns true for "CPU 3" and its number. */
static bool is_cpu(const struct pb_field *name, uint32_t *ret_cpu)
{
	uint32_t cpu = 0;

	if (!name->data || name->len < 5 || name->len > 9 || memcmp(name->data, "CPU ", 4) != 0)
		return false;
	for (size_t i = 4; i < name->len; i++) {
		if (name->data[i] < '0' || name->data[i] > '9')
			return false;
		cpu = cpu * 10 + (uint32_t)(name->data[i] - '0');
	}
	*ret_cpu = cpu;
	return cpu < LIVE_CPUS_MAX;
}

static void describe_counter_of_process(struct live_track *t, const struct pb_field *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(counters); i++) {
		if (!pb_field_is(name, counters[i].name))
			continue;
		t->kind = LIVE_TRACK_COUNTER;
		t->metric = counters[i].metric;
		t->source = counters[i].source;
	}
}

static void describe_counter_of_cpu(struct live_track *t, const struct pb_field *name)
{
	for (uint32_t i = 0; i < LIVE_CPU_METRICS; i++) {
		if (!pb_field_is(name, cpu_counters[i]))
			continue;
		t->kind = LIVE_TRACK_CPU_COUNTER;
		t->metric = i;
	}
}

static bool ends_with_lost(const struct pb_field *name)
{
	static const char end[] = " lost";

	return name->data && name->len > sizeof(end) &&
	       !memcmp(name->data + name->len - (sizeof(end) - 1), end, sizeof(end) - 1);
}

static void describe_named(struct live *l, struct live_track *t, const struct description *d)
{
	const struct live_track *parent = d->parent ? live_find_track(l, d->parent) : NULL;

	if (is_cpu(&d->name, &t->cpu)) {
		t->kind = LIVE_TRACK_CPU;
	} else if (parent &&
		   (parent->kind == LIVE_TRACK_PROCESS || parent->kind == LIVE_TRACK_THREAD)) {
		t->pid = parent->pid;
		describe_counter_of_process(t, &d->name);
	} else if (parent && parent->kind == LIVE_TRACK_CPU) {
		t->cpu = parent->cpu;
		describe_counter_of_cpu(t, &d->name);
	} else if (parent && parent->pid) {
		t->pid = parent->pid; /* below a group of the process: forgotten with it */
	} else if (ends_with_lost(&d->name)) {
		t->kind = LIVE_TRACK_LOST;
		snprintf(t->name, sizeof(t->name), "%.*s", (int)d->name.len, d->name.data);
		str_make_plain(t->name, strlen(t->name), "");
	}
}

void live_read_descriptor(struct live *l, const struct packet *p)
{
	struct live_entry *process;
	struct description d;
	struct live_track *t;
	bool by_thread;

	read_description(&d, &p->payload);
	by_thread = l->setup.by_thread && d.is_thread;
	t = d.uuid ? get_track(l, d.uuid) : NULL;
	if (!t)
		return;
	if (d.is_process || d.is_thread) {
		t->kind = d.is_process ? LIVE_TRACK_PROCESS : LIVE_TRACK_THREAD;
		t->pid = by_thread ? d.tid : d.pid;
	} else {
		describe_named(l, t, &d);
	}
	process = (d.is_process || by_thread) && t->pid > 0 ? live_find_or_add_process(l, t->pid)
							    : NULL;
	if (!process)
		return;
	if (by_thread)
		process->p.tgid = d.pid;
	live_set_last_seen(l, process, p->timestamp);
	if (!process->p.name[0] && d.process_name.data)
		live_set_name(process, d.process_name.data, d.process_name.len);
}

/* ---- values ---- */

/* Returns true if the counter began at 0 during the session: then all of its first value is growth.
 * Otherwise an unknown part of that value is older. */
static bool process_began_in_session(const struct live *l, const struct live_track *t,
				     const struct live_entry *p)
{
	if (t->source == LIVE_EBPF)
		return HASH_COUNT(l->processes) < l->setup.top_n || !l->screens;
	return p->start_ns ? p->start_ns >= l->setup.began_ns : l->screens > 0;
}

/* Adds what a counter of a process has grown by since its last value or, without one, since 0 if
 * the process began in the session. A lower value than before counts from 0, too. */
static void set_process_value(struct live *l, struct live_track *t, uint64_t v, uint64_t at)
{
	struct live_entry *p = live_find_or_add_process(l, t->pid);
	struct live_value *value;
	uint64_t since;

	if (!p)
		return;
	value = &p->p.values[t->metric];
	live_set_last_seen(l, p, at);
	p->source[t->metric] = t->source;
	l->counts_calls |= t->metric == LIVE_SYSCALLS;
	live_set_poll_time(l, t->source, at);
	since = live_growth_began(l, t->source, at);
	if (t->has_last)
		live_add_growth(value, v >= t->last ? v - t->last : v, at, since);
	else if (process_began_in_session(l, t, p))
		live_add_growth(value, v, at, since);
	else
		live_add_growth(value, 0, at, at);
}

static struct live_cpu *get_live_cpu(struct live *l, uint32_t cpu)
{
	size_t n = (size_t)cpu + 1;

	if (array_reserve(&l->cpus, &l->cpus_cap, n, sizeof(*l->cpus)) < 0)
		return NULL;
	if (n > l->n_cpus) {
		memset(l->cpus + l->n_cpus, 0, (n - l->n_cpus) * sizeof(*l->cpus));
		l->n_cpus = n;
	}
	l->cpus[cpu].is_seen = true;
	return &l->cpus[cpu];
}

static void set_cpu_value(struct live *l, struct live_track *t, double v, uint64_t at)
{
	struct live_cpu *c = get_live_cpu(l, t->cpu);
	uint64_t total = v > 0 ? (uint64_t)v : 0;

	if (!c)
		return;
	live_set_poll_time(l, LIVE_EBPF, at);
	c->gauges[t->metric] = v;
	if (t->metric == LIVE_SWITCHES)
		live_add_growth(&c->switches,
				t->has_last && total >= t->last ? total - t->last : total, at,
				l->before[LIVE_EBPF]);
}

static void live_tracks_set_value(struct live *l, uint64_t uuid, double v, uint64_t at)
{
	struct live_track *t = live_find_track(l, uuid);
	uint64_t whole = v > 0 ? (uint64_t)v : 0;

	/* Without a gap, all tracks have been described: the process of an unknown track has
	 * ended. */
	if (!t) {
		l->losses.unknown_values += l->losses.packets > 0;
		return;
	}
	if (t->kind == LIVE_TRACK_COUNTER)
		set_process_value(l, t, whole, at);
	else if (t->kind == LIVE_TRACK_CPU_COUNTER)
		set_cpu_value(l, t, v, at);
	t->last = whole;
	t->has_last = true;
}

static double live_tracks_to_double(const struct pb_field *f, bool is_double)
{
	double v;

	if (!is_double)
		return (double)(int64_t)f->u64;
	memcpy(&v, &f->u64, sizeof(v));
	return v;
}

static bool next_repeated_value(struct pb_dec *d, struct pb_packed *packed, uint32_t field,
				uint64_t *ret)
{
	struct pb_field f;

	while (!pb_packed_next(packed, ret)) {
		do {
			if (!pb_dec_next(d, &f))
				return false;
		} while (f.id != field);
		*packed = pb_packed_of(&f);
		if (!f.data && f.wire_type != 0) { /* a double */
			*ret = f.u64;
			*packed = (struct pb_packed){0};
			return true;
		}
	}
	return true;
}

/* Sets the values of tracks: the message lists the tracks and the values in the same order. */
static void read_track_value_pairs(struct live *l, const struct packet *p, uint32_t tracks_field,
				   uint32_t values_field, bool is_double)
{
	struct pb_dec of_tracks = pb_dec_of(&p->payload), of_values = of_tracks;
	struct pb_packed tracks = {0}, values = {0};
	struct pb_field value = {0};
	uint64_t uuid;

	while (next_repeated_value(&of_tracks, &tracks, tracks_field, &uuid) &&
	       next_repeated_value(&of_values, &values, values_field, &value.u64))
		live_tracks_set_value(l, uuid, live_tracks_to_double(&value, is_double),
				      p->timestamp);
}

void live_read_values(struct live *l, const struct packet *p)
{
	struct pb_field value = {0}, extra = {0}, doubles = {0};
	uint64_t uuid = 0;

	if (!pb_read(&p->payload, PB_TO(PB_TRACK_EVENT_TRACK_UUID, &uuid),
		     PB_TO_ANY(PB_TRACK_EVENT_COUNTER_VALUE, &value),
		     PB_TO_ANY(PB_TRACK_EVENT_DOUBLE_COUNTER_VALUE, &value),
		     PB_TO_ANY(PB_TRACK_EVENT_EXTRA_COUNTER_TRACK_UUIDS, &extra),
		     PB_TO_ANY(PB_TRACK_EVENT_EXTRA_DOUBLE_COUNTER_TRACK_UUIDS, &doubles))) {
		l->losses.bad_packets++;
		return;
	}
	if (value.id)
		live_tracks_set_value(
			l, uuid,
			live_tracks_to_double(&value,
					      value.id == PB_TRACK_EVENT_DOUBLE_COUNTER_VALUE),
			p->timestamp);
	if (extra.id)
		read_track_value_pairs(l, p, PB_TRACK_EVENT_EXTRA_COUNTER_TRACK_UUIDS,
				       PB_TRACK_EVENT_EXTRA_COUNTER_VALUES, false);
	if (doubles.id)
		read_track_value_pairs(l, p, PB_TRACK_EVENT_EXTRA_DOUBLE_COUNTER_TRACK_UUIDS,
				       PB_TRACK_EVENT_EXTRA_DOUBLE_COUNTER_VALUES, true);
}
