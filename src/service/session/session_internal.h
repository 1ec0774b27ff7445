/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/event_loop/loop_timer.h"
#include "base/system/priority_boost.h"
#include "service/output/file_writer.h"
#include "service/producer/producer_port.h"
#include "service/session/session.h"
#include "service/ipc/quota.h"
#include "service/session/sessions.h"
#include "service/session/source_configs.h"
#include "service/trace/trace.h"

/* The fields of struct session, and the functions that its files share. Only for
 * service/session. */

struct pb_enc;
struct pending_flush;
TAILQ_HEAD(flush_list, pending_flush);

/*
 * The data sources that a session lost while it recorded: for each data source of the config, how
 * often its producer disconnected or unregistered it, the last such producer, and when another one
 * replaced it. Format: SourceDeparture of protos/common/source_departure.proto.
 */
struct departures {
	struct departure *list; /* owned, by index of the config's data sources; NULL: none */
	size_t n;
};

struct session_triggers {
	bool hit; /* a trigger was accepted */
	struct due_trigger *due; /* owned; CLONE_SNAPSHOT: delayed */
	size_t n_due, cap_due;
	struct loop_timer timeout; /* START_TRACING: trigger_timeout_ms */
	struct loop_timer delay; /* STOP_TRACING: the end; CLONE_SNAPSHOT: the next delayed clone */
};

enum final_flush { FINAL_FLUSH_NONE, FINAL_FLUSH_SUCCEEDED, FINAL_FLUSH_FAILED };

struct session {
	TAILQ_ENTRY(session) link; /* in struct sessions */
	struct sessions *sessions; /* borrowed: it outlives us */
	struct session_owner owner; /* ops NULL: detached */
	char *detach_key; /* owned; while detached */
	uint64_t id;
	uid_t uid; /* of the consumer */
	struct quota_account account; /* of uid */
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
	struct priority_boost boost; /* scheduling priority (service/session/admission.h) */
	struct file_writer *file; /* owned; NULL without write_into_file */
	char *error; /* owned; the error that ended it, or NULL */
	char *end_reason; /* owned; the reason of any end; NULL: it has not ended */

	struct loop_timer duration, flush_tick, clear_tick, ring_tick, snapshot_tick, slow_start,
		stop_timeout, abandoned;

	uint64_t flushes_requested, flushes_succeeded, flushes_failed;
	enum final_flush final_flush;
};

/* ---- session_life.c ---- */

/* Creates a session in DISABLED, in no list, without a config and a trace. Returns 0 or -ENOMEM. */
int session_alloc(struct sessions *sessions, struct session_owner owner, uid_t uid,
		  struct session **ret);
/* Frees a session that is in no list. */
void session_destroyp(struct session **s);

/* A session without an owner runs on; it frees itself when it ends. */
static inline bool session_is_detached(const struct session *s)
{
	return !s->owner.ops;
}

/* Changes the state, and records it in the traces of other sessions that request such events. */
void session_set_state(struct session *s, enum session_state state);

/* Commits uncommitted chunks of producers to the session's buffers. */
void session_scrape(struct session *s);

/* The config's times, or the defaults. */
uint32_t session_flush_timeout_ms(const struct session *s);
uint32_t session_stop_timeout_ms(const struct session *s);

/* ---- session_file.c ---- */

/* Returns what a file writer borrows from the session: its trace, config, account and callbacks. */
struct file_owner session_file_owner(struct session *s);

/* ---- session_run.c ---- */

/* Returns 0 or -ENOMEM. deinit may be called in both cases. */
int session_init_timers(struct session *s);
void session_deinit_timers(struct session *s);

/* Returns why the session ended, or NULL while it runs. */
const char *session_end_reason(const struct session *s);
/* Call when the session is DISABLED or CLONED, and its file, if any, is closed: reports to the
 * owner, which frees a clone whose file could not be written. Without an owner, a session with a
 * file is freed from the loop. */
void session_ended(struct session *s);
/* Flushes the session, then stops it, or frees it if it is detached and has no file. All of that
 * happens after the return, unless the flush is refused. */
void session_flush_and_end(struct session *s);

/* An instance was started, stopped or withdrawn: checks whether the session waited for that. */
void session_check_all_started(struct session *s);
void session_check_all_stopped(struct session *s);

/* ---- flush.c ---- */

/* The producer has flushed for this request and all earlier ones, in any session. */
void flush_acked(struct producer_port *p, uint64_t flush_id);
/* The producer disconnected: flushes stop waiting for it. */
void flush_forget_producer(struct producer_port *p);
/* The session ends: calls done(false) for all requests. */
void flush_cancel_all(struct session *s);

/* ---- departures.c ---- */

/* Call when an instance is withdrawn. Records it if it was started and not stopped. */
void departures_note(struct session *s, const struct source_instance *i);
/* Call when an instance is started. Ends the departure of the same data source, if any. */
void departures_note_start(struct session *s, const struct source_instance *i);
/* Writes each departure under this field. */
void departures_put(const struct session *s, uint32_t field, struct pb_enc *e);
/* Copies the list of the source of a clone. Both have the same config, so the indexes agree.
 * Returns 0 or -ENOMEM. */
int departures_copy(const struct departures *from, struct departures *to);
void departures_deinit(struct departures *d);
