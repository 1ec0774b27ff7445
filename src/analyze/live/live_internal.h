/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "analyze/live/live_types.h"
#include "analyze/packets.h"
#include "base/core/hash_table.h"

/* Private to src/analyze/live: the state that its files share. */

#define LIVE_TRACKS_MAX (1u << 20)
#define LIVE_CPUS_MAX 4096u
/* A value that is older than the newest one of its source by this fraction of a period did not
 * change. */
#define LIVE_STALE_DIVISOR 2

enum live_source {
	LIVE_EBPF,
	LIVE_PROCESS_STATS,
	LIVE_PROCESS_TRACKS, /* /proc/PID/io and schedstat */
	LIVE_SYS_STATS,
	LIVE_ROWS_CPU_TIME, /* from here on rows of eBPF families, read at different times */
	LIVE_ROWS_SYSCALLS,
	LIVE_ROWS_PROCESSES,
	LIVE_SOURCES
};

struct live_entry {
	struct live_process p;
	UT_hash_handle hh; /* by pid */
	uint64_t seen_at; /* time of the last packet about it */
	uint32_t seen_in; /* live.polls at that packet */
	uint64_t polled_at; /* time of the last poll of /proc that met it */
	uint32_t polled_in; /* live.polls at that time */
	uint64_t listed_at; /* time of the last list of all processes that has it */
	uint64_t start_ns; /* of the process; 0 unknown */
	enum live_source source[LIVE_METRICS]; /* source of each value */
	uint64_t last[LIVE_METRICS]; /* the last number in rows of an eBPF family */
	uint32_t has_last; /* bit i: last[i] is set */
	uint64_t grouped[LIVE_GROUPINGS]
			[LIVE_METRICS]; /* part of the totals that is in its groups */
	bool is_kthread;
	bool is_reported; /* there was a packet about it, besides those with control groups */
	bool has_ended;
	bool is_hidden; /* it has ended, and did nothing in the period */
};

struct live_group_entry {
	struct live_group g;
	enum live_source source[LIVE_METRICS]; /* source of each value */
	UT_hash_handle hh; /* by id, or by name */
};

/* The kinds of tracks. The owner is a process, a CPU, or the machine. */
enum live_track_kind {
	LIVE_TRACK_OTHER, /* a counter that is not shown */
	LIVE_TRACK_PROCESS,
	LIVE_TRACK_THREAD,
	LIVE_TRACK_CPU,
	LIVE_TRACK_COUNTER, /* counter of a process or thread */
	LIVE_TRACK_CPU_COUNTER,
	LIVE_TRACK_LOST, /* what did not fit into a family's tables */
};

enum live_cpu_metric {
	LIVE_RUNQ_P99,
	LIVE_RUNQ_MAX,
	LIVE_DEPTH,
	LIVE_DEPTH_MAX,
	LIVE_SWITCHES,
	LIVE_CPU_METRICS
};

struct live_track {
	uint64_t uuid;
	UT_hash_handle hh;
	enum live_track_kind kind;
	enum live_source source;
	int32_t pid;
	uint32_t metric; /* live_metric or live_cpu_metric */
	uint32_t cpu;
	bool has_last;
	uint64_t last; /* its last value */
	char name[32]; /* of a LIVE_TRACK_LOST */
};

struct live_cpu {
	bool is_seen;
	double gauges[LIVE_CPU_METRICS];
	struct live_value switches;
};

/* /proc/stat of all CPUs together, in the order of CpuTimes from user_ns on. */
#define LIVE_CPU_TIMES 8

struct live {
	struct live_setup setup;
	struct live_entry *processes;
	struct live_group_entry *groups, *programs; /* owned */
	struct live_track *tracks;
	struct live_cpu *cpus; /* owned */
	size_t n_cpus, cpus_cap;
	struct live_machine machine;
	struct live_losses losses;
	struct strbuf failures;
	uint64_t at[LIVE_SOURCES]; /* time of the last value */
	uint64_t before
		[LIVE_SOURCES]; /* the same at the last screen; at first, of the first value */
	uint64_t listed_since; /* time of the first list of processes */
	uint32_t polls; /* of /proc; meeting a process a second time begins the next poll */
	uint64_t screens;
	uint64_t screen_at; /* newest value at the last screen */
	bool is_stale; /* the last screen had no new values of processes */
	uint64_t cpu_times[LIVE_CPU_TIMES], cpu_base[LIVE_CPU_TIMES];
	bool has_cpu_times, has_cpu_base;
	bool counts_calls; /* the family of system calls runs */
	bool has_rows; /* families write rows, of all processes */
	bool lacks_processes; /* no family lists the processes */
	bool lacks_cpu_time; /* linux.ebpf_counters reported that cpu_time does not run */
	struct live_value psi[3]; /* time in which a task waited for CPU, I/O, memory */
};

/*
 * Calls between the files go down this list:
 *
 *	live.c							packets to their reader, the screen
 *	live_tracks.c, live_members.c				readers of packets
 *	live_processes.c, live_machine.c			readers of packets, and what others change
 *	live_groups.c						what processes belong to
 *	live_values.c						growth and rates
 */

/* live_values.c: stores the time of a poll of a source. */
void live_set_poll_time(struct live *l, enum live_source source, uint64_t at);

/* Adds to a total. at: time of the value; since: when the first growth of v began. */
void live_add_growth(struct live_value *v, uint64_t more, uint64_t at, uint64_t since);
/* Returns when the growth of a value that the source read at `at` began. */
uint64_t live_growth_began(const struct live *l, enum live_source source, uint64_t at);
/* Computes the rate since the last screen. before: when the growth began, at the earliest. */
void live_compute_rate(struct live_value *v, uint64_t before);

/* Computes the rates of values. source: where each comes from. */
void live_compute_rates(const struct live *l, struct live_value values[static LIVE_METRICS],
			const enum live_source source[static LIVE_METRICS]);

/* live_processes.c: returns the process, created if needed; NULL if there are too many (counted) or
 * memory runs out. */
struct live_entry *live_find_or_add_process(struct live *l, int32_t pid);
/* Adds the rest of a process's growth to its groups, and frees the process. */
void live_remove_process(struct live *l, struct live_entry *p);

/* live_groups.c. In each period, call begin once, then add for each process, then end. is_last: the
 * process is about to be forgotten, or its counters are about to start anew. */
void live_groups_begin_period(struct live *l);
void live_add_to_groups(struct live *l, struct live_entry *p, bool is_last);
void live_groups_end_period(struct live *l);
void live_groups_free(struct live *l);
#define LIVE_UNKNOWN_GROUP UINT64_MAX /* id for processes whose group was never known */
/* Returns the group, created if needed; NULL if there are too many or memory runs out. */
struct live_group_entry *live_find_or_add_group(struct live *l, uint64_t id);

/* live_machine.c: adds a line, as plain text, to live_ebpf_failures(), unless it is there
 * already. */
void live_add_failure(struct live *l, struct strbuf *line);

/* Sets the time of the last packet about the process to `at`, unless it has a later one. */
void live_set_last_seen(const struct live *l, struct live_entry *p, uint64_t at);
void live_set_name(struct live_entry *p, const void *name, size_t len);

/* Sets the start of a process; 0: unknown. A different start than before means that another process
 * has the pid: its counters start anew. */
void live_set_start(struct live *l, struct live_entry *p, uint64_t start_ns);

/* Each reads one kind of payload. Its bytes are untrusted. */
void live_read_descriptor(struct live *l, const struct packet *p);
void live_read_values(struct live *l, const struct packet *p);
void live_read_failures(struct live *l, const struct packet *p);
void live_read_sys_stats(struct live *l, const struct packet *p);
void live_read_rows(struct live *l, const struct packet *p);
void live_read_groups(struct live *l, const struct packet *p);
void live_read_members(struct live *l, const struct packet *p);
/* Computes what the machine did since the last screen. */
void live_machine_end_period(struct live *l);
