/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/core/err.h"
#include "client/producer/data_source.h"
#include "client/producer/metadata_bus.h"
#include "stacks/frames/cpu_rings.h"
#include "stacks/frames/stack_resolver.h"

/*
 * What the instances of linux.perf and linux.waits have in common: their rings, their sequence, and
 * their rounds.
 *
 *	tick, or a ring is half full, or an answer, or no answer in time
 *	        |
 *	        v
 *	     a round:  read records  ->  names of new frames  ->  packets  ->  flushes, stop
 *	                    |                  |
 *	                    +--- waits --------+   for an answer of the file reader, or for the
 *	                                           kernel's symbols
 *
 * While a round waits, the rings hold new records.
 */
struct stack_session;

/* TracePacket.sequence_flags */
enum { STACK_STATE_BEGINS = 1, STACK_STATE_NEEDED = 2 };

struct stack_session_ops {
	/* Reads records; those younger than CPU_RINGS_DELAY_NS only if `reads_all`. Sets `has_more`
	 * if it stopped before the last one; then another pass of the round follows. Returns false
	 * if it waits for an answer. */
	bool (*read)(struct stack_session *s);
	/* Writes what was read. is_last: the last pass of the round. */
	void (*write)(struct stack_session *s, bool is_last);
	/* stacks_reset() was called: numbers of stacks are invalid. NULL: the source keeps none. */
	void (*on_stacks_reset)(struct stack_session *s);
	/* A tick, before its round. NULL: nothing to do. */
	void (*tick)(struct stack_session *s);
	/* The last round has ended: writes the packets of the end. */
	void (*finish)(struct stack_session *s);
};

/* The first member of an instance. Zero-initialise. */
struct stack_session {
	const struct stack_session_ops *ops;
	struct ds_handle *h; /* borrowed, as are the next three */
	struct event_base *loop;
	const char *proc_root;
	struct metadata_bus *bus;
	struct writer *writer; /* owned; of the sequence that is written to */
	struct writer *other_writer; /* owned; of the second sequence, NULL: there is none */
	struct event *tick; /* owned */
	struct event *program_wakeup; /* owned */
	struct cpu_rings rings;
	struct stack_resolver resolver;
	struct flushes flushes;
	int32_t *tids; /* owned; to be published */
	size_t cap_tids;
	uint64_t read_ms; /* time between two rounds */
	bool is_publisher; /* of threads, for linux.process_stats */
	bool delays_rings; /* rings wake for records that are too young: read them later */
	bool reads_soon; /* the tick was brought forward; further wakeups do not move it */
	bool is_started, is_stopping;
	bool has_state[STACKS_SEQUENCES];
	bool reads_all; /* the round reads younger records as well */
	bool has_read; /* the records of the pass were read; the round waits for names */
	bool has_more;
	int refusal; /* why the source does not record, -errno; 0: it records */
	struct err_text refused; /* what was refused */
};

/* Returns 0, or -ENOMEM; then stack_session_deinit() frees the rest. source: its name. */
int stack_session_init(struct stack_session *s, struct ds_handle *h, const struct ds_env *env,
		       const char *source, const struct stack_session_ops *ops);
void stack_session_deinit(struct stack_session *s);
/* Watches the rings. Returns 0 or -ENOMEM. */
int stack_session_watch_rings(struct stack_session *s);
/* Creates `program_wakeup`, which fires when the program's descriptor is readable. Returns 0 or
 * -ENOMEM. */
int stack_session_watch_program(struct stack_session *s, int fd);

/* Begins the rounds, unless `refusal` is set. */
void stack_session_start(struct stack_session *s);
/* The other calls of struct data_source. The source has stopped its events before `stop`. */
void stack_session_flush(void *instance, uint64_t flush_id);
void stack_session_clear(void *instance);
void stack_session_stop(struct stack_session *s);

/* Switches to the other sequence: packets are written there until the next call. No-op without a
 * second writer. */
void stack_session_switch_sequence(struct stack_session *s);
/* Begins a new incremental state if the sequence has none, or if packets of the old one were
 * dropped. Returns the first packet of the new state, without defaults; or NULL if the old state is
 * still valid. */
struct pb_enc *stack_session_begin_state(struct stack_session *s);
/* Begins a packet of that state, with the stack (number + 1; 0: none) if it needs to be written. */
struct pb_enc *stack_session_begin_packet(struct stack_session *s, uint64_t time, uint32_t stack);
/* Begins a packet with the current time and its clock. */
struct pb_enc *stack_session_begin_packet_now(struct stack_session *s);

/* Returns true if linux.process_stats of the session subscribes to threads. */
bool stack_session_has_subscriber(const struct stack_session *s);
/* Makes room in `tids`. Returns 0 or -ENOMEM. */
int stack_session_reserve_tids(struct stack_session *s, size_t n);
/* Publishes the n tids, which are in any order. */
void stack_session_publish_tids(struct stack_session *s, size_t n);
