/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stddef.h>

#include "client/counters/counter_poll.h"
#include "base/text/span.h"
#include "client/counters/tracks.h"

/*
 * A file of /proc or of a cgroup that is read in each pass: opened once, then read from its
 * beginning with pread, which makes the kernel write it anew. One that is not there, or has gone, is
 * looked for again every so many passes.
 */

#define COUNTER_FILE_MAX (4u << 20) /* bytes */
#define COUNTER_FILE_RETRY 16 /* passes */

struct counter_file {
	int fd; /* owned; -1: not open */
	uint32_t retry; /* the pass in which a missing one is looked for again */
};

/*
 * All of the file at path (relative to the folder at) as of now, in p->text until the next read, up
 * to the last newline. whole: the kernel gives the text in one read. 0; -EBADMSG with the lines that
 * there are, when the last one is cut; -ENODATA: empty; -ENOENT: it is not there (nor was it lately:
 * no call was made); -errno.
 */
int counter_file_read(struct counter_file *f, struct counter_poll *p, int at, const char *path,
		      bool whole, struct span *ret_text);
void counter_file_close(struct counter_file *f, struct counter_poll *p);

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
