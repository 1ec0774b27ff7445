/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/event_loop/loop_timer.h"
#include "base/system/priority_boost.h"
#include "service/ipc/quota.h"
#include "service/output/file_writer.h"
#include "service/producer/producer_port.h"
#include "service/session/session.h"
#include "service/session/sessions.h"
#include "service/session/source_configs.h"
#include "service/trace/trace.h"
#include "wire/pb_enc.h"

/*
 * The state of a session. The files of service/session call each other in one direction only:
 *
 *	name_regex, session_config, source_configs	what a config requests
 *	session_state					the session as data
 *	   ^
 *	source_instances, flush				commands to producers
 *	   ^
 *	session_life					priority, start, timers, triggers, end
 *	   ^
 *	trigger_history, triggers, admission		which sessions an event is for
 *	   ^
 *	session_events					reports of producers
 *	session_new, session_clone, shutdown		requests
 *
 * Calls upwards are callbacks: session_owner_ops, flush_request.done and file_writer_ops.
 */

/* The data sources that a session lost while it recorded: for each data source of the config, how
 * often its producer disconnected or unregistered it, the last such producer, and when another one
 * replaced it. Format: SourceDeparture of protos/common/source_departure.proto. */
struct departures {
	struct departure *list; /* owned, by index of the config's data sources; NULL: none */
	size_t n;
};

struct pending_flush;
TAILQ_HEAD(flush_list, pending_flush);

struct due_trigger {
	uint64_t mono_ns; /* when the clone is due */
	struct received_trigger trigger; /* owned */
};

struct session_triggers {
	bool hit; /* a trigger was accepted */
	struct due_trigger *due; /* owned; CLONE_SNAPSHOT: delayed */
	size_t n_due, cap_due;
};

/* The timers of a session, and when each of them runs. */
enum session_timer {
	/* all started .. stop: config.duration_ms; then a last flush. Begins DURATION_START_WAIT_MS
	 * after the start at the latest */
	TIMER_DURATION,
	TIMER_FLUSH, /* start .. stop: file_writer_flush_period_ms */
	TIMER_CLEAR, /* start .. stop: config.incremental_state_config */
	TIMER_RING, /* start .. stop: RING_TICK_MS, with TIMER_CLEAR and without a file */
	TIMER_SNAPSHOT, /* start .. stop: builtin_data_sources.snapshot_interval_ms */
	TIMER_SLOW_START, /* start .. all started: 20 s */
	TIMER_TRIGGER_TIMEOUT, /* begin .. start: trigger_timeout_ms of START_TRACING */
	/* trigger .. stop: the end of STOP_TRACING, or the next clone of CLONE_SNAPSHOT */
	TIMER_TRIGGER_DELAY,
	N_TIMERS_UNTIL_STOP,
	/* stop .. DISABLED: config.data_source_stop_timeout_ms */
	TIMER_STOP_TIMEOUT = N_TIMERS_UNTIL_STOP,
	TIMER_ABANDONED, /* DISABLED .. freed: 0 ms, for a detached session with a file */
	N_SESSION_TIMERS
};

enum final_flush { FINAL_FLUSH_NONE, FINAL_FLUSH_SUCCEEDED, FINAL_FLUSH_FAILED };

struct session {
	TAILQ_ENTRY(session) link; /* in struct sessions */
	struct sessions *sessions; /* borrowed: it outlives us */
	struct session_owner owner; /* ops NULL: detached */
	char *detach_key; /* owned; while detached */
	uint64_t id;
	uid_t uid; /* of the consumer */
	struct quota_account account; /* account of uid */
	enum session_state state; /* session_set_state changes it */
	uint64_t state_boot_ns; /* since when */
	Pb__TraceConfig *config; /* owned; with its unknown fields */
	struct source_configs source_configs; /* owned: of the same config, for the producers */
	struct trace *trace; /* owned */
	struct instance_list instances; /* owned */
	size_t n_instances;
	struct departures departures; /* owned */
	bool all_started_reported;
	struct flush_list flushes; /* owned: waiting for producers */
	size_t n_flushes;
	TAILQ_HEAD(, session_watch) watches; /* borrowed */

	struct session_triggers triggers;
	struct priority_boost boost; /* scheduling priority (service/session/session_life.h) */
	struct file_writer *file; /* owned; NULL without write_into_file */
	char *error; /* owned; the error that ended it, or NULL */
	char *end_reason; /* owned; the reason of any end; NULL: it has not ended */

	struct loop_timer timers[N_SESSION_TIMERS]; /* indexed by enum session_timer */

	uint64_t flushes_requested, flushes_succeeded, flushes_failed;
	enum final_flush final_flush;
};

/* Frees a session that is in no list, and everything that it owns except instances and flushes. */
void session_destroyp(struct session **s);

/* Returns true if the session has no owner. It then continues, and frees itself when it ends. */
static inline bool session_is_detached(const struct session *s)
{
	return !s->owner.ops;
}

/* Changes the state, and records it in the traces of other sessions that request such events. */
void session_set_state(struct session *s, enum session_state state);
/* Records the states of all other sessions in the trace, if the config requests it. */
void session_record_states_of_others(struct session *s);
/* Returns why the session ended, or NULL while it runs. */
const char *session_end_reason(const struct session *s);

/* Call when an instance is withdrawn. Records the departure of its data source, if it was started
 * and not stopped. */
void session_record_departure(struct session *s, const struct source_instance *i);
/* Call when an instance is started. Ends the departure of the same data source, if any. */
void session_end_departure(struct session *s, const struct source_instance *i);
/* Copies the departures of the source of a clone. Both have the same config, so the indexes agree.
 * Returns 0 or -ENOMEM. */
int session_copy_departures(const struct session *from, struct session *to);

/* Commits uncommitted chunks of producers to the session's buffers. */
void session_scrape(struct session *s);

/* The config's times, or the defaults. */
uint32_t session_flush_timeout_ms(const struct session *s);
uint32_t session_stop_timeout_ms(const struct session *s);
