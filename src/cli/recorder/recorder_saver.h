/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/err.h"
#include "cli/trace/alert.h"

struct event_base;

/*
 * Saves snapshots of the ring when triggers fire, in the directory "snapshots" of the recorder:
 *
 *	20261127T143334-unit-failed.pftrace		the trace, of `sonda snapshot`
 *	20261127T143334-unit-failed.pftrace.json	what has triggered it, and when
 *
 * Each is written by a separate process, so that the recorder keeps running. One snapshot is
 * written at a time, and one more may wait. After a snapshot, its trigger saves no other one for a
 * pause. Triggers that save none are counted and logged. Above a total number or size, the oldest
 * snapshot of the trigger that has the most is removed.
 */
struct recorder_saver;

struct recorder_saver_setup {
	struct event_base *loop; /* borrowed, as dir */
	const char *dir;
	uint32_t last_s; /* how much of the ring; 0: all */
	uint32_t pause_ms;
	uint32_t max_files;
	uint64_t max_bytes;
	/* A snapshot was saved, or has failed; the counts are up to date. */
	void (*on_done)(void *ctx);
	/* May be NULL. The same for a snapshot of recorder_saver_handle_alert(). */
	void (*on_alert_done)(void *ctx, const struct alert *a, bool saved);
	void *ctx;
};

struct recorder_saver_counts {
	uint64_t saved, failed, skipped;
};

/* Returns NULL if memory runs out. */
struct recorder_saver *recorder_saver_new(const struct recorder_saver_setup *setup);
/* Ends the process that is writing, if any. No-op for NULL. */
void recorder_saver_free(struct recorder_saver *s);

/* Saves a snapshot, or queues it while another one is being written. Skips it if one is queued
 * already, or the last one of this trigger was less than pause_ms ago. trigger: its name, which may
 * be untrusted; reason: for the user. */
void recorder_saver_handle_trigger(struct recorder_saver *s, const char *trigger,
				   const char *reason);
/* The same for an alert, whose labels and start become a part of the trace. The trigger of all
 * alerts is "alert". Returns false if the snapshot was skipped, or if memory runs out, which counts
 * as a failed snapshot. */
bool recorder_saver_handle_alert(struct recorder_saver *s, const struct alert *a);
struct recorder_saver_counts recorder_saver_counts(const struct recorder_saver *s);
