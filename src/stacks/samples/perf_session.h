/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "client/producer/data_source.h"
#include "client/producer/metadata_bus.h"
#include "stacks/files/file_reader.h"
#include "stacks/frames/address_spaces.h"
#include "stacks/frames/stacks.h"
#include "stacks/samples/cpu_ring.h"
#include "stacks/samples/perf_config.h"
#include "symbols/symbol_cache.h"

/*
 * One instance of linux.perf: what the files of this room share.
 *
 *	perf_source.c    its life, and when the rings are read
 *	perf_records.c   records of the rings, in order of time, to address spaces and samples
 *	perf_names.c     the names of new frames, from the file reader
 *	perf_packets.c   samples to packets
 *	perf_tasks.c     threads and their new names, for linux.process_stats
 *
 * A round reads the records in the rings, requests the names of new frames, and writes the samples
 * when it has the answers, or PERF_ANSWER_MS after the last one.
 */
#define PERF_SAMPLES_MAX 65536 /* samples of a round; the rest follows in the next one */
#define PERF_RENAMED_MAX 4096 /* tasks of a round with a new name; further ones keep the old name */
#define PERF_ANSWER_MS 2000 /* if no answer comes for so long, the round continues */
/*
 * Records become visible up to this time after their time stamp. A round leaves younger ones in the
 * rings, so that it reads the records of all CPUs in order.
 */
#define PERF_SETTLE_NS 1000000

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

/* The frames of a request for names. */
struct name_request {
	uint32_t n;
	uint32_t frames[FILE_NAMES_MAX];
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
	struct cpu_ring *rings; /* owned */
	struct event **wakeups; /* owned: events at which a ring is half full */
	unsigned n_rings;
	struct event *tick; /* owned */
	struct event *deadline; /* owned: timer of the answers */
	struct symbol_cache_user symbols;
	struct file_reader_user reader;

	struct mapped_files files;
	struct address_spaces spaces;
	struct stacks stacks;
	struct perf_sample *samples; /* owned; of the round */
	size_t n_samples, cap_samples;
	struct perf_renamed *renamed; /* owned; of the round */
	size_t n_renamed, cap_renamed;
	int32_t *tids; /* owned; for the bus */
	size_t cap_tids;
	struct name_request *asked; /* owned: of the round */
	size_t n_asked, cap_asked;
	size_t named; /* frames below this number have been requested */

	unsigned outstanding; /* answers that the round waits for */
	unsigned late; /* answers that earlier rounds gave up; they are still to come */
	/* set with `late`: rounds send no requests until the late answers have come */
	bool reader_is_silent;
	int32_t maps_of; /* the process whose mappings are read; 0: none */
	bool is_started, is_stopping, has_state;
	bool reads_all; /* the round reads younger records as well */
	bool has_read; /* the records of the round were read; the round waits for names */
	bool is_broken_reported;
	int refusal; /* why the source does not sample, -errno; 0: it samples */
	struct err_text refused; /* what was refused */
	struct flushes flushes;
	uint64_t n_written, n_lost, n_throttled; /* for the log */
};

/*
 * Reads records until the rings are empty (younger ones stay, see PERF_SETTLE_NS), PERF_SAMPLES_MAX
 * is reached, the stacks are full, or an answer is needed. Returns false if it waits for an answer.
 */
bool perf_records_read(struct perf_session *s);
/* Handles an answer with the mappings of a process. */
void perf_records_handle_answer(struct perf_session *s, const struct file_answer *a);

/*
 * Requests the names of new frames. Returns true if the round need not wait: all were requested and
 * answered, or no answer will come.
 */
bool perf_names_ask(struct perf_session *s);
/* Handles an answer about a file or the names of functions. */
void perf_names_handle_answer(struct perf_session *s, const struct file_answer *a);
/* Continues without the outstanding answers. */
void perf_names_give_up(struct perf_session *s);

/* Keeps the new name of a task. name has len bytes; time is by the clock of the samples. */
void perf_tasks_rename(struct perf_session *s, uint64_t time, int32_t tid, const char *name,
		       size_t len, bool is_exec);
/* Publishes the tasks of the round, so that linux.process_stats describes them. */
void perf_tasks_publish(struct perf_session *s);

/* Writes the samples of the round. */
void perf_packets_write(struct perf_session *s);
/* Writes that there are no samples, and why. */
void perf_packets_write_refusal(struct perf_session *s);
/* Writes that n records of the CPU are missing. */
void perf_packets_write_lost(struct perf_session *s, unsigned cpu, uint64_t n);
