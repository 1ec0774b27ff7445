/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "client/counters/tracks.h"
#include "base/text/span.h"

/*
 * The names that numbers have in one kind of file, such as memory.stat, and the tracks that they are
 * in the files of this kind, one file for each cgroup.
 *
 *	keys:   0 "anon"   1 "file"   2 "pgfault"      once for all files
 *	tracks: 17         18         -                of one file
 *
 * The kernel writes names in the same order each time, so the next one is nearly always the one
 * behind the last.
 */

/* In one kind of file. Others are not recorded. */
#define COUNTER_KEYS_MAX 4096
#define COUNTER_KEY_SIZE 160 /* with its NUL; longer names are not recorded */

struct counter_key {
	char *shown; /* owned: "memory.stat anon" */
	const char *name; /* in it, as it is in the file: "anon" */
	bool wanted;
	struct track_spec spec; /* but for name and parent */
};

/* Zero-initialise with the first three. */
struct counter_keys {
	/* A name that was not seen before: is it wanted, and what is it? */
	bool (*decide)(void *ctx, const char *shown, struct track_spec *ret_spec);
	void *ctx;
	const char *prefix; /* of names in the trace, borrowed; NULL: none */
	struct counter_key *all; /* owned */
	size_t n, cap;
	size_t next; /* behind the one that was found last */
};

/* Zero-initialise. Handles are TRACK_ROOT where none was made. */
struct counter_tracks {
	uint32_t *all; /* owned */
	size_t n, cap;
};

void counter_keys_deinit(struct counter_keys *k);
void counter_tracks_deinit(struct counter_tracks *x);

/* The track of that name in a file whose tracks stand under group: made when it is the first time.
 * TRACK_VOID: it is not wanted, or cannot be had. */
uint32_t counter_keys_track(struct counter_keys *k, struct counter_tracks *x, struct tracks *t,
			    uint32_t group, struct span name);
