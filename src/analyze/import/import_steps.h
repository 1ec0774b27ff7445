/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "analyze/import/importer.h"

/*
 * The steps that files of this room call in each other. tokenize_*() read packets in the order of
 * the file: they change states at once, and put events into queues. Most import_*() make the rows
 * of an event, in the order of time.
 */

/* packet_tokens.c: reads one TracePacket. data must stay valid until the store is freed. */
void tokenize_packet(struct import *im, const uint8_t *data, size_t len);
/* At the end of the file: reads the packets whose clock was not known before. */
void tokenize_deferred(struct import *im);
/* Returns the machine; makes it at the first use. NULL: too many machines, or no memory. */
struct machine *import_get_machine(struct import *im, uint32_t raw_id);

/* ftrace_tokens.c: a FtraceEventBundle. */
void tokenize_bundle(struct import *im, struct machine *m, const struct packet *p,
		     const struct packet_sequence_info *seq);

/* trace_info.c: packets of the service and of the machine. */
void tokenize_system_info(struct import *im, struct machine *m, const struct pb_field *f);
/* Returns false if the packet must also be queued: another session has begun. */
bool tokenize_service_event(struct import *im, struct machine *m, const struct packet *p);
void tokenize_trace_uuid(struct import *im, const struct pb_field *f);
void tokenize_trace_config(struct import *im, const struct pb_field *f);
void tokenize_trace_attributes(struct import *im, struct machine *m, const struct pb_field *f);
void tokenize_trigger(struct import *im, int64_t ts, const struct pb_field *f);
/* At the end of the file: counts what depends on several packets. */
void trace_info_finish(struct import *im);
void tokenize_clock_snapshot(struct import *im, struct machine *m, const struct packet *p);

/* trace_stats.c: what the service, the kernel's rings and data sources lost or left out. */
void tokenize_late_subject(struct import *im, const struct pb_field *message);
void tokenize_unwind_stats(struct import *im, const struct pb_field *message);
void tokenize_waits_stats(struct import *im, const struct pb_field *message);
void tokenize_syscalls_stats(struct import *im, const struct pb_field *message);
void tokenize_trace_stats(struct import *im, struct machine *m, const struct pb_field *f);
void tokenize_ftrace_stats(struct import *im, struct machine *m, const struct packet *p,
			   struct packet_sequence_info *seq);

/* process_stats_rows.c: remembers the ids that the tasks of a ProcessTree have in their own pid
 * namespaces. */
void tokenize_process_tree(struct import *im, struct machine *m, const struct pb_field *f);
/* A program in a pid namespace of its own writes ids of that namespace. Replaces them by those
 * that the rest of the trace has, if the trace says which these are. writer: pid of the program as
 * the service knows it; 0: unknown. A thread whose tid is unknown gets the negative of its own
 * one. */
void import_translate_ids(struct import *im, const struct machine *m, int64_t writer, int64_t *pid,
			  int64_t *tid);
/* Adds the processes and threads of a ProcessTree. */
void import_process_tree(struct import *im, struct machine *m, const struct pb_field *f);
/* At the end: adds the arguments of processes and threads. */
void import_process_args(struct import *im);

/* sys_stats_rows.c, process_stats_rows.c */
void import_sys_stats(struct import *im, struct machine *m, int64_t ts,
		      const struct pb_field *stats);
void import_process_stats(struct import *im, struct machine *m, int64_t ts,
			  const struct pb_field *stats);

/* counter_rules.c: returns the number of a machine's GPU among the GPUs of all machines. */
int64_t counter_rules_ugpu(struct import *im, const struct machine *m, uint32_t gpu);

/* process_stats_rows.c: memory mappings of a process. */
void import_smaps(struct import *im, struct machine *m, int64_t ts, const struct pb_field *smaps);

/* small_packets.c */
void import_battery(struct import *im, struct machine *m, int64_t ts,
		    const struct pb_field *battery);
void import_trigger(struct import *im, struct machine *m, int64_t ts,
		    const struct pb_field *trigger);
void import_session_change(struct import *im, struct machine *m, int64_t ts,
			   const struct pb_field *change);

/* perf_samples.c: a sample of linux.perf. state: of the packet's sequence, or NULL_U32. */
void import_perf_sample(struct import *im, struct machine *m, int64_t ts, const struct packet *p,
			uint32_t state);
/* stack_samples.c: a sample of any profiler. */
void import_stack_sample(struct import *im, struct machine *m, int64_t ts, const struct packet *p,
			 uint32_t state);

/* cgroup_wait_rows.c: the tables cgroup_wait and cgroup_wait_length, from waits for a CPU that the
 * kernel counted. ts is the end of the packet's interval. */
void import_cgroup_waits(struct import *im, struct machine *m, int64_t ts,
			 const struct pb_field *waits);
/* histogram_rows.c: the tables event_histogram, event_histogram_row and event_histogram_bucket,
 * from what the kernel counted (TracePacket.event_histogram). ts is the end of the packet's
 * interval. */
void import_event_histogram(struct import *im, struct machine *m, int64_t ts,
			    const struct pb_field *histogram);

/* module_symbols.c: symbols of frames, which the frames get at the end of the file. */
void tokenize_module_symbols(struct import *im, const struct pb_field *f);
void module_symbols_finish(struct import *im);
void module_symbols_deinit(struct import *im);

/* sched_rows.c: the scheduler's events. prev_state is as in the kernel's record. */
struct sched_switch {
	int32_t prev_tid, prev_prio, next_tid, next_prio;
	int64_t prev_state;
	uint32_t prev_comm, next_comm; /* strings */
};
void import_compact_switch(struct import *im, struct machine *m, uint32_t cpu,
			   const struct queued_event *e);
void import_compact_waking(struct import *im, struct machine *m, uint32_t cpu,
			   const struct queued_event *e);
void import_full_switch(struct import *im, struct machine *m, uint32_t cpu, int64_t ts,
			const uint8_t *data, size_t len);
/* Ends all runs and states of threads with the last kernel event: the next ones are of another
 * session, and nothing is known about the time between. */
void sched_rows_end_session(struct import *im, struct machine *m);
/* Returns true if a record with these common_flags comes from an interrupt: TRACE_FLAG_HARDIRQ or
 * TRACE_FLAG_SOFTIRQ. */
static inline bool is_record_in_interrupt(uint64_t common_flags)
{
	return common_flags & 0x18;
}

/* trace_info.c: sets a row of `metadata`. scope: which of machine_id and trace_id the row has; m
 * may be NULL if it has no machine_id. multi: adds a row; otherwise a row of the same name and
 * machine is overwritten. */
enum metadata_scope { SCOPE_GLOBAL, SCOPE_TRACE, SCOPE_MACHINE, SCOPE_BOTH };
void metadata_set_int(struct import *im, enum metadata_scope scope, const struct machine *m,
		      const char *name, bool multi, int64_t v);
void metadata_set_string(struct import *im, enum metadata_scope scope, const struct machine *m,
			 const char *name, bool multi, const void *s, size_t len);

/* recorded_threads.c: sets store->recorded if the config limits the recording to some threads. If
 * another thread's run has no end, it gets the length 0 in sched and in thread_state, so that it
 * does not seem to last. Call this at the end, when all rows are there. */
void recorded_threads_finish(struct import *im);

/* gpu_rules.c: frees what the rules remember about the GPUs' work. */
void gpu_work_deinit(struct import *im);
