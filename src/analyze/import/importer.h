/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/import/clocks.h"
#include "analyze/import/event_queues.h"
#include "analyze/import/sequences.h"
#include "analyze/import/tasks.h"
#include "analyze/packets.h"
#include "analyze/store/arg_sets.h"
#include "analyze/store/stats.h"
#include "analyze/store/store.h"
#include "base/core/mem.h"

/*
 * State that the files of this room share while one trace is imported. The steps:
 *
 *	tokenize_*()	read each packet in the file's order: update the state of its sequence,
 *			convert its time, and queue its events
 *	event_queues.c	sorts the queued events by time
 *	import_*()	make rows of each event, in the order of time
 *
 * The last step does not call the first one. event_rules.c looks up the rule of a kernel event; the
 * files with the rules call those of rows (ftrace_rows.c, sched_rows.c), slices and tracks.
 */

#define MAX_CPUS STORE_CPUS_OF_A_MACHINE /* limit of a machine; ucpu = machine * MAX_CPUS + cpu */
#define MAX_MACHINES 64u
#define RULES_MAX 1024u /* events of this number and above have no rule */

struct import;
struct cpu_state;

struct machine {
	uint32_t raw_id;
	uint32_t row;
	struct clocks clocks;
	struct sequences sequences;
	struct tasks tasks;
	struct cpu_state *cpus; /* owned */
	size_t n_cpus, cap_cpus;
	size_t n_queues[QUEUE_KINDS]; /* CPUs from 0 that have a queue of the kind */
	int64_t latest; /* ns, time of its latest packet */
	unsigned kernel_major, kernel_minor; /* 0: unknown */
	uint32_t page_size;
	char arch[32];
	uint16_t states[512]; /* by prev_state: index in store.states + 1; 0: not looked up yet */
	uint32_t syscalls[550]; /* names by number: string + 1; 0: not looked up yet */
	int64_t tracing_started; /* ns; INT64_MIN: unknown */
	int64_t last_event; /* ns, latest kernel event of the session; INT64_MIN: none yet */
	int64_t first_data; /* ns; for ftrace events before it see rows_is_early() */
	enum { SUSPEND_NONE, SUSPEND_ENTERED, SUSPEND_FREEZING } suspend;
	uint32_t suspend_step; /* cookie of the last suspend_enter: see device_slices.c */
	bool preserve_ring, ftrace_begun; /* begun: the first ftrace event was released */
	bool negative_ftrace; /* ftrace events of times below 0 were dropped */
};

struct deferred_packet;
struct generic_number;
struct track_node;
struct slice_stack;
struct open_state;
struct event_rule;
struct track_group;
struct open_flow;
struct described_node;
struct event_value;
struct proto_field;
struct remembered;
struct cgroup_member;

/* The uuid of the TrackDescriptor that described a thread or process. */
struct seen_uuid {
	uint64_t uuid;
	bool seen;
};

/* A label of a process, from its ProcessDescriptor. */
struct process_label {
	uint32_t upid;
	unsigned index; /* in the descriptor */
	uint32_t text; /* a string */
	size_t order; /* among all labels */
};

struct import {
	struct store *store;
	struct machine *machines[MAX_MACHINES]; /* owned */
	size_t n_machines;
	struct event_queues queues;
	struct arg_builder args; /* scratch: the set that is being made */
	struct arg_list list; /* scratch: arguments that are read */
	struct deferred_packet *deferred; /* owned: packets whose clock is not known yet */
	size_t n_deferred, cap_deferred;
	bool at_end; /* the file was read: no further clock snapshot will come */
	bool compressed; /* tokenize_packet() reads packets of a compressed packet */
	uint64_t undecodable; /* packets, bundles and descriptors that cannot be decoded */
	uint64_t not_unpacked; /* compressed packets that could not be unpacked to their end */
	struct pb_field config; /* the first TraceConfig */
	bool has_uuid; /* true if the trace has a uuid */
	bool is_file_without_flush; /* a config writes into a file and has no flush period */
	bool rings_overwrite; /* rings of the kernel are read on request only */
	bool flushes_files; /* the service flushes sessions that are written into files */
	uint32_t packet_queues[MAX_MACHINES][QUEUE_TRACK_EVENTS + 1];
	struct task_infos infos;
	int64_t n_buffers; /* central buffers in TraceStats */
	bool has_ring_begin; /* FtraceStats of the start were seen */
	struct generic_number *generic; /* owned hash */
	struct track_node *tracks; /* owned hash */
	const struct event_rule *rules[RULES_MAX]; /* by event number, where rules_known */
	bool rules_known[RULES_MAX];
	struct slice_stack *stacks; /* owned, by track */
	size_t cap_stacks;
	struct open_state *open_states; /* owned, by track */
	size_t cap_open_states;
	struct track_group *groups; /* owned hash */
	uint32_t n_track_groups; /* groups that have a track */
	struct open_flow *flows; /* owned hash */
	struct described_node *described; /* owned hash */
	struct event_value *event_values; /* owned hash: see event_value_get() */
	struct proto_field *proto_fields; /* owned hash: of messages that the trace describes */
	struct seen_uuid *utid_uuids, *upid_uuids; /* owned; by utid, by upid */
	size_t cap_utid_uuids, cap_upid_uuids;
	struct remembered *remembered; /* owned hash: see remembered.h */
	uint32_t n_remembered[17]; /* keys, by kind */
	struct deferred_track *late; /* owned hash: tracks that are made at the end */
	struct row_node *row_nodes; /* owned hash: see remembered.h */
	struct perf_stream *perf_streams; /* owned hash */
	struct gpu_queue *gpu_queues; /* owned hash: see gpu_rules.c */
	struct gpu_value *gpu_values; /* owned hash */
	struct pb_field *module_symbols; /* owned: messages; see module_symbols.c */
	size_t n_module_symbols, cap_module_symbols;
	struct process_label *labels; /* owned */
	size_t n_labels, cap_labels;
	struct cgroup_member *members; /* owned: see cgroup_rows.h */
	size_t n_members, cap_members;
};

static inline struct table *import_table(struct import *im, enum store_table which)
{
	return &im->store->tables[which];
}

/* Returns the text of a field as a string; NULL_U32 for a field without bytes. */
static inline uint32_t import_intern_text(struct import *im, const struct pb_field *f)
{
	return f->data ? strings_intern(&im->store->strings, f->data, f->len) : NULL_U32;
}

/* Extends trace_bounds to the time of a row. */
static inline void import_extend_bounds(struct import *im, int64_t ts)
{
	im->store->start_ts = MIN(im->store->start_ts, ts);
	im->store->end_ts = MAX(im->store->end_ts, ts);
}

/* Extends trace_bounds to an interval. An open one (dur -1) ends at ts - 1, as in
 * trace_processor. */
static inline void import_extend_bounds_to_span(struct import *im, int64_t ts, int64_t dur)
{
	int64_t end = (int64_t)((uint64_t)ts + (uint64_t)dur);

	im->store->start_ts = MIN(im->store->start_ts, ts);
	im->store->end_ts = MAX(im->store->end_ts, end);
}
