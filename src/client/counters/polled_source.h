/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/text/str.h"
#include "client/counters/tracks.h"
#include "client/producer/data_source.h"

/*
 * Read errors of a source of polled counters, for its packet in the trace. New kinds are reported
 * at once, the number of failures at each flush.
 *
 * Format: perfetto.protos.PolledCountersStats, a message of sonda.
 */

/* Kinds of failures that are reported with a path; further ones are counted. */
#define COUNTER_ERRORS_KINDS 16u
#define COUNTER_ERRORS_PATH 128u /* longer ones are cut */

/* Zero-initialise; it owns nothing. */
struct counter_errors {
	struct {
		char path[COUNTER_ERRORS_PATH];
		int error; /* an errno, positive */
	} kinds[COUNTER_ERRORS_KINDS];
	unsigned n;
	uint64_t failures; /* reads that failed, since the start */
	uint64_t refused; /* refused tracks, since the start */
	uint64_t written; /* failures and refused tracks in the last packet */
	bool is_new; /* an error is not reported yet */
};

/*
 * A data source that polls files and writes their numbers as counter tracks: its life, its timer
 * and its time slices (base/event_loop/time_slice.h). The source embeds it, with its own ops, and
 * passes it as instance; the functions below that take an instance are those of struct data_source.
 *
 * A pass is begin() and then step() until it returns false. The next pass starts at the next
 * multiple of the period, but only after a pause at least as long as the last pass. So a period
 * that is too short for the machine skips ticks.
 *
 * With a period of COUNTER_SLOW_MS or more each pass is committed at its end: a consumer that reads
 * during the recording then needs no flush. With a shorter period the last chunk stays open.
 *
 * Before a flush or stop is answered, an extra pass runs, if the last pass is old and was short.
 */

#define COUNTER_PERIOD_MS 1000 /* if the config has none */
#define COUNTER_PERIOD_MIN_MS 10u
#define COUNTER_SLOW_MS 500u
/* A pass that began less than this ago is recent; a pass that took less is short. */
#define COUNTER_NEW_MS 100
#define COUNTER_SHORT_MS 50
/* How many files one instance keeps open at most; further ones are opened for each read. */
#define COUNTER_FDS_MAX 4096

struct polled_source;

struct polled_source_ops {
	const char *name; /* of the data source */
	const char *group; /* of all its tracks */
	bool has_thread_tracks;
	void (*begin)(struct polled_source *p);
	/* Does a short step, such as one file. Returns false at the end of the pass. */
	bool (*step)(struct polled_source *p);
	/* Calls polled_source_deinit() and frees the source that embeds p. */
	void (*deinit)(struct polled_source *p);
};

struct polled_source {
	const struct polled_source_ops *ops; /* borrowed, as is h */
	struct ds_handle *h;
	struct writer *writer; /* owned */
	struct writer *thread_writer; /* owned; for tracks of threads. NULL: none */
	struct tracks *tracks; /* owned */
	struct event *next_slice; /* owned */
	struct event *tick; /* owned */
	struct strbuf text; /* the last file read */
	uint32_t group; /* the track of ops->group */
	uint32_t failures_track; /* this and the next are created first, so never refused */
	uint32_t refused_track;
	uint32_t period_ms;
	uint32_t pass; /* number of the pass */
	unsigned fds; /* open now */
	struct counter_errors errors;
	uint64_t pass_began; /* start of the pass; CLOCK_MONOTONIC, ns */
	uint64_t pass_took; /* duration of the last complete pass, ns */
	struct flushes flushes;
	bool in_pass;
	bool is_waited_for; /* flushes or the stop wait for the pass */
	bool refused_reported;
	bool start_answered;
	bool stopping;
};

/* Returns 0 or -errno; deinit in either case. */
int polled_source_init(struct polled_source *p, const struct polled_source_ops *ops,
		       struct ds_handle *h, const struct ds_env *env, uint32_t period_ms);
void polled_source_deinit(struct polled_source *p);
/* Commits what the writers have written. */
void polled_source_flush_writers(struct polled_source *p);

/* Counts a file that could not be read or parsed. Logs the first failure and sets *logged. error is
 * a positive errno. */
void polled_source_failed(struct polled_source *p, bool *logged, const char *path, int error);

void polled_source_start(void *instance);
void polled_source_flush(void *instance, uint64_t flush_id);
void polled_source_clear(void *instance);
void polled_source_stop(void *instance);
void polled_source_destroy(void *instance);
