/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/metrics/metrics_counters.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/core/mem.h"
#include "base/text/str.h"

/* A counter with a fixed name. */
struct fixed_counter {
	const char *name;
	enum metric_id metric;
	enum counter_effect effect;
	uint32_t factor;
	const char *label; /* NULL: none */
};

static const struct fixed_counter of_ebpf[] = {
	{"page faults", METRIC_PAGE_FAULTS, EFFECT_FAULTS, 1, "minor"},
	{"major page faults", METRIC_PAGE_FAULTS, EFFECT_MAJOR_FAULTS, 1, "major"},
	{.name = NULL},
};

static const struct fixed_counter of_cpu[] = {
	{"context switches", METRIC_CONTEXT_SWITCHES, EFFECT_GROWTH, 1, NULL},
	{"migrations", METRIC_MIGRATIONS, EFFECT_GROWTH, 1, NULL},
	{"runq depth", METRIC_RUNQ_WAITING, EFFECT_GAUGE_SUM, 1, NULL},
	{"hardirq time", METRIC_HARDIRQ_TIME, EFFECT_GROWTH, 1, NULL},
	{"hardirqs", METRIC_HARDIRQS, EFFECT_GROWTH, 1, NULL},
	{"timer interrupt time", METRIC_TIMER_TIME, EFFECT_GROWTH, 1, NULL},
	{.name = NULL},
};

static const struct fixed_counter of_disk[] = {
	{"read", METRIC_BLOCK_BYTES, EFFECT_GROWTH, 1, "read"},
	{"write", METRIC_BLOCK_BYTES, EFFECT_GROWTH, 1, "write"},
	{"discard", METRIC_BLOCK_BYTES, EFFECT_GROWTH, 1, "discard"},
	{"read requests", METRIC_BLOCK_REQUESTS, EFFECT_GROWTH, 1, "read"},
	{"write requests", METRIC_BLOCK_REQUESTS, EFFECT_GROWTH, 1, "write"},
	{"discard requests", METRIC_BLOCK_REQUESTS, EFFECT_GROWTH, 1, "discard"},
	{"flush requests", METRIC_BLOCK_REQUESTS, EFFECT_GROWTH, 1, "flush"},
	{"in flight", METRIC_BLOCK_IN_FLIGHT, EFFECT_GAUGE, 1, NULL},
	{.name = NULL},
};

static const struct fixed_counter of_network[] = {
	{"TCP retransmits", METRIC_TCP_RETRANSMITS, EFFECT_GROWTH, 1, NULL},
	{"TCP resets sent", METRIC_TCP_RESETS, EFFECT_GROWTH, 1, "sent"},
	{"TCP resets received", METRIC_TCP_RESETS, EFFECT_GROWTH, 1, "received"},
	{.name = NULL},
};

static const struct fixed_counter of_memory[] = {
	{"direct reclaim time", METRIC_STALL_TIME, EFFECT_GROWTH, 1, "direct_reclaim"},
	{"direct reclaims", METRIC_STALLS, EFFECT_GROWTH, 1, "direct_reclaim"},
	{"control group reclaim time", METRIC_STALL_TIME, EFFECT_GROWTH, 1, "cgroup_reclaim"},
	{"control group reclaims", METRIC_STALLS, EFFECT_GROWTH, 1, "cgroup_reclaim"},
	{"compaction time", METRIC_STALL_TIME, EFFECT_GROWTH, 1, "compaction"},
	{"compactions", METRIC_STALLS, EFFECT_GROWTH, 1, "compaction"},
	{"background compaction time", METRIC_STALL_TIME, EFFECT_GROWTH, 1, "background"},
	{"background compactions", METRIC_STALLS, EFFECT_GROWTH, 1, "background"},
	{"OOM kills", METRIC_OOM_KILLS, EFFECT_GROWTH, 1, NULL},
	{.name = NULL},
};

/* Files of control groups have microseconds. */
static const struct fixed_counter of_cgroup[] = {
	{"cpu.stat usage_usec", METRIC_SUBJECT_CPU, EFFECT_CPU_TIME, 1000, NULL},
	{"cpu.stat user_usec", METRIC_SUBJECT_CPU, EFFECT_TOTAL, 1000, "user"},
	{"cpu.stat system_usec", METRIC_SUBJECT_CPU, EFFECT_TOTAL, 1000, "system"},
	{"cpu.stat nr_periods", METRIC_SUBJECT_PERIODS, EFFECT_TOTAL, 1, NULL},
	{"cpu.stat nr_throttled", METRIC_SUBJECT_THROTTLED, EFFECT_TOTAL, 1, NULL},
	{"cpu.stat throttled_usec", METRIC_SUBJECT_THROTTLED_TIME, EFFECT_TOTAL, 1000, NULL},
	{"memory.current", METRIC_SUBJECT_MEMORY, EFFECT_GAUGE, 1, "current"},
	{"memory.stat anon", METRIC_SUBJECT_MEMORY, EFFECT_GAUGE, 1, "anon"},
	{"memory.stat file", METRIC_SUBJECT_MEMORY, EFFECT_GAUGE, 1, "file"},
	{"memory.stat kernel", METRIC_SUBJECT_MEMORY, EFFECT_GAUGE, 1, "kernel"},
	{"memory.stat shmem", METRIC_SUBJECT_MEMORY, EFFECT_GAUGE, 1, "shmem"},
	{"memory.stat pgmajfault", METRIC_SUBJECT_MAJOR_FAULTS, EFFECT_TOTAL, 1, NULL},
	{"memory.events high", METRIC_SUBJECT_MEMORY_EVENTS, EFFECT_TOTAL, 1, "high"},
	{"memory.events max", METRIC_SUBJECT_MEMORY_EVENTS, EFFECT_TOTAL, 1, "max"},
	{"memory.events oom", METRIC_SUBJECT_MEMORY_EVENTS, EFFECT_TOTAL, 1, "oom"},
	{"memory.events oom_kill", METRIC_SUBJECT_MEMORY_EVENTS, EFFECT_TOTAL, 1, "oom_kill"},
	{"cpu.pressure some total", METRIC_SUBJECT_WAITING, EFFECT_TOTAL, 1000, "cpu"},
	{"memory.pressure some total", METRIC_SUBJECT_WAITING, EFFECT_TOTAL, 1000, "memory"},
	{"io.pressure some total", METRIC_SUBJECT_WAITING, EFFECT_TOTAL, 1000, "io"},
	{"cpu.pressure full total", METRIC_SUBJECT_STALLED, EFFECT_TOTAL, 1000, "cpu"},
	{"memory.pressure full total", METRIC_SUBJECT_STALLED, EFFECT_TOTAL, 1000, "memory"},
	{"io.pressure full total", METRIC_SUBJECT_STALLED, EFFECT_TOTAL, 1000, "io"},
	{"irq.pressure full total", METRIC_SUBJECT_STALLED, EFFECT_TOTAL, 1000, "irq"},
	{"pids.current", METRIC_SUBJECT_TASKS, EFFECT_GAUGE, 1, NULL},
	{.name = NULL},
};

static const struct fixed_counter *const fixed[] = {
	[PLACE_EBPF] = of_ebpf,	      [PLACE_CPU] = of_cpu,	  [PLACE_DISK] = of_disk,
	[PLACE_NETWORK] = of_network, [PLACE_MEMORY] = of_memory, [PLACE_CGROUP] = of_cgroup,
};

static const struct {
	enum counter_place place;
	const char *name;
	enum counter_place below;
} groups[] = {
	{PLACE_EBPF, "Block I/O", PLACE_BLOCK},
	{PLACE_EBPF, "Network", PLACE_NETWORK},
	{PLACE_EBPF, "Memory", PLACE_MEMORY},
	{PLACE_EBPF, "Locks", PLACE_LOCKS},
	{PLACE_EBPF, "own cost", PLACE_COST},
	{PLACE_NETWORK, "dropped packets by reason", PLACE_REASONS},
};

enum counter_place counter_find_place(enum counter_place place, const char *group)
{
	for (size_t i = 0; i < ARRAY_SIZE(groups); i++)
		if (groups[i].place == place && !strcmp(groups[i].name, group))
			return groups[i].below;
	if (place == PLACE_EBPF && str_starts(group, "CPU "))
		return PLACE_CPU;
	if (place == PLACE_BLOCK)
		return PLACE_DISK;
	return place == PLACE_CGROUP ? PLACE_CGROUP : PLACE_NONE;
}

static void set_label(struct counter_meaning *m, size_t i, const char *text, size_t len)
{
	snprintf(m->labels[i], COUNTER_LABEL_SIZE, "%.*s", (int)MIN(len, COUNTER_LABEL_SIZE - 1),
		 text);
}

/* Splits PREFIX LABEL SUFFIX; returns false for other names. */
static bool set_label_between(struct counter_meaning *m, const char *name, const char *prefix,
			      const char *suffix)
{
	size_t len = strlen(name), before = strlen(prefix), after = strlen(suffix);

	if (len <= before + after || strncmp(name, prefix, before) != 0 ||
	    strcmp(name + len - after, suffix) != 0)
		return false;
	set_label(m, 0, name + before, len - before - after);
	return true;
}

/* Makes the growth of a counter a metric. Returns true, for the callers. */
static bool set_growth(struct counter_meaning *m, enum metric_id metric)
{
	m->metric = metric;
	m->effect = EFFECT_GROWTH;
	m->factor = 1;
	return true;
}

/* "softirq NET_RX time", "softirqs NET_RX" */
static bool match_softirq_counter(struct counter_meaning *m, const char *name)
{
	if (set_label_between(m, name, "softirq ", " time"))
		return set_growth(m, METRIC_SOFTIRQ_TIME);
	return set_label_between(m, name, "softirqs ", "") && set_growth(m, METRIC_SOFTIRQS);
}

/* Matches counters of locks, such as "rwsem read wait time" and "rwsem read waits". */
static bool match_lock_counter(struct counter_meaning *m, const char *name)
{
	bool found = set_label_between(m, name, "", " wait time")
			     ? set_growth(m, METRIC_LOCK_WAIT_TIME)
			     : set_label_between(m, name, "", " waits") &&
				       set_growth(m, METRIC_LOCK_WAITS);

	for (char *c = m->labels[0]; *c; c++)
		if (*c == ' ')
			*c = '_';
	return found;
}

/* "io.stat 8:0 rbytes" */
static bool match_io_counter(struct counter_meaning *m, const char *name)
{
	static const struct {
		const char *suffix, *operation;
		enum metric_id metric;
	} kinds[] = {
		{" rbytes", "read", METRIC_SUBJECT_IO_BYTES},
		{" wbytes", "write", METRIC_SUBJECT_IO_BYTES},
		{" rios", "read", METRIC_SUBJECT_IO_REQUESTS},
		{" wios", "write", METRIC_SUBJECT_IO_REQUESTS},
	};

	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		if (!set_label_between(m, name, "io.stat ", kinds[i].suffix))
			continue;
		set_growth(m, kinds[i].metric);
		m->effect = EFFECT_TOTAL;
		set_label(m, 1, kinds[i].operation, strlen(kinds[i].operation));
		return true;
	}
	return false;
}

/* Counters whose names have a part that is a label. */
static bool match_name_patterns(enum counter_place place, const char *name,
				struct counter_meaning *m)
{
	if (place == PLACE_EBPF || place == PLACE_LOCKS || place == PLACE_MEMORY)
		if (set_label_between(m, name, "", " lost"))
			return set_growth(m, METRIC_LOST);
	if (place == PLACE_CPU)
		return match_softirq_counter(m, name);
	if (place == PLACE_LOCKS)
		return match_lock_counter(m, name);
	if (place == PLACE_CGROUP)
		return match_io_counter(m, name);
	if (place == PLACE_COST && set_label_between(m, name, "", "")) {
		set_growth(m, METRIC_PROBE_TIME);
		m->effect = EFFECT_PERCENT;
		return true;
	}
	return place == PLACE_REASONS && set_label_between(m, name, "", "") &&
	       set_growth(m, METRIC_DROPPED_PACKETS);
}

struct counter_meaning counter_find_meaning(enum counter_place place, const char *name)
{
	const struct fixed_counter *c = place < ARRAY_SIZE(fixed) ? fixed[place] : NULL;
	struct counter_meaning m = {.effect = EFFECT_NONE};
	size_t label = place == PLACE_DISK ? 1 : 0;

	for (; c && c->name; c++) {
		if (strcmp(c->name, name) != 0)
			continue;
		m.effect = c->effect;
		m.metric = c->metric;
		m.factor = c->factor;
		if (c->label)
			set_label(&m, label, c->label, strlen(c->label));
		return m;
	}
	if (!match_name_patterns(place, name, &m))
		m.effect = EFFECT_NONE;
	return m;
}
