/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/err.h"

/*
 * The directory of a recorder, of mode 0700:
 *
 *	lock				held (flock) by the running recorder
 *	state				what it does, for other processes (recorder_state.h)
 *	part-000003-1c9d2f0a.000017.pftrace
 *	     session boot    number	a part of the ring, which sondad writes (TraceConfig.rotate)
 *	snapshots/			what triggers have saved
 *
 * Each start of the recorder begins a session with its own number, so that the names of the parts
 * are in chronological order whatever the clock of the machine shows. boot is the beginning of the
 * boot id: only parts of the same boot share a time line.
 */

#define RECORDER_DEFAULT_DIR "/var/lib/sonda/recorder"
#define RECORDER_BOOT_SIZE 9 /* 8 digits and a NUL */
#define RECORDER_PARTS_MAX 100000 /* that are looked at */

struct recorder_part {
	uint32_t session, number;
	char boot[RECORDER_BOOT_SIZE];
	uint64_t bytes;
	int64_t end_ns; /* of CLOCK_REALTIME: when it was last written */
};

/* The parts, the oldest first. Zero-initialise; recorder_parts_deinit frees. */
struct recorder_parts {
	struct recorder_part *of; /* owned */
	size_t n, cap;
	uint64_t bytes;
};
void recorder_parts_deinit(struct recorder_parts *p);

/* Reads the list of the parts in dir. Returns 0 or -errno. */
int recorder_parts_read(const char *dir, struct recorder_parts *ret);
/* Writes the path of a part. Returns 0 or -ENAMETOOLONG. */
int recorder_part_path(const char *dir, const struct recorder_part *part,
		       char ret[static PATH_MAX]);
/* Writes the path whose numbered files are the parts of a session. Returns 0 or -ENAMETOOLONG. */
int recorder_part_series(const char *dir, uint32_t session, const char *boot,
			 char ret[static PATH_MAX]);

/* Removes the oldest parts until the others have at most max_bytes, and none of them was last
 * written before oldest_ns. The newest part is always kept. Returns how many were removed, and
 * updates the list. */
size_t recorder_parts_prune(const char *dir, struct recorder_parts *p, uint64_t max_bytes,
			    int64_t oldest_ns);

/* Reads the beginning of this boot's id; "00000000" if the kernel does not provide it. */
void recorder_boot_read(char ret[static RECORDER_BOOT_SIZE]);

/* Creates the directory, unless it exists, and takes its lock. Returns 0 and the descriptor, which
 * holds the lock until it is closed; -EBUSY and sets e if another recorder has it; or -errno and
 * sets e. */
int recorder_dir_lock(const char *dir, int *ret_fd, struct err_text *e);
/* Returns true if a recorder holds the lock. */
bool recorder_dir_is_locked(const char *dir);
