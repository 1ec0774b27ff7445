/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/text/span.h"
#include "client/counters/polled_source.h"
#include "client/counters/tracks.h"

/*
 * A file of /proc or of a control group that is read in each pass. It is opened once and read with
 * pread() from offset 0, which makes the kernel generate it again. A missing file is opened again
 * after COUNTER_FILE_RETRY passes.
 */

#define COUNTER_FILE_MAX (4u << 20) /* bytes */
#define COUNTER_FILE_RETRY 16 /* passes */

struct counter_file {
	int fd; /* owned; -1: not open */
	uint32_t retry; /* the pass in which a missing file is opened again */
};

/* Reads the file at path, relative to the directory at, into p->text, up to its last newline; valid
 * until the next read. whole: the kernel returns the text in one read. Returns 0; -EBADMSG with the
 * complete lines if the last one is cut; -ENODATA if it is empty; -ENOENT if it does not exist or
 * its feature is off: the next COUNTER_FILE_RETRY passes return that without trying to open it; or
 * another -errno. */
int counter_file_read(struct counter_file *f, struct polled_source *p, int at, const char *path,
		      bool whole, struct span *ret_text);
/* Closes the file, one of the p->fds open ones. No-op if it is not open. */
void counter_file_close(struct counter_file *f, struct polled_source *p);

/*
 * The names of the counters in one kind of file, such as memory.stat, and their tracks in each file
 * of this kind (one file for each control group).
 *
 *	keys:   0 "anon"   1 "file"   2 "pgfault"      once for all files
 *	tracks: 17         18         -                of one file
 *
 * The kernel writes names in the same order each time, so the next name is nearly always the one
 * after the last.
 */

/* Limit of names in one kind of file; further names are skipped. */
#define COUNTER_KEYS_MAX 4096
#define COUNTER_KEY_SIZE 160 /* with the NUL; longer names are skipped */

struct counter_key {
	char *shown; /* owned: "memory.stat anon" */
	const char *name; /* part of shown: the name in the file, "anon" */
	bool wanted;
	struct track_spec spec; /* without name and parent */
};

/* The owner sets the first three fields; the rest is zero-initialised. */
struct counter_keys {
	/* Called for a new name: returns true if it is selected, and sets the spec of its track. */
	bool (*decide)(void *ctx, const char *shown, struct track_spec *ret_spec);
	void *ctx;
	const char *prefix; /* prefix of the names in the trace, borrowed; NULL: none */
	struct counter_key *all; /* owned */
	size_t n, cap;
	size_t next; /* index after the key that was found last */
};

/* Handles of the tracks of one file, by the index of the key; TRACK_ROOT: no track yet.
 * Zero-initialise. */
struct counter_tracks {
	uint32_t *all; /* owned */
	size_t n, cap;
};

void counter_keys_deinit(struct counter_keys *k);
void counter_tracks_deinit(struct counter_tracks *x);

/* Returns the track of that name in a file whose tracks are below group; creates it for a new name.
 * Returns TRACK_VOID if it is not selected or not available. */
uint32_t counter_keys_get_track(struct counter_keys *k, struct counter_tracks *x, struct tracks *t,
				uint32_t group, struct span name);
