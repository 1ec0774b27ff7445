/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/core/hash_table.h"
#include "import/file/trace_output.h"
#include "import/perf_data/kernel_names.h"
#include "import/perf_data/perf_facts.h"
#include "stacks/frames/address_spaces.h"
#include "stacks/frames/stacks.h"

/*
 * Samples of call stacks, and the processes that they are of; context switches. Records come in the
 * order of time: a stack is resolved by the mappings of its process at that moment.
 *
 * A task that starts is written as the kernel's event task_newtask, because a reader then knows
 * that its number begins anew; a task that was there before, as a part of a ProcessTree.
 *
 * A context switch is written as the kernel's event sched_switch, unless the file has these events.
 * Its records do not have priorities, nor how a thread sleeps: S stands for every kind of sleep.
 *
 * The samples of the first event with samples are in one packet sequence, those of all other events
 * in a second one, because a sequence has one timebase.
 */
#define SAMPLE_FRAMES_MAX STACKS_FRAMES_MAX
#define SWITCH_CPUS_MAX 4096

/* The name of a thread, which those that it starts inherit. */
struct thread_name {
	int32_t tid; /* key */
	char comm[16];
	UT_hash_handle hh;
};

struct sample_packets {
	struct perf_attrs *attrs; /* borrowed, as are facts and result */
	struct perf_facts *facts;
	struct import_result *result;
	struct mapped_files files;
	struct address_spaces spaces;
	struct stacks stacks;
	const struct kernel_names_source *source; /* borrowed */
	struct kernel_names names;
	bool has_names; /* names is initialised: the mapping of the kernel was recorded */
	struct trace_sequence processes; /* packets of processes, threads and switches */
	struct trace_sequence sequences[STACKS_SEQUENCES];
	struct perf_event *events[STACKS_SEQUENCES]; /* whose timebase a sequence has; NULL: none */
	struct thread_name *thread_names; /* owned; by tid */
	bool has_newtask; /* the file has the kernel's own events of new tasks */
	bool has_switches; /* the file has the kernel's own events of switches */
	uint32_t *running; /* owned: SWITCH_CPUS_MAX; the thread that runs on each CPU; 0: none */
	uint64_t n_switches; /* that were written */
	uint64_t first_ns; /* the first time in the file: records without a time get it */
	uint64_t n_cut; /* stacks with more frames than SAMPLE_FRAMES_MAX */
};

/* Returns 0 or -ENOMEM; sample_packets_deinit in both cases. first_id: of three sequences. */
int sample_packets_init(struct sample_packets *p, struct trace_output *out, uint32_t first_id);
void sample_packets_deinit(struct sample_packets *p);

/* Applies a record about mappings or tasks, or writes a sample. Returns 0 or -ENOMEM. */
int sample_packets_handle_record(struct sample_packets *p, uint64_t time, const uint8_t *record,
				 size_t len);

/* Writes that samples were lost. */
void sample_packets_put_lost(struct sample_packets *p, const struct perf_record_end *end,
			     uint64_t time, uint64_t n);
