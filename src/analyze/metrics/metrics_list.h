/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The metrics that sonda metrics exposes: their names, kinds, units and help texts. */

enum metric_kind {
	METRIC_COUNTER,
	METRIC_GAUGE,
	METRIC_HISTOGRAM, /* of times in ns */
	METRIC_INFO, /* the value is 1; what counts are the labels */
};

enum metric_unit {
	METRIC_NUMBER,
	METRIC_NS, /* exposed as seconds */
	METRIC_BYTES,
};

/* Columns: identifier; name, for a histogram without _bucket, _sum and _count; kind; unit; names of
 * its labels besides those of the subject (NULL: none); help text. */
/* clang-format off */
#define METRIC_LIST(X)                                                                             \
	X(RUNQ_LATENCY, "sonda_runq_latency_seconds", HISTOGRAM, NS, NULL, NULL,                   \
	  "Thread waits for a CPU, from wakeup or preemption until the thread runs.")              \
	X(RUNQ_THROTTLED, "sonda_runq_throttled_seconds", HISTOGRAM, NS, NULL, NULL,               \
	  "Thread waits for a CPU after the control group had used up its CPU quota.")             \
	X(RUNQ_WAITING, "sonda_runq_waiting_threads", GAUGE, NUMBER, NULL, NULL,                   \
	  "Threads waiting for a CPU, averaged over the last second.")                             \
	X(CONTEXT_SWITCHES, "sonda_context_switches_total", COUNTER, NUMBER, NULL, NULL,           \
	  "Context switches on all CPUs.")                                                         \
	X(MIGRATIONS, "sonda_migrations_total", COUNTER, NUMBER, NULL, NULL,                       \
	  "Thread migrations to another CPU.")                                                     \
	X(SOFTIRQ_TIME, "sonda_softirq_seconds_total", COUNTER, NS, "vec", NULL,                   \
	  "Time in softirq handlers, by vector (names as in /proc/softirqs).")                     \
	X(SOFTIRQS, "sonda_softirqs_total", COUNTER, NUMBER, "vec", NULL,                          \
	  "Softirq handler runs.")                                                                 \
	X(HARDIRQ_TIME, "sonda_hardirq_seconds_total", COUNTER, NS, NULL, NULL,                    \
	  "Time in device interrupt handlers.")                                                    \
	X(HARDIRQS, "sonda_hardirqs_total", COUNTER, NUMBER, NULL, NULL,                           \
	  "Device interrupt handler runs.")                                                        \
	X(TIMER_TIME, "sonda_timer_interrupt_seconds_total", COUNTER, NS, NULL, NULL,              \
	  "Time in CPU timer interrupts.")                                                         \
	X(BLOCK_LATENCY, "sonda_block_latency_seconds", HISTOGRAM, NS, "device", "operation",      \
	  "Time from issuing a block request to the driver until its completion.")                 \
	X(BLOCK_BYTES, "sonda_block_bytes_total", COUNTER, BYTES, "device", "operation",           \
	  "Bytes of completed block requests.")                                                    \
	X(BLOCK_REQUESTS, "sonda_block_requests_total", COUNTER, NUMBER, "device", "operation",    \
	  "Completed block requests.")                                                             \
	X(BLOCK_IN_FLIGHT, "sonda_block_in_flight", GAUGE, NUMBER, "device", NULL,                 \
	  "Block requests that the device has not completed.")                                     \
	X(TCP_RETRANSMITS, "sonda_tcp_retransmits_total", COUNTER, NUMBER, NULL, NULL,             \
	  "Retransmitted TCP segments.")                                                           \
	X(TCP_RESETS, "sonda_tcp_resets_total", COUNTER, NUMBER, "direction", NULL,                \
	  "TCP resets, sent and received.")                                                        \
	X(DROPPED_PACKETS, "sonda_dropped_packets_total", COUNTER, NUMBER, "reason", NULL,         \
	  "Network packets that the kernel dropped, by reason.")                                   \
	X(STALL_TIME, "sonda_memory_stall_seconds_total", COUNTER, NS, "kind", NULL,               \
	  "Time that threads spent freeing or moving memory.")                                     \
	X(STALLS, "sonda_memory_stalls_total", COUNTER, NUMBER, "kind", NULL,                      \
	  "How often threads had to free or move memory.")                                         \
	X(OOM_KILLS, "sonda_oom_kills_total", COUNTER, NUMBER, NULL, NULL,                         \
	  "Processes killed by the OOM killer.")                                                   \
	X(PAGE_FAULTS, "sonda_page_faults_total", COUNTER, NUMBER, "kind", NULL,                   \
	  "Page faults in all processes; major page faults needed I/O.")                           \
	X(LOCK_WAIT_TIME, "sonda_lock_wait_seconds_total", COUNTER, NS, "lock", NULL,              \
	  "Time that threads waited for kernel locks.")                                            \
	X(LOCK_WAITS, "sonda_lock_waits_total", COUNTER, NUMBER, "lock", NULL,                     \
	  "Waits for kernel locks.")                                                               \
	X(SUBJECT_CPU, "sonda_subject_cpu_seconds_total", COUNTER, NS, "mode", NULL,               \
	  "CPU time of the control group, including all groups below it.")                         \
	X(SUBJECT_PERIODS, "sonda_subject_cpu_periods_total", COUNTER, NUMBER, NULL, NULL,         \
	  "Periods of the CPU quota in which the group was runnable.")                             \
	X(SUBJECT_THROTTLED, "sonda_subject_cpu_throttled_periods_total", COUNTER, NUMBER, NULL, NULL, \
	  "Periods in which the group had used up its CPU quota.")                                 \
	X(SUBJECT_THROTTLED_TIME, "sonda_subject_cpu_throttled_seconds_total", COUNTER, NS, NULL, NULL, \
	  "Time during which the group had used up its CPU quota.")                                \
	X(SUBJECT_OFF_CPU, "sonda_subject_off_cpu_seconds_total", COUNTER, NS, "state", NULL,      \
	  "Off-CPU time of the group's threads, by state. Needs --add cpu-time.")                  \
	X(SUBJECT_RUNQ, "sonda_subject_runq_latency_seconds", HISTOGRAM, NS, NULL, NULL,           \
	  "Waits for a CPU by the group's threads, excluding waits for its quota.")                \
	X(SUBJECT_PREEMPTIONS, "sonda_subject_preemptions_total", COUNTER, NUMBER, "by", NULL,     \
	  "Waits for a CPU, by what was running on it when the wait ended.")                       \
	X(SUBJECT_PREEMPTED_TIME, "sonda_subject_preempted_wait_seconds_total", COUNTER, NS, "by", NULL, \
	  "Time spent waiting for a CPU, by what was running on it when the wait ended.")          \
	X(SUBJECT_MEMORY, "sonda_subject_memory_bytes", GAUGE, BYTES, "type", NULL,                \
	  "Memory of the control group, including all groups below it.")                           \
	X(SUBJECT_MEMORY_EVENTS, "sonda_subject_memory_events_total", COUNTER, NUMBER, "event", NULL, \
	  "Events in memory.events.")                                                              \
	X(SUBJECT_MAJOR_FAULTS, "sonda_subject_major_faults_total", COUNTER, NUMBER, NULL, NULL,   \
	  "Major page faults in the group.")                                                       \
	X(SUBJECT_IO_BYTES, "sonda_subject_io_bytes_total", COUNTER, BYTES, "device", "operation", \
	  "Bytes that the group read from and wrote to block devices; the device is MAJOR:MINOR.") \
	X(SUBJECT_IO_REQUESTS, "sonda_subject_io_requests_total", COUNTER, NUMBER, "device", "operation", \
	  "Requests from the group to block devices; the device is MAJOR:MINOR.")                  \
	X(SUBJECT_WAITING, "sonda_subject_pressure_waiting_seconds_total", COUNTER, NS, "resource", NULL, \
	  "Time during which at least one thread of the group waited for the resource.")           \
	X(SUBJECT_STALLED, "sonda_subject_pressure_stalled_seconds_total", COUNTER, NS, "resource", NULL, \
	  "Time during which all of the group's threads waited for the resource.")                 \
	X(SUBJECT_TASKS, "sonda_subject_tasks", GAUGE, NUMBER, NULL, NULL,                         \
	  "Threads in the control group.")                                                         \
	X(SUBJECT_SYSCALLS, "sonda_subject_syscalls_total", COUNTER, NUMBER, NULL, NULL,           \
	  "Completed system calls by the group. Needs --add syscalls.")                            \
	X(SUBJECT_SYSCALL_ERRORS, "sonda_subject_syscall_errors_total", COUNTER, NUMBER, NULL, NULL, \
	  "System calls by the group that returned an error. Needs --add syscalls.")               \
	X(SUBJECT_SYSCALL_TIME, "sonda_subject_syscall_seconds_total", COUNTER, NS, NULL, NULL,    \
	  "Time in the group's system calls, including waits. Needs --add syscalls.")              \
	X(BUILD, "sonda_build_info", INFO, NUMBER, "version", NULL,                                \
	  "The version of sonda metrics.")                                                         \
	X(LOST, "sonda_lost_total", COUNTER, NUMBER, "place", NULL,                                \
	  "Data that was lost or could not be counted, by where it was lost.")                     \
	X(PROBE_TIME, "sonda_probe_seconds_total", COUNTER, NS, "family", NULL,                    \
	  "CPU time of a family's eBPF programs.")                                                 \
	X(LEFT_OUT, "sonda_series_left_out_total", COUNTER, NUMBER, NULL, NULL,                    \
	  "Series that were not created because of a limit.")                                      \
	X(SESSION_UP, "sonda_session_up", GAUGE, NUMBER, "session", NULL,                          \
	  "1 if the session is recording, else 0.")                                                \
	X(SNAPSHOTS, "sonda_snapshots_total", COUNTER, NUMBER, "result", NULL,                     \
	  "Recorder snapshots requested by alerts.")                                               \
	X(SNAPSHOT_TIME, "sonda_snapshot_last_timestamp_seconds", GAUGE, NUMBER, NULL, NULL,       \
	  "When the last snapshot for an alert was saved, in seconds since 1970.")                 \
	X(ALERTS, "sonda_alerts_received_total", COUNTER, NUMBER, "result", NULL,                  \
	  "Alerts received by the webhook, by outcome.")                                           \
	X(SPOOL_BYTES, "sonda_spool_bytes", GAUGE, BYTES, NULL, NULL,                              \
	  "Total size of the traces that sonda ship has not uploaded yet.")                        \
	X(SPOOL_OLDEST, "sonda_spool_oldest_seconds", GAUGE, NUMBER, NULL, NULL,                   \
	  "Age of the oldest trace that sonda ship has not uploaded yet.")                         \
	X(UPLOADS, "sonda_uploads_total", COUNTER, NUMBER, "result", NULL,                         \
	  "Trace uploads by sonda ship, by outcome.")
/* clang-format on */

enum metric_id {
#define X(id, name, kind, unit, first, second, help) METRIC_##id,
	METRIC_LIST(X)
#undef X
		METRICS
};

struct metric_def {
	const char *name, *help;
	const char *labels[2]; /* NULL: none */
	enum metric_kind kind;
	enum metric_unit unit;
};

extern const struct metric_def metric_defs[METRICS];
