/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>
#include <sys/types.h>

#include "config/trace_config.pb-c.h"
#include "service/clock_snapshots.h"
#include "service/clone.h"
#include "service/concurrent.h"
#include "service/flush.h"
#include "service/instances.h"
#include "service/lifecycle.h"
#include "service/loop_timer.h"
#include "service/quota.h"
#include "service/sequence_ids.h"
#include "service/triggers.h"

struct consumer_port;
struct file_sink;
struct service;
struct trace_buffer;
struct trace_filter;

/*
 * One tracing session: a config, its buffers, the data sources that run for it, and what the
 * service itself has to say in its trace.
 *
 *	session_new --> CONFIGURED --start--> STARTED --disable--> STOPPING --acks or timeout--+
 *	                    |                    |      (somebody will notify)               |
 *	                    +--disable-----------+--disable (nobody will)--> DISABLED <------+
 *
 * A clone of a session is CLONED for all its life: there is nothing in it but a trace to read.
 *
 * session_free (service/session_life.h) ends it from any state. All calls come from the loop's thread. A session calls its
 * consumer when it gets DISABLED. One that has no consumer when its time is over frees itself:
 * nobody is there to read it.
 */

/* The names are those of QueryServiceState, the values those of the protocol. */
enum session_state {
	SESSION_DISABLED,
	SESSION_CONFIGURED,
	SESSION_STARTED,
	SESSION_STOPPING,
	SESSION_CLONED,
};

struct session_buffer {
	uint16_t id; /* service-wide */
	struct trace_buffer *buffer; /* owned */
};

enum final_flush { FINAL_FLUSH_NONE, FINAL_FLUSH_SUCCEEDED, FINAL_FLUSH_FAILED };

struct session {
	TAILQ_ENTRY(session) link; /* in the service */
	struct service *service; /* borrowed: it outlives us */
	struct consumer_port *consumer; /* borrowed: it owns us. NULL: detached, the service does */
	char *detach_key; /* owned; while detached */
	uint64_t id;
	uid_t uid; /* of the consumer */
	struct quota_account account; /* of uid */
	enum session_state state; /* session_set_state changes it */
	uint64_t state_boot_ns; /* since when */
	Pb__TraceConfig *config; /* owned; unknown fields and all */
	struct session_buffer *buffers; /* owned, in the order of the config */
	size_t n_buffers;
	struct instance_list instances; /* owned */
	size_t n_instances;
	bool all_started_told;
	struct flush_list flushes; /* owned: waiting for producers */
	size_t n_flushes;
	struct clone_list clones; /* owned: being made of it */

	struct session_triggers triggers;
	struct file_sink *file; /* owned; NULL without write_into_file */
	char *error; /* owned; why it ended, where that is not what was asked for */

	struct loop_timer duration, flush_tick, clear_tick, snapshot_tick, slow_start, stop_timeout,
		abandoned;

	/* what the service writes into the trace */
	struct clock_snapshots clocks;
	struct lifecycle lifecycle;
	struct received_trigger clone_trigger; /* owned; of a clone. name NULL: there was none */
	struct concurrent_events concurrent;
	bool head_written; /* config, uuid, system info ...: once a session */
	uint64_t remote_written; /* of other machines: what was told up to here */
	bool sync_marker_due, stats_due; /* once a snapshot tick */
	int64_t uuid_msb, uuid_lsb;
	int64_t start_realtime_ns; /* 0: not started */

	/* reading */
	struct sequence_ids sequences;
	size_t reading_buffer; /* where the pass goes on */
	uint64_t invalid_packets;
	struct trace_filter *filter; /* owned; NULL: everything is given out as it is */

	uint64_t flushes_requested, flushes_succeeded, flushes_failed;
	enum final_flush final_flush;
};

/* Sets up the data sources that match, and starts unless the config defers that. Once. */
void session_begin(struct session *s);
/* No effect but in CONFIGURED. */
void session_start(struct session *s);
/* Stops the data sources, without a flush. at_once: waits for no acknowledgement. No effect in
 * DISABLED. */
void session_disable(struct session *s, bool at_once);
/* What the consumer is told when the session ends; the first word counts. */
void session_set_error(struct session *s, const char *text);
/* DISABLED or CLONED, and its file, if any, is closed: tells the consumer. Frees a clone whose file
 * could not be written. */
void session_ended(struct session *s);
bool session_has_ended(const struct session *s);
/* As when the duration is over: flushes, and then stops, or, with no consumer, frees the session.
 * Nothing of that is done before this returns, unless the flush is refused. */
void session_flush_and_end(struct session *s);

/* An instance was started, stopped or withdrawn: is that what the session waited for? */
void session_check_all_started(struct session *s);
void session_check_all_stopped(struct session *s);

/* Also tells the other sessions. */
void session_set_state(struct session *s, enum session_state state);
/* -1: not a buffer of this session. */
int session_buffer_index(const struct session *s, uint16_t buffer_id);
const char *session_state_name(enum session_state state);

/* What zero means. */
uint32_t session_flush_timeout_ms(const struct session *s);
uint32_t session_stop_timeout_ms(const struct session *s);

/* For service/session_life.h: 0 or -ENOMEM; deinit is fine after both. */
int session_init_timers(struct session *s);
void session_deinit_timers(struct session *s);
