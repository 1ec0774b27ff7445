/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/text/str.h"

/* The processes and the machine of a live session (analyze/live/live.h). */

/* The resources that a process used. Values in ns are sums over its threads. */
enum live_metric {
	LIVE_CPU, /* ns on a CPU */
	LIVE_RUNQ, /* ns ready to run, without a CPU */
	LIVE_BLOCKED, /* ns blocked (D) */
	LIVE_SLEEP, /* ns asleep (S) */
	LIVE_SYSCALLS, /* number that returned */
	LIVE_SYSCALL_TIME, /* ns in them */
	LIVE_SYSCALL_ERRORS, /* number that returned an error */
	LIVE_READ, /* bytes from storage: read_bytes of /proc/PID/io */
	LIVE_WRITTEN, /* bytes to storage: write_bytes of /proc/PID/io */
	LIVE_METRICS
};

struct live_value {
	uint64_t total; /* growth since the session began, or since the first value */
	double rate; /* per second, in the period of the last screen */
	bool has_total, has_rate;
	uint64_t at; /* time of the last value */
	uint64_t base, base_at; /* total and its time, from which the next rate is computed */
};

#define LIVE_NAME_SIZE 128

struct live_process {
	int32_t pid; /* with live_setup.by_thread, that of a thread */
	int32_t tgid; /* the process of a thread; 0: it is a process */
	int32_t parent; /* the parent process; 0: none, unknown, or not of a main thread */
	uint64_t group; /* id of its control group; 0: unknown */
	char name[LIVE_NAME_SIZE]; /* plain text; "" unknown */
	struct live_value values[LIVE_METRICS];
	uint64_t rss; /* bytes */
	bool has_rss;
};

/* What processes can be added up by. */
enum live_grouping {
	LIVE_BY_GROUP, /* control group */
	LIVE_BY_PROGRAM, /* name of the program */
	LIVE_GROUPINGS
};

enum live_group_text { /* NULL: it has none, or it is unknown */
		       LIVE_GROUP_PATH, /* of a program its name */
		       LIVE_GROUP_UNIT,
		       LIVE_GROUP_CONTAINER, /* id */
		       LIVE_GROUP_NAME, /* of the container */
		       LIVE_GROUP_POD,
		       LIVE_GROUP_NAMESPACE, /* of the pod */
		       LIVE_GROUP_TEXTS
};

#define LIVE_GROUP_TEXT_MAX 4096 /* bytes */

/* A control group without those below it, or a program. Its values contain those of processes that
 * have ended. */
struct live_group {
	uint64_t id; /* of a control group */
	char *texts[LIVE_GROUP_TEXTS]; /* owned by struct live; plain text */
	struct live_value values[LIVE_METRICS];
	uint64_t rss; /* bytes, of the existing processes */
	uint32_t processes; /* that exist; with live_setup.by_thread, threads */
	bool has_rss;
};

/* Shares are of the time of all CPUs, 0 to 1. */
struct live_machine {
	bool has_cpu, has_memory, has_pressure, has_runq, has_depth;
	unsigned cpus;
	double user, system, irq, iowait, steal, idle;
	uint64_t memory_total, memory_available, swap_total, swap_free; /* bytes */
	double pressure_cpu, pressure_io, pressure_memory; /* share of time with a waiting task */
	/* Threads in the run queues: the sum of the mean depths, and the largest depth of a CPU. */
	double depth, depth_max;
	double runq_p99_ns, runq_max_ns; /* waits on the CPU where they are longest */
	unsigned runq_p99_cpu, runq_max_cpu;
	double switches; /* per second, all CPUs */
};

/* Data that was not counted. */
struct live_losses {
	uint64_t packets; /* packets before which others of their sequence are missing */
	uint64_t bad_packets; /* packets that violate protobuf's rules */
	uint64_t unknown_values; /* values of tracks whose description was lost */
	uint64_t processes; /* values of processes beyond LIVE_PROCESSES_MAX */
	uint64_t members; /* changes of control groups that were lost */
	struct strbuf counters; /* "cpu_time lost 12, syscalls lost 3"; empty: none */
};

#define LIVE_PROCESSES_MAX 65536u
#define LIVE_GROUPS_MAX 65536u /* control groups; programs */

struct live_setup {
	uint64_t began_ns; /* when the session began */
	uint64_t period_ns; /* between two polls */
	uint32_t top_n; /* processes of which each family writes counters */
	bool by_thread; /* each thread is listed, in place of its process */
	bool has_groups; /* processes are added up by control group (linux.cgroup_members) */
	bool has_programs; /* processes are added up by program */
	bool only_some; /* only chosen processes are recorded; all of them may be idle */
};
