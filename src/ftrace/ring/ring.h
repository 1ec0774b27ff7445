/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "base/core/err.h"
#include "ftrace/events/page_encode.h"
#include "ftrace/ring/ring_stats.h"
#include "ftrace/tracefs/instance.h"

struct event_base;

/*
 * The rings of one tracefs instance, read once for all sessions that listen to them. Reading
 * removes records from the kernel's ring, so this process has one struct ring per instance
 * (identified by its path), open while it has listeners. Each page is parsed once; each record is
 * offered to the page encoder of every attached listener.
 *
 * To listen to another instance (the top level for ftrace/print, or an attached instance):
 *
 *	struct ring_listener l = {.ops = &ops, .ctx = me, .period_ms = 100};
 *
 *	r = ring_open(&l, loop, sys_root, &instance, &e);     after its clock and sizes are set
 *	r = page_encoder_new(&table, ring_layout(l.ring), writer, &l.encoder);
 *	...
 *	ring_attach(&l);         from now on l.encoder gets records at every tick
 *	ring_read_all(&l);       -> ops->all_read(&l): it has all records up to this call
 *	...
 *	ring_close(&l);          before instance_remove; then page_encoder_free
 *
 * A listener has an event table of its own with the events that it wants; the instance may record
 * more for others. A session listens to a ring at most once, because a writer has at most one open
 * bundle; listeners of different rings may share a writer. The ring does not decide which events
 * an instance records, or when.
 */
struct ring;
struct ring_listener;

#define RING_PERIOD_NEVER UINT32_MAX /* as period_ms: only ring_read_all() reads */

struct ring_listener_ops {
	/* Before and after a slice of reading. */
	void (*before_slice)(struct ring_listener *l);
	void (*after_slice)(struct ring_listener *l);
	/* All records that were in the rings at ring_read_all have been encoded. */
	void (*all_read)(struct ring_listener *l);
	/* Each callback may attach, detach, open and close listeners, including this one. */
};

struct ring_listener {
	/* Set by the caller before ring_attach; borrowed until ring_close. */
	struct page_encoder *encoder;
	const struct ring_listener_ops *ops;
	void *ctx;
	uint32_t period_ms; /* of the ticks; the shortest period of all attached listeners counts */
	bool runs_last; /* set before ring_open: reading waits until nothing else is to be done */
	bool watch; /* also wake up at the instance's buffer_percent; requires ring_prepare_watch */

	/* Set by the ring; read-only for the caller. */
	struct ring *ring; /* NULL: not open */
	struct cpu_stream *streams; /* owned: one for each possible CPU */
	unsigned n_streams;
	bool attached;
	bool held; /* by ring_set_hold() */
	bool reading_all; /* all_read will be called */
	uint64_t read_all_pass; /* the pass after which all_read is called */
	uint64_t pass_began; /* CLOCK_BOOTTIME: the pass over all rings; UINT64_MAX: none */
	uint64_t read_until; /* CLOCK_BOOTTIME: all earlier records have been encoded */
	TAILQ_ENTRY(ring_listener) link;
};

/* Opens the rings of the instance, or shares the open ones. The instance is only used during the
 * call; sys_root ("/sys") until ring_close. Returns 0 or -errno; sets e on failure. */
int ring_open(struct ring_listener *l, struct event_base *loop, const char *sys_root,
	      const struct instance *i, struct err_text *e);
/* Detaches. The last listener closes the kernel's files. A zeroed listener is allowed. */
void ring_close(struct ring_listener *l);

/* Starts passing records to the listener. No-op if it is attached. */
void ring_attach(struct ring_listener *l);
/* hold true: suspends reading for this listener. Records stay in the kernel unless another listener
 * reads them; then both get them. hold false: resumes. */
void ring_set_hold(struct ring_listener *l, bool hold);
/* Stops records, ticks and callbacks for the listener. */
void ring_detach(struct ring_listener *l);

/* Reads all records in later iterations of the loop, then calls all_read. The listener must be
 * attached, not held, and not waiting for all_read already. */
void ring_read_all(struct ring_listener *l);

/* Returns 0 if the watermark can be watched, -EOPNOTSUPP if poll() of the rings does not wait for
 * it, or -ENOMEM. Call it while the instance records nothing. */
int ring_prepare_watch(struct ring_listener *l);

/* Returns the layout of the ring's pages. */
const struct ring_page_layout *ring_layout(const struct ring *r);
/* Reads the kernel's counters of all rings of the instance; skips those that cannot be read. The
 * caller frees *ret with ring_stats_deinit(). Returns 0 or -ENOMEM. */
int ring_read_stats(const struct ring_listener *l, struct ring_stats_all *ret);
/* Returns the number of records encoded for the listener. */
uint64_t ring_event_count(const struct ring_listener *l);
