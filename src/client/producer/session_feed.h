/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * News between data sources of one tracing session that must not know each other: ftrace sees
 * tasks and inodes, process_stats and inode_file_map name them. A listener hears the news of its own session only.
 *
 *	create   listen                         join
 *	start                                   wanted? then gather
 *	         hears  <---------------------- tell, after each look at the kernel
 *	flush    waits while news are owed      owe true ... tell ... owe false
 *	stop     waits until all have left      tell the last of it, leave
 */
struct session_feed;

enum feed_task_kind {
	FEED_TASK_NEW, /* begins: name as that of its creator */
	FEED_TASK_RENAMED,
	FEED_TASK_EXEC, /* runs another program, file */
	FEED_TASK_ENDED, /* but another thread of its process may still take over its number */
};

struct feed_task {
	uint64_t time_ns; /* CLOCK_BOOTTIME; 0: cannot be told */
	int32_t tid;
	int32_t other; /* NEW: its creator. EXEC: its number until now, where that was another */
	uint8_t kind; /* enum feed_task_kind */
	bool is_thread; /* NEW: of its creator's process, else a process of its own */
	bool is_sibling; /* NEW: a child of its creator's parent */
	uint32_t file_len; /* EXEC */
	union {
		char name[16]; /* NEW, RENAMED: up to the first NUL; bytes of anybody's choice */
		const char *file; /* EXEC: as it was called; not NUL-terminated */
	};
};

struct feed_fd {
	int32_t tid;
	int32_t fd;
};

/* A file that an event named: numbers as stat(2) has them. */
struct feed_inode {
	uint64_t device;
	uint64_t inode;
};

/*
 * What was seen since the news before. All is borrowed during the call. tasks are in order of time,
 * also from one call to the next, but where more happened than could be held.
 */
struct feed_news {
	const struct feed_task *tasks;
	size_t n_tasks;
	const int32_t *tids; /* seen to run or to be woken; each once */
	size_t n_tids;
	const struct feed_fd *fds; /* opened */
	size_t n_fds;
	uint64_t lost; /* tasks and fds that were not held */
	const struct feed_inode *inodes; /* most of them once */
	size_t n_inodes;
	uint64_t lost_inodes;
};

enum feed_wants {
	FEED_TASKS = 1, /* tasks and tids */
	FEED_FDS = 2,
	FEED_INODES = 4,
};

/* News, or a call with none of them: somebody owes nothing any more, or has left. */
typedef void (*feed_listener)(void *ctx, const struct feed_news *news);

struct session_feed *session_feed_new(void);
/* All listeners and tellers must be gone. */
struct session_feed *session_feed_free(struct session_feed *f);

/* wants: bits of enum feed_wants. 0, -EEXIST (same session and ctx) or -ENOMEM. */
int session_feed_listen(struct session_feed *f, uint64_t session_id, unsigned wants,
			feed_listener fn, void *ctx);
void session_feed_unlisten(struct session_feed *f, uint64_t session_id, void *ctx);

/* What the listeners of the session want, all together. Whoever gathers news for nobody can stop. */
unsigned session_feed_wanted(const struct session_feed *f, uint64_t session_id);
/* To every listener of the session, which takes tasks first, then tids, then fds. */
void session_feed_tell(struct session_feed *f, uint64_t session_id, const struct feed_news *news);

/* A teller of news, which says for how long there may be some. 0, -EEXIST or -ENOMEM. */
int session_feed_join(struct session_feed *f, uint64_t session_id, void *teller);
void session_feed_leave(struct session_feed *f, uint64_t session_id, void *teller);
/* Were asked for all that there is, and will tell: those who flush shall wait for it. */
void session_feed_owe(struct session_feed *f, uint64_t session_id, void *teller, bool owes);
/* Tells all of that kind from now on, and not only what it happens to see; what: bits of enum
 * feed_wants, 0 at first. */
void session_feed_promise(struct session_feed *f, uint64_t session_id, void *teller, unsigned what);
unsigned session_feed_promised(const struct session_feed *f, uint64_t session_id);
bool session_feed_has_teller(const struct session_feed *f, uint64_t session_id);
bool session_feed_is_owed(const struct session_feed *f, uint64_t session_id);
