/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "stacks/frames/stack_session.h"
#include "stacks/samples/perf_config.h"
#include "stacks/samples/sample_program.h"
#include "stacks/unwind/unwind_preload.h"
#include "stacks/unwind/unwind_tables.h"
#include "subjects/subject.h"

/*
 * One instance of linux.perf: what the files of this directory share.
 *
 *	perf_source.c    its lifetime
 *	perf_events.c    the events of the CPUs, and the program that takes their samples
 *	perf_records.c   turns records of the rings, in order of time, into mappings and samples
 *	perf_packets.c   turns samples into packets
 *	perf_tasks.c     threads and their new names, for linux.process_stats
 *
 * Its rounds (stack_session.h) read records and write samples.
 */
#define PERF_SAMPLES_MAX 65536 /* samples of a round; the rest follows in the next one */
#define PERF_RENAMED_MAX 4096 /* tasks of a round with a new name; further ones keep the old name */

struct perf_sample {
	uint64_t time, count;
	uint32_t cpu, pid, tid;
	uint32_t stack; /* number + 1; 0: none */
	uint8_t mode; /* Profiling.CpuMode */
	uint8_t unwind_error; /* Profiling.StackUnwindError; 0: none */
};

struct perf_renamed {
	uint64_t time; /* CLOCK_BOOTTIME; 0: unknown */
	int32_t tid;
	bool is_exec; /* the task executed another program */
	char name[16];
};

struct perf_session {
	struct stack_session base; /* its first member */
	Pb__DataSourceConfig *config; /* owned: a copy */
	struct perf_config perf;
	struct subject_ids ids; /* what the config names */
	/* Why BPF programs cannot select the samples of the subject; "": they do. Then /proc
	 * selects the processes by `subject`. */
	struct err_text by_proc;
	struct subject subject;
	/* Writes the samples to a ring of its own; owned. NULL: the kernel writes them to those of
	 * the CPUs. */
	struct sample_program *program;
	struct sample_filter *filter; /* owned; NULL: there is no subject, or the program selects */
	struct unwind_tables_user tables; /* of the program */
	struct unwind_preload preload; /* from start() until the events are enabled */
	/* Why the BPF program is not used although the config requests user stacks, and -errno;
	 * empty if it is used. */
	struct err_text by_frame_pointers;
	int no_program;
	struct perf_sample *samples; /* owned; of the round */
	size_t n_samples, cap_samples;
	uint64_t *follower_counts; /* owned: perf.n_followers of each sample */
	size_t cap_follower_counts;
	int *followers; /* owned, as the descriptors: perf.n_followers of each ring */
	size_t n_followers;
	char **additional; /* owned: programs that are sampled in addition to those of the scope */
	size_t n_additional;
	struct perf_renamed *renamed; /* owned; of the round */
	size_t n_renamed, cap_renamed;
	bool is_broken_reported;
	uint64_t n_written, n_lost, n_throttled; /* for the log */
};

/* Selects the processes of the subject by /proc, because s->by_proc. Returns 0, or -errno and sets
 * s->base.refused. */
int perf_events_select_by_proc(struct perf_session *s);
/* Opens the events, disabled. Returns 0, or -errno, which is logged unless the session is
 * refused. */
int perf_events_open(struct perf_session *s);
/* Enables or disables them. Returns 0, or -errno of the last failure. */
int perf_events_enable(struct perf_session *s, bool yes);
void perf_events_close(struct perf_session *s);

/* Reads records until the rings are empty, PERF_SAMPLES_MAX is reached, the stacks are full, or an
 * answer is needed (stack_session_ops.read). */
bool perf_records_read(struct stack_session *base);
/* Returns whether the process is to be sampled. Decides that the first time: reads its command
 * line, if the config names command lines, and may add its program to the additional ones. */
bool perf_records_admit_process(struct perf_session *s, struct address_space *a);

/* Keeps the new name of a task. name has len bytes; time is by the clock of the samples. */
void perf_tasks_add_renamed(struct perf_session *s, uint64_t time, int32_t tid, const char *name,
			    size_t len, bool is_exec);
/* Publishes the tasks of the round, so that linux.process_stats describes them. */
void perf_tasks_publish(struct perf_session *s);

/* Writes the samples of the round (stack_session_ops.write). */
void perf_packets_write_samples(struct stack_session *base, bool is_last);
/* Writes why there are no samples, or no stacks of programs without frame pointers. */
void perf_packets_write_refusal(struct perf_session *s);
/* Writes that n records of the CPU are missing. */
void perf_packets_write_lost(struct perf_session *s, unsigned cpu, uint64_t n);
