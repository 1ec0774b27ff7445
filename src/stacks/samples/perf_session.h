/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "client/producer/data_source.h"
#include "client/producer/metadata_bus.h"
#include "stacks/frames/cpu_rings.h"
#include "stacks/frames/stack_resolver.h"
#include "stacks/samples/perf_config.h"
#include "stacks/samples/sample_program.h"
#include "stacks/unwind/unwind_tables.h"

/*
 * One instance of linux.perf: what the files of this room share.
 *
 *	perf_source.c    its life, and when the rings are read
 *	perf_events.c    the events of the CPUs, and the program that takes their samples
 *	perf_records.c   records of the rings, in order of time, to mappings and samples
 *	perf_packets.c   samples to packets
 *	perf_tasks.c     threads and their new names, for linux.process_stats
 *
 * A round reads the records in the rings, requests the names of new frames, and writes the samples
 * when the resolver has the answers, or has waited for them long enough (stack_resolver.h).
 */
#define PERF_SAMPLES_MAX 65536 /* samples of a round; the rest follows in the next one */
/* Processes of a round that get unwind tables before they are sampled. More than these start only
 * where the tables would cost too much. */
#define PERF_STARTED_MAX 4
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
	struct ds_handle *h; /* borrowed, as is the next */
	struct event_base *loop;
	Pb__DataSourceConfig *config; /* owned: a copy */
	struct perf_config perf;
	const char *proc_root; /* borrowed */
	struct metadata_bus *bus; /* borrowed */
	bool is_publisher; /* of the threads of samples, for linux.process_stats */
	struct writer *writer; /* owned */
	struct cpu_rings rings;
	/* Writes the samples to a ring of its own; owned. NULL: the kernel writes them to `rings`. */
	struct sample_program *program;
	struct event *program_wakeup; /* owned */
	struct unwind_tables_user tables; /* of the program */
	/* Callback of libevent: a ring or the program woke its reader. ctx: the session. */
	void (*woke)(int fd, short what, void *ctx);
	int32_t started[PERF_STARTED_MAX]; /* processes that were mapped since the last round */
	unsigned n_started;
	bool reads_soon; /* the tick was brought forward; further wakeups do not move it */
	/* Why the program is not used though the config asks for its stacks, and -errno; empty: it
	 * is. */
	struct err_text by_frame_pointers;
	int no_program;
	struct event *tick; /* owned */
	struct stack_resolver resolver;
	struct perf_sample *samples; /* owned; of the round */
	size_t n_samples, cap_samples;
	uint64_t *follower_counts; /* owned: perf.n_followers of each sample */
	size_t cap_follower_counts;
	int *followers; /* owned, as the descriptors: perf.n_followers of each ring */
	size_t n_followers;
	char **additional; /* owned: programs that are sampled besides those of the scope */
	size_t n_additional;
	struct perf_renamed *renamed; /* owned; of the round */
	size_t n_renamed, cap_renamed;
	int32_t *tids; /* owned; for the bus */
	size_t cap_tids;

	bool is_started, is_stopping, has_state;
	bool reads_all; /* the round reads younger records as well */
	bool has_read; /* the records of the round were read; the round waits for names */
	bool is_broken_reported;
	int refusal; /* why the source does not sample, -errno; 0: it samples */
	struct err_text refused; /* what was refused */
	struct flushes flushes;
	uint64_t n_written, n_lost, n_throttled; /* for the log */
};

/* Opens the events, disabled. Returns 0, or -errno, which is logged. */
int perf_events_open(struct perf_session *s);
/* Enables or disables them. Returns 0, or -errno of the last failure. */
int perf_events_enable(struct perf_session *s, bool yes);
void perf_events_close(struct perf_session *s);

/*
 * Reads records until the rings are empty (younger ones stay, see CPU_RINGS_DELAY_NS),
 * PERF_SAMPLES_MAX is reached, the stacks are full, or an answer is needed. Returns false if it
 * waits for an answer.
 */
bool perf_records_read(struct perf_session *s);

/* Keeps the new name of a task. name has len bytes; time is by the clock of the samples. */
void perf_tasks_rename(struct perf_session *s, uint64_t time, int32_t tid, const char *name,
		       size_t len, bool is_exec);
/* Publishes the tasks of the round, so that linux.process_stats describes them. */
void perf_tasks_publish(struct perf_session *s);

/* Writes the samples of the round. */
void perf_packets_write(struct perf_session *s);
/* Writes why there are no samples, or no stacks of programs without frame pointers. */
void perf_packets_write_refusal(struct perf_session *s);
/* Writes that n records of the CPU are missing. */
void perf_packets_write_lost(struct perf_session *s, unsigned cpu, uint64_t n);
