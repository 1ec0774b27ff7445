/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/core/err.h"
#include "cli/recorder/recorder_dir.h"

/*
 * What a recorder reports about itself to other processes of its user: the file "state" in its
 * directory, with lines "KEY VALUE". The file is replaced as a whole and outlives the recorder. A
 * recorder is running if the directory is locked.
 */

struct recorder_state {
	char what[16]; /* "starting", "recording", "waiting", "ended" */
	char why[256]; /* why it waits or has ended; "": neither */
	char words[512]; /* what it records */
	char consumer[128], producer[128]; /* the sockets of its service; "": none */
	/* "armed ...", or why the ring that survives a crash is not; "": it is not wanted. */
	char crash[256];
	char boot[RECORDER_BOOT_SIZE]; /* of recorder_boot_read() */
	uint64_t pid;
	uint64_t since_s; /* of CLOCK_REALTIME: when it began to do this */
	uint64_t max_bytes; /* of the ring */
	uint64_t kernel_bytes; /* of the kernel's rings; 0: without --in-kernel */
	uint64_t keep_s; /* older parts are removed */
	uint64_t restarts; /* since the recorder was started */
	uint64_t snapshots, snapshots_failed, snapshots_skipped; /* by triggers, since the start */
};

/* Returns 0 or -errno. */
int recorder_state_write(const char *dir, const struct recorder_state *s);
/* Returns 0; -ENOENT if there is none; -EBADMSG if it is invalid; or -errno. */
int recorder_state_read(const char *dir, struct recorder_state *ret);

/* Sets `why` of a recorder that no longer runs and has not written its end. */
void recorder_state_explain_death(struct recorder_state *s);
