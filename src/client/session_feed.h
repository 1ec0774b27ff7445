/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/*
 * News between data sources of one tracing session that must not know each other: ftrace sees
 * tasks, process_stats names them. A listener hears the news of its own session only.
 */
struct session_feed;

struct feed_fd {
	int32_t pid;
	int32_t fd;
};

/* One drain's worth. Arrays are borrowed during the call; a tid stands once in each. */
struct feed_news {
	const int32_t *renamed; /* names that are out of date: exec, prctl, a new task */
	size_t n_renamed;
	const int32_t *tids; /* seen */
	size_t n_tids;
	const struct feed_fd *fds; /* opened */
	size_t n_fds;
};

typedef void (*feed_listener)(void *ctx, const struct feed_news *news);

struct session_feed *session_feed_new(void);
/* All listeners must be gone. */
struct session_feed *session_feed_free(struct session_feed *f);

/* 0, -EEXIST (same session and ctx) or -ENOMEM. */
int session_feed_listen(struct session_feed *f, uint64_t session_id, feed_listener fn, void *ctx);
void session_feed_unlisten(struct session_feed *f, uint64_t session_id, void *ctx);
/* Does anybody listen to this session? Whoever gathers news for nobody can stop. */
int session_feed_wanted(const struct session_feed *f, uint64_t session_id);
/* To every listener of the session, which takes renamed first, then tids, then fds. */
void session_feed_tell(struct session_feed *f, uint64_t session_id, const struct feed_news *news);
