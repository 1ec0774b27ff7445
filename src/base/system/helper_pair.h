/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/system/helper_process.h"

/*
 * Two helper processes that read hostile files for this process, so that no process both has
 * privileges and parses:
 *
 *	this process  --- request --->  opener   opens; has capabilities, parses nothing
 *	      ^                            |
 *	      |                   request, descriptor
 *	      |                            v
 *	      +------- answer -------   parser   parses; has no capabilities, opens nothing
 *
 * The requests are handled in their order. Both processes end when this one does, or when it calls
 * helper_pair_close().
 */
struct helper_pair {
	struct helper_process opener, parser;
};
#define HELPER_PAIR_NONE                                                                           \
	{                                                                                          \
		.opener = {.fd = -1}, .parser = {.fd = -1 }                                        \
	}

/* One of the two: run() gets the socket to this process, and the one to the other helper. */
struct helper_of_pair {
	const char *name; /* shown by ps(1) */
	void (*run)(int fd, int other, void *ctx);
	void *ctx;
};

/* Forks both. Call it while the process has one thread. Returns 0 or -errno; *ret is not alive
 * then. */
int helper_pair_start(const struct helper_of_pair *opener, const struct helper_of_pair *parser,
		      struct helper_pair *ret);
/* Closes the sockets to both. No-op if they are closed. */
void helper_pair_close(struct helper_pair *p);
/* Returns false if the pair was not started, or is closed. */
bool helper_pair_is_alive(const struct helper_pair *p);
/* Sends a request to the opener without waiting. Returns false if the opener has no room for it or
 * has ended, or if the pair is not alive. */
bool helper_pair_request(const struct helper_pair *p, const void *request, size_t len);

/* ---- for the opener ---- */

/* Drops all capabilities except these, and blocks all system calls but those for opening files to
 * read, for messages, and `calls`, whose last one is NULL. If the kernel refuses this, the process
 * continues with the rights that it had before. */
void helper_confine_opener(const unsigned *caps, size_t n_caps, const char *const *calls);

/* Opens for reading what the O_PATH descriptor `found` refers to. Opening a path with O_PATH has no
 * side effects, so check what it refers to first: opening a device for reading may have some.
 * flags: O_DIRECTORY or 0. Returns a descriptor or -errno. */
int helper_open_found(int found, int flags);
