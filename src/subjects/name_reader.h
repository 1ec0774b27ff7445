/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "subjects/runtime_files.h"

struct event_base;

/*
 * Reads the names of containers and pods from the files of their runtimes, never from a runtime's
 * socket. Two processes of its own do that (base/system/helper_pair.h), because the files are
 * hostile: sonda-name-open opens regular files of root, or of the user whose container it is, and
 * sonda-names parses them.
 *
 * Answers come through the loop, in the order of the requests, and are checked again. A process has
 * one name reader, and one thread uses it.
 */

/* Forks the two processes, which end with this one. Call it while there is one thread, and before
 * the sandbox. root: a directory before all paths, "" except in tests; borrowed. Returns 0 or
 * -errno. */
int name_reader_start(const char *root);
/* Ends the two processes. No-op if they do not run. */
void name_reader_stop(void);

struct name_reader_user {
	/* Set by the caller. result: 0; -ENOENT if no file has the container; -EPIPE if the reader
	 * has ended: then no further answers come. names is valid during the call. */
	void (*answered)(void *ctx, uint64_t id, int result, const struct container_names *names);
	void *ctx;
	/* Set by the reader. */
	uint32_t number; /* 0: not joined */
	unsigned n_pending; /* requests without an answer */
	TAILQ_ENTRY(name_reader_user) link;
};

/* Adds a user. loop is borrowed while a user is joined; NULL: answers come only in
 * name_reader_wait(). Returns 0; -ENOTSUP if the processes do not run; or -ENOMEM. */
int name_reader_join(struct name_reader_user *u, struct event_base *loop);
/* Removes a user: answers that are still to come for it are dropped. No-op if u has not joined. */
void name_reader_leave(struct name_reader_user *u);

#define NAME_REQUESTS_MAX 32 /* of a user that may be pending */

/* Sends a request. Returns false if too many are pending, or the reader has ended. */
bool name_reader_send_request(struct name_reader_user *u, uint64_t id,
			      const struct container_key *key);
/* Waits for a reply to any user of the reader, for at most `ms`. Call it in a coroutine; the loop
 * keeps running. Returns false on a timeout. */
bool name_reader_wait(unsigned ms);
