/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/core/err.h"

struct event_base;

/*
 * Saves snapshots of the ring at triggers, in the folder "snapshots" of the recorder:
 *
 *	20261127T143334-unit-failed.pftrace		the trace, of `sonda snapshot`
 *	20261127T143334-unit-failed.pftrace.json	what has triggered it, and when
 *
 * A process of its own writes each, so that the recorder goes on. One is written at a time, and one may
 * wait. A trigger saves none for a pause after its last one. Triggers that save none are counted and
 * logged. Above a number and a size, the oldest snapshots of the trigger with the most are removed.
 */
struct recorder_saver;

struct recorder_saver_setup {
	struct event_base *loop; /* borrowed, as dir */
	const char *dir;
	uint32_t last_s; /* how much of the ring; 0: all */
	uint32_t pause_ms;
	uint32_t max_files;
	uint64_t max_bytes;
	/* A snapshot was saved, or not; the counts have grown. */
	void (*on_done)(void *ctx);
	void *ctx;
};

struct recorder_saver_counts {
	uint64_t saved, failed, skipped;
};

/* Returns NULL if memory is out. */
struct recorder_saver *recorder_saver_new(const struct recorder_saver_setup *setup);
/* Ends a process that writes. No-op for NULL. */
void recorder_saver_free(struct recorder_saver *s);

/* Begins to save a snapshot. trigger: its name, which may be untrusted; reason: for the user. */
void recorder_saver_take(struct recorder_saver *s, const char *trigger, const char *reason);
struct recorder_saver_counts recorder_saver_counts(const struct recorder_saver *s);
