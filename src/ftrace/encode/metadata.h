/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <stdbool.h>

#include "client/producer/metadata_bus.h"
#include "ftrace/format/metadata_fields.h"
#include "ftrace/format/ring_page.h"

/*
 * The threads seen since the last clear, each once: a bit each in front of a list. The bits of all
 * ids that Linux can give (2^22) are half a MiB of address space, of which only the pages in use
 * are ever touched.
 */
#define TID_LIMIT (1u << 22) /* PID_MAX_LIMIT of 64-bit kernels */

struct tid_set {
	uint64_t *seen; /* owned */
	int32_t *tids; /* owned */
	size_t n;
	size_t cap;
};

/* Thread 0 (idle) and what cannot be a thread id is left out. */
static inline void tid_set_add(struct tid_set *s, int32_t tid)
{
	uint64_t bit = 1ull << (tid & 63), *word;

	if ((uint32_t)tid - 1 >= TID_LIMIT - 1)
		return;
	word = s->seen + (tid >> 6);
	if ((*word & bit) || s->n == s->cap)
		return;
	*word |= bit;
	s->tids[s->n++] = tid;
}

struct clock_sync;

/*
 * What the records of a session say of tasks and files, gathered for its feed. It is all in memory
 * that is there from the beginning, address space of which only what fills up is ever touched.
 *
 *	metadata_add(n, &ev->news, r)      of each record that has news
 *	metadata_take_batch(n, &sync, until, &news) -> metadata_bus_publish -> metadata_drop_batch(n)
 *
 * Records come CPU by CPU and are told by time: what happened after `until` may have a cause, on
 * another CPU, that has not been read yet, and waits for the next time. So a thread is never told to
 * be there before it has begun.
 */
#define METADATA_MAX_TASKS (1u << 17) /* 40 bytes each, twice */
#define METADATA_MAX_TEXT (2u << 20) /* of the files that were executed, twice */
#define METADATA_MAX_FDS 16384u
#define METADATA_MAX_INODES 16384u
#define METADATA_RECENT 1024u /* fds, or inodes; of which each is held once */

struct metadata_events {
	struct tid_set tids;
	struct tid_set later; /* seen after */
	uint64_t complete_before; /* this, of the trace clock */
	struct metadata_task *tasks; /* owned; times of the trace clock until they are told */
	struct metadata_task *spare; /* owned: to sort into */
	size_t n_tasks;
	size_t n_published;
	uint64_t published_until;
	char *text; /* owned: what EXEC's file points into */
	char *spare_text; /* owned: for those that are kept */
	size_t text_len;
	unsigned wants; /* bits of enum metadata_wants */
	int32_t self; /* our own thread, which reads files because of what it is told */
	struct metadata_fd *fds; /* owned */
	size_t n_fds;
	struct metadata_fd *recent; /* owned; by a hash of both */
	uint64_t lost;
	struct metadata_inode *inodes; /* owned */
	size_t n_inodes;
	struct metadata_inode
		*recent_inodes; /* owned; by a hash of both, also from one time to the next */
	uint64_t lost_inodes;
};

/* On zeroed memory; wants: bits of enum metadata_wants. 0 or -ENOMEM. */
int metadata_init(struct metadata_events *n, unsigned wants);
/* Zeroed is fine. */
void metadata_deinit(struct metadata_events *n);

/* The pass that is read began then, so of what is seen later on all is told with the next one. Set
 * before each stretch of reading; UINT64_MAX: there is no such time. */
void metadata_complete_before(struct metadata_events *n, const struct clock_sync *sync,
			      uint64_t boot_ns);

/* Where a thread belongs that a record of this time has. */
static inline struct tid_set *metadata_tids(struct metadata_events *n, uint64_t time)
{
	return time < n->complete_before ? &n->tids : &n->later;
}

/* One record, which has the plan's length. */
void metadata_add(struct metadata_events *n, const struct metadata_fields *plan,
		  const struct ring_record *r, int32_t common_pid);

/* So much has come together that it should be told now, in whatever order. */
static inline bool metadata_is_urgent(const struct metadata_events *n)
{
	return n->n_tasks > METADATA_MAX_TASKS / 2 || n->text_len > METADATA_MAX_TEXT / 2;
}

/*
 * All that can be told now; false: nothing, as it is when `until` is what it was. sync tells the time
 * of the trace clock, until is of CLOCK_BOOTTIME. Of a task with more to tell the next time nothing
 * else is told now: who looks for it finds it as it is later. The news are borrowed until
 * metadata_drop_batch.
 */
bool metadata_take_batch(struct metadata_events *n, const struct clock_sync *sync, uint64_t until,
			 struct metadata_batch *ret);
/* What was told has been heard. */
void metadata_drop_batch(struct metadata_events *n);
