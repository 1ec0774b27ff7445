/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/pid_set.h"
#include "client/producer/metadata_bus.h"
#include "ftrace/format/metadata_fields.h"
#include "ftrace/format/ring_page.h"

/* The threads seen since the last clear, each once, in the order of their first records. */
struct tid_list {
	struct pid_set seen; /* pid_set_reserve() has succeeded */
	int32_t *tids; /* owned */
	size_t n;
	size_t cap;
};

/* Adds a thread, unless it is in the list. Ignores thread 0 (idle) and invalid ids. */
static inline void tid_list_add(struct tid_list *s, int32_t tid)
{
	if (s->n < s->cap && pid_set_insert(&s->seen, tid))
		s->tids[s->n++] = tid;
}

/* The same moment on the trace clock and on CLOCK_BOOTTIME, in ns. */
struct clock_sync {
	enum ftrace_clock clock;
	uint64_t ftrace_ns;
	uint64_t boot_ns;
};

/*
 * Collects metadata of tasks from the records of a session, for the metadata bus. All memory
 * is reserved at the start as address space; only what fills up is ever touched.
 *
 *	metadata_add(n, &ev->metadata, r, tid)      for each record with metadata fields
 *	metadata_take_batch(n, &sync, until, &batch)
 *	  -> metadata_bus_publish -> metadata_free_batch(n)
 *
 * Records are read CPU by CPU but published in order of time. An event after `until` may depend on
 * one of another CPU that was not read yet, so it waits for the next batch. Therefore a thread is
 * never published before its creation.
 */
#define METADATA_MAX_TASKS (1u << 17) /* 40 bytes each, in two arrays */
#define METADATA_MAX_TEXT (2u << 20) /* bytes of names of executed files, in two buffers */

struct metadata_events {
	struct tid_list tids;
	struct tid_list later; /* threads seen at or after complete_before */
	uint64_t complete_before; /* trace clock; UINT64_MAX: no limit */
	struct metadata_task *tasks; /* owned; on the trace clock until published */
	struct metadata_task *spare; /* owned: output of the sort */
	size_t n_tasks;
	size_t n_published; /* of tasks: the first ones are in the batch */
	uint64_t published_until; /* CLOCK_BOOTTIME */
	char *text; /* owned: file names of EXEC */
	char *spare_text; /* owned: names that are kept for the next batch */
	size_t text_len;
	uint64_t lost;
};

/* n must be zeroed. Returns 0 or -ENOMEM. */
int metadata_init(struct metadata_events *n);
/* A zeroed n is allowed. */
void metadata_deinit(struct metadata_events *n);

/* Sets which threads belong to the current batch. boot_ns is the start of the current pass over the
 * rings. A thread that is first seen in a later record belongs to the next batch, because other
 * records of it may not be read yet. Call it before each slice of reading. boot_ns UINT64_MAX: all
 * threads belong to the current batch. */
void metadata_set_complete_before(struct metadata_events *n, const struct clock_sync *sync,
				  uint64_t boot_ns);

/* Returns the list to which the thread of a record with this time belongs. */
static inline struct tid_list *metadata_tids(struct metadata_events *n, uint64_t time)
{
	return time < n->complete_before ? &n->tids : &n->later;
}

/* Adds the metadata of one record. The record is long enough for its metadata fields. */
void metadata_add(struct metadata_events *n, const struct metadata_fields *plan,
		  const struct ring_record *r, int32_t common_pid);

/* Returns true if so much is collected that it should be published now, even if it is not in order
 * of time. */
static inline bool metadata_is_urgent(const struct metadata_events *n)
{
	return n->n_tasks > METADATA_MAX_TASKS / 2 || n->text_len > METADATA_MAX_TEXT / 2;
}

/* Sets *ret to all that can be published. Returns false if that is nothing, as when `until` has not
 * changed; *ret is then undefined. sync converts the trace clock; until is on CLOCK_BOOTTIME. A
 * thread with an event in the next batch is left out of ret->tids. The batch is borrowed until
 * metadata_free_batch(). */
bool metadata_take_batch(struct metadata_events *n, const struct clock_sync *sync, uint64_t until,
			 struct metadata_batch *ret);
/* Frees the batch that metadata_take_batch() returned, after it was published. Tasks and threads of
 * the next batch stay. */
void metadata_free_batch(struct metadata_events *n);
