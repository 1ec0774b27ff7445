/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "base/core/err.h"
#include "ftrace/ring/ring_stats.h"
#include "ftrace/tracefs/instance.h"
#include "ftrace/events/page_encode.h"

struct event_base;

/*
 * The rings of one tracefs instance, read once for all sessions that listen to them. Reading takes
 * records out of the kernel, so within this process there is one struct ring an instance, known by
 * the instance's path; it lives as long as somebody has it open. A page is read once and walked
 * once, and each of its records offered to the translator of every listener that is attached.
 *
 * To listen to one more instance (the top level for ftrace/print, one of somebody else's):
 *
 *	struct ring_listener l = {.ops = &ops, .ctx = me, .period_ms = 100};
 *
 *	r = ring_open(&l, loop, sys_root, &instance, &e);          its clock and sizes are set
 *	r = page_encoder_new(&table, ring_layout(l.ring), writer, &l.translator);
 *	...
 *	ring_attach(&l);          from here on l.translator gets records, at every tick
 *	ring_read_all(&l);       -> ops->all_read(&l): it has all that was in the rings by then
 *	...
 *	ring_close(&l);           before instance_remove; then page_encoder_free
 *
 * A listener has an event table of its own, with only those events that it wants to have: the
 * instance may record more for others. A session listens to a ring once, as two bundles cannot be
 * open in one writer; listeners of different rings may share a writer. Which events an instance
 * records, and when, is not the ring's business.
 */
struct ring;
struct ring_listener;

struct ring_listener_ops {
	/* Around a bounded stretch of reading. */
	void (*before_slice)(struct ring_listener *l);
	void (*after_slice)(struct ring_listener *l);
	/* All that was in the rings when ring_read_all was called has been translated. */
	void (*all_read)(struct ring_listener *l);
	/* Each of them may attach, detach, open and close listeners, this one too. */
};

struct ring_listener {
	/* The owner's: set before ring_attach, and borrowed until ring_close. */
	struct page_encoder *encoder;
	const struct ring_listener_ops *ops;
	void *ctx;
	uint32_t period_ms; /* of the ticks; of all who are attached, the shortest counts */
	bool watch; /* wake up at the instance's buffer_percent, too; ring_can_watch has said yes */

	/* The ring's; the owner reads. */
	struct ring *ring; /* NULL: not open */
	struct cpu_stream *streams; /* owned: one for each CPU that the machine could have */
	unsigned n_streams;
	bool attached;
	bool held;
	bool reading_all; /* all_read is still to come */
	uint64_t read_all_pass; /* the pass that all_read comes after */
	uint64_t pass_began; /* CLOCK_BOOTTIME; UINT64_MAX: what is read is not of all rings */
	uint64_t read_until; /* CLOCK_BOOTTIME: what happened before has been translated */
	TAILQ_ENTRY(ring_listener) link;
};

/*
 * Opens the rings of the instance, or joins those who have them open. 0, or -errno with a sentence
 * in e. The instance is needed for the call alone, sys_root ("/sys") until ring_close.
 */
int ring_open(struct ring_listener *l, struct event_base *loop, const char *sys_root,
	      const struct instance *i, struct err_text *e);
/* Detaches. With the last one the kernel's files are closed. A zeroed listener is fine. */
void ring_close(struct ring_listener *l);

/* Records that are read from now on are for this one too. Nothing happens when it is attached. */
void ring_attach(struct ring_listener *l);
/* Nothing is read for its sake until it is let go: records stay in the kernel, unless another
 * listener has them read, for both then. */
void ring_hold(struct ring_listener *l, bool hold);
/* No more records, ticks and answers. */
void ring_detach(struct ring_listener *l);

/* Reads to the end, beginning with a later turn of the loop; all_read tells when. It is attached,
 * not held, and not draining already. */
void ring_read_all(struct ring_listener *l);

/* Can its watermark be watched? Asked while the instance records nothing: 0, -EOPNOTSUPP (poll of
 * its rings does not wait for one) or -ENOMEM. */
int ring_can_watch(struct ring_listener *l);

/* How a page of it looks. */
const struct ring_page_layout *ring_layout(const struct ring *r);
/* Reads the kernel's counters of all its rings; one that cannot be read is left out. 0 or -ENOMEM. */
int ring_read_stats(const struct ring_listener *l, struct ring_stats_all *ret);
/* Records of the listener so far. */
uint64_t ring_events(const struct ring_listener *l);
