/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hands each packet to its reader, and computes the rates of a screen. The packets of
 * linux.process_stats are read here.
 */
#include "analyze/live/live.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/live/live_internal.h"
#include "base/core/mem.h"
#include "gen/fields.h"

/* A process has ended if it has had no packet for this number of periods and of polls of /proc. */
#define GONE_PERIODS 3

int live_new(const struct live_setup *setup, struct live **ret)
{
	struct live *l = calloc(1, sizeof(*l));

	if (!l)
		return -ENOMEM;
	l->setup = *setup;
	*ret = l;
	return 0;
}

void live_free(struct live *l)
{
	struct live_entry *p, *next;

	if (!l)
		return;
	HASH_ITER (hh, l->processes, p, next)
		live_remove_process(l, p);
	live_groups_free(l);
	HASH_FREE(l->tracks);
	free(l->cpus);
	strbuf_deinit(&l->failures);
	strbuf_deinit(&l->losses.counters);
	free(l);
}

/* ---- processes ---- */

static void read_process(struct live *l, const struct pb_field *message, uint64_t at)
{
	uint64_t pid = 0, start = 0, parent = 0;
	struct pb_field name = {0};
	bool is_kthread = false;
	struct live_entry *p;
	bool ok = pb_read(message, PB_TO(PB_PROCESS_TREE_PROCESS_PID, &pid),
			  PB_TO(PB_PROCESS_TREE_PROCESS_PPID, &parent),
			  PB_TO(PB_PROCESS_TREE_PROCESS_PROCESS_START_FROM_BOOT, &start),
			  PB_TO(PB_PROCESS_TREE_PROCESS_IS_KTHREAD, &is_kthread));

	pb_for_each (f, message)
		if (f.id == PB_PROCESS_TREE_PROCESS_CMDLINE && f.data && !name.data)
			name = f;
	p = ok && pid && pid <= INT32_MAX ? live_find_or_add_process(l, (int32_t)pid) : NULL;
	if (!p)
		return;
	live_set_start(l, p, start);
	p->is_kthread = is_kthread;
	p->p.parent = parent <= INT32_MAX ? (int32_t)parent : 0;
	live_set_last_seen(l, p, at);
	if (name.data)
		live_set_name(p, name.data, name.len);
}

static void live_read_tree(struct live *l, const struct packet *p)
{
	pb_for_each (f, &p->payload)
		if (f.id == PB_PROCESS_TREE_PROCESSES && f.data)
			read_process(l, &f, p->timestamp);
}

static void read_process_memory(struct live *l, const struct pb_field *message, uint64_t at)
{
	struct pb_field rss_kb = {0};
	struct live_entry *p;
	uint64_t pid = 0;
	bool ok = pb_read(message, PB_TO(PB_PROCESS_STATS_PROCESS_PID, &pid),
			  PB_TO_ANY(PB_PROCESS_STATS_PROCESS_VM_RSS_KB, &rss_kb));

	p = ok && pid && pid <= INT32_MAX ? live_find_or_add_process(l, (int32_t)pid) : NULL;
	if (!p)
		return;
	if (p->polled_at && p->polled_in == l->polls)
		l->polls++;
	p->polled_in = l->polls;
	p->polled_at = MAX(p->polled_at, at);
	live_set_last_seen(l, p, at);
	if (rss_kb.id) {
		p->p.rss = rss_kb.u64 << 10;
		p->p.has_rss = true;
	}
}

static void live_read_process_stats(struct live *l, const struct packet *p)
{
	live_set_poll_time(l, LIVE_PROCESS_STATS, p->timestamp);
	pb_for_each (f, &p->payload)
		if (f.id == PB_PROCESS_STATS_PROCESSES && f.data)
			read_process_memory(l, &f, p->timestamp);
}

/* ---- packets ---- */

static const struct {
	uint32_t field;
	void (*read)(struct live *l, const struct packet *p);
} readers[] = {
	{PB_TRACE_PACKET_TRACK_EVENT, live_read_values},
	{PB_TRACE_PACKET_TRACK_DESCRIPTOR, live_read_descriptor},
	{PB_TRACE_PACKET_PROCESS_STATS, live_read_process_stats},
	{PB_TRACE_PACKET_PROCESS_TREE, live_read_tree},
	{PB_TRACE_PACKET_SYS_STATS, live_read_sys_stats},
	{PB_TRACE_PACKET_EBPF_COUNTERS_STATS, live_read_failures},
	{PB_TRACE_PACKET_EBPF_PROCESS_ROWS, live_read_rows},
	{PB_TRACE_PACKET_CGROUP_TREE, live_read_groups},
	{PB_TRACE_PACKET_CGROUP_MEMBERS, live_read_members},
};

static bool live_reads_payload(uint32_t field)
{
	for (size_t i = 0; i < ARRAY_SIZE(readers); i++)
		if (readers[i].field == field)
			return true;
	return false;
}

void live_add_packet(struct live *l, const uint8_t *data, size_t len)
{
	struct packet p;

	if (!packet_read(&p, data, len, live_reads_payload)) {
		l->losses.bad_packets++;
		return;
	}
	/* The first packet of a sequence may have the mark without a loss. */
	if (p.dropped && !p.first)
		l->losses.packets++;
	/* Processes of other machines may have the same pids. */
	if (p.machine)
		return;
	for (size_t i = 0; i < ARRAY_SIZE(readers); i++)
		if (readers[i].field == p.payload.id)
			readers[i].read(l, &p);
}

/* ---- the screen ---- */

uint64_t live_newest_time(const struct live *l)
{
	uint64_t newest = 0;

	for (size_t i = 0; i < LIVE_SOURCES; i++)
		newest = MAX(newest, l->at[i]);
	return newest;
}

/* Sets the counters of system calls to 0 for a process without such tracks. It has made no calls,
 * if there is room for all processes. */
static void set_absent_calls_to_0(const struct live *l, struct live_entry *p)
{
	static const enum live_metric calls[] = {LIVE_SYSCALLS, LIVE_SYSCALL_TIME,
						 LIVE_SYSCALL_ERRORS};
	enum live_source source = l->has_rows ? LIVE_ROWS_SYSCALLS : LIVE_EBPF;

	if (!l->counts_calls || (!l->has_rows && HASH_COUNT(l->processes) >= l->setup.top_n))
		return;
	for (size_t i = 0; i < ARRAY_SIZE(calls); i++) {
		struct live_value *v = &p->p.values[calls[i]];

		if (v->has_total && v->total)
			continue;
		p->source[calls[i]] = source;
		live_add_growth(v, 0, l->at[source], l->before[source]);
	}
}

/* Returns the main thread of the process of another thread, or NULL. */
static const struct live_entry *find_process_of_thread(const struct live *l,
						       const struct live_entry *p)
{
	const struct live_entry *process = NULL;

	if (p->p.tgid && p->p.tgid != p->p.pid)
		HASH_FIND(hh, l->processes, &p->p.tgid, sizeof(p->p.tgid), process);
	return process;
}

/* Gives a thread without a name the name of its process: linux.process_stats has no names of
 * threads. */
static void name_as_process(const struct live *l, struct live_entry *p)
{
	const struct live_entry *process = p->p.name[0] ? NULL : find_process_of_thread(l, p);

	if (process)
		memcpy(p->p.name, process->p.name, sizeof(p->p.name));
}

static void compute_process_rates(const struct live *l, struct live_entry *p)
{
	set_absent_calls_to_0(l, p);
	live_compute_rates(l, p->p.values, p->source);
}

/* Returns true if the process was not in the last list of processes: rows of the family "processes"
 * or, without them, the last poll of /proc. Polls may omit kernel threads, which do not count as
 * ended then. */
static bool process_has_ended(const struct live *l, const struct live_entry *p)
{
	uint64_t polled = l->at[LIVE_PROCESS_STATS];
	const struct live_entry *process = find_process_of_thread(l, p);

	/* The polls of /proc list processes only. */
	if (process && !l->at[LIVE_ROWS_PROCESSES])
		p = process;

	if (l->at[LIVE_ROWS_PROCESSES])
		return p->listed_at != l->at[LIVE_ROWS_PROCESSES];
	return !p->is_kthread && polled &&
	       p->polled_at + l->setup.period_ns + l->setup.period_ns / LIVE_STALE_DIVISOR < polled;
}

/* Hides a process that has ended, unless it did something in the period: last values come late. */
static void hide_ended_process(const struct live *l, struct live_entry *p)
{
	p->is_hidden = p->has_ended = process_has_ended(l, p);
	for (size_t i = 0; i < LIVE_METRICS && p->is_hidden; i++)
		p->is_hidden =
			!(p->p.values[i].has_rate && p->p.values[i].rate > 0 && i != LIVE_SLEEP);
}

/* Returns true if the process can be forgotten. Its name is written only once, so the entry of a
 * living process must be kept. On a busy machine the poll of /proc may be late by many periods. */
static bool can_remove_process(const struct live *l, const struct live_entry *p, uint64_t newest)
{
	uint64_t patience = GONE_PERIODS * l->setup.period_ns;
	const struct live_entry *process = find_process_of_thread(l, p);

	/* A thread is written only when its times change. */
	if (process && !l->at[LIVE_ROWS_PROCESSES])
		return false;
	/* The list of control groups may come long before the first list of processes. */
	if (!p->is_reported && (!l->listed_since || l->listed_since + patience >= newest))
		return false;
	if (l->at[LIVE_ROWS_PROCESSES])
		return process_has_ended(l, p) && p->seen_at + patience < newest;
	/* Kernel threads have no memory, so there is no packet about them until they do
	 * something. */
	if (p->is_kthread || p->seen_at + patience >= newest)
		return false;
	return !l->at[LIVE_PROCESS_STATS] || l->polls - p->seen_in >= GONE_PERIODS;
}

/* Frees the tracks of processes that have ended, to which no packet refers. */
static void free_tracks_of_ended_processes(struct live *l)
{
	struct live_track *t, *next;
	struct live_entry *p;

	HASH_ITER (hh, l->tracks, t, next) {
		if (!t->pid)
			continue;
		HASH_FIND(hh, l->processes, &t->pid, sizeof(t->pid), p);
		if (p)
			continue;
		HASH_DEL(l->tracks, t);
		free(t);
	}
}

/* Returns the source of the times of processes. */
static enum live_source choose_time_source(const struct live *l)
{
	return l->at[LIVE_ROWS_CPU_TIME] ? LIVE_ROWS_CPU_TIME
	       : l->at[LIVE_EBPF]	 ? LIVE_EBPF
					 : LIVE_PROCESS_STATS;
}

bool live_is_stale(const struct live *l, uint64_t *ret_at)
{
	*ret_at = l->at[choose_time_source(l)];
	return l->is_stale;
}

bool live_end_period(struct live *l)
{
	uint64_t newest = live_newest_time(l);
	struct live_entry *p, *next;
	bool forgot = false;

	if (newest <= l->screen_at)
		return false;
	live_groups_begin_period(l);
	HASH_ITER (hh, l->processes, p, next) {
		if (can_remove_process(l, p, newest)) {
			live_remove_process(l, p);
			forgot = true;
			continue;
		}
		name_as_process(l, p);
		compute_process_rates(l, p);
		hide_ended_process(l, p);
		live_add_to_groups(l, p, false);
	}
	live_groups_end_period(l);
	if (forgot)
		free_tracks_of_ended_processes(l);
	live_machine_end_period(l);
	l->is_stale =
		l->screens && l->at[choose_time_source(l)] <= l->before[choose_time_source(l)];
	for (size_t i = 0; i < LIVE_SOURCES; i++)
		l->before[i] = MAX(l->before[i], l->at[i]);
	l->screen_at = newest;
	l->screens++;
	return true;
}

const struct live_machine *live_machine(const struct live *l)
{
	return &l->machine;
}

const struct live_losses *live_losses(const struct live *l)
{
	return &l->losses;
}

const char *live_ebpf_failures(const struct live *l)
{
	return l->failures.s ? l->failures.s : "";
}

bool live_has_processes(const struct live *l)
{
	return l->at[LIVE_ROWS_PROCESSES] || l->at[LIVE_PROCESS_STATS] ||
	       (l->setup.only_some && l->at[LIVE_EBPF]);
}

bool live_are_processes_missing(const struct live *l)
{
	return l->lacks_processes;
}

bool live_is_cpu_time_missing(const struct live *l)
{
	return l->lacks_cpu_time;
}

void live_each_process(const struct live *l, void (*fn)(void *ctx, const struct live_process *p),
		       void *ctx)
{
	struct live_entry *p, *next;

	HASH_ITER (hh, l->processes, p, next)
		if (p->is_reported && !p->is_hidden)
			fn(ctx, &p->p);
}
