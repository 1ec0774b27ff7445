/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>
#include <sys/types.h>

#include "config/trace_config.pb-c.h"
#include "service/ipc/clock_snapshots.h"
#include "service/consumer/clone.h"
#include "service/trace/concurrent.h"
#include "service/session/departures.h"
#include "service/session/flush.h"
#include "service/session/instances.h"
#include "service/trace/lifecycle.h"
#include "base/event_loop/loop_timer.h"
#include "service/ipc/quota.h"
#include "service/trace/sequence_ids.h"
#include "service/session/triggers.h"

struct consumer_port;
struct file_sink;
struct service;
struct trace_buffer;
struct trace_filter;

/*
 * One tracing session: a config, its buffers, the data sources that run for it, and what the
 * service itself has to say in its trace. service/session/session_life.h makes and frees it from any state,
 * service/session/session_run.h takes it from the one to the next. All calls come from the loop's thread.
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
	uint64_t written_before; /* its bytes_written when the last reading began */
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
	struct departures departures; /* owned */
	bool all_started_told;
	struct flush_list flushes; /* owned: waiting for producers */
	size_t n_flushes;
	struct clone_list clones; /* owned: being made of it */

	struct session_triggers triggers;
	struct file_sink *file; /* owned; NULL without write_into_file */
	char *error; /* owned; why it ended, where that is not what was asked for */
	char *end_reason; /* owned; why it ended, in any case; NULL: it goes on */

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

/* Also tells the other sessions. */
void session_set_state(struct session *s, enum session_state state);
/* -1: not a buffer of this session. */
int session_buffer_index(const struct session *s, uint16_t buffer_id);
const char *session_state_name(enum session_state state);

/* What zero means. */
uint32_t session_flush_timeout_ms(const struct session *s);
uint32_t session_stop_timeout_ms(const struct session *s);
