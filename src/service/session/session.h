/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>
#include <sys/types.h>

#include "base/system/priority_boost.h"
#include "config/trace_config.pb-c.h"
#include "service/session/departures.h"
#include "service/session/flush.h"
#include "service/session/instances.h"
#include "base/event_loop/loop_timer.h"
#include "service/ipc/quota.h"
#include "service/trace/trace.h"
#include "service/session/triggers.h"

struct file_sink;
struct pb_enc;
struct sessions;

/*
 * One tracing session: a config, its trace, and the data sources that run for it. service/session/session_life.h makes and frees it from any state,
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

/* What the owner of a session, a consumer, learns of it. */
struct session_owner_ops {
	/* The session is DISABLED, or its file is written (of a clone): error is NULL if nothing went
	 * wrong. May free the session. */
	void (*ended)(void *ctx, const char *error);
	void (*all_started)(void *ctx);
	void (*instance_changed)(void *ctx, const struct source_instance *i);
	/* The session should be cloned now. */
	void (*clone_due)(void *ctx, const struct received_trigger *trigger);
	/* The session must make room for another one: frees it. */
	void (*abort)(void *ctx, const char *reason);
};

struct session_owner {
	const struct session_owner_ops *ops;
	void *ctx; /* borrowed: it owns the session */
};

/* Embedded in what depends on a session. */
struct session_watch {
	TAILQ_ENTRY(session_watch) link;
	/* The session is about to be freed. Must call session_unwatch(). */
	void (*session_ends)(struct session_watch *w);
};

enum final_flush { FINAL_FLUSH_NONE, FINAL_FLUSH_SUCCEEDED, FINAL_FLUSH_FAILED };

struct session {
	TAILQ_ENTRY(session) link; /* in the service */
	struct sessions *sessions; /* borrowed: it outlives us */
	struct session_owner owner; /* ops NULL: detached */
	char *detach_key; /* owned; while detached */
	uint64_t id;
	uid_t uid; /* of the consumer */
	struct quota_account account; /* of uid */
	enum session_state state; /* session_set_state changes it */
	uint64_t state_boot_ns; /* since when */
	Pb__TraceConfig *config; /* owned; unknown fields and all */
	struct trace *trace; /* owned */
	struct instance_list instances; /* owned */
	size_t n_instances;
	struct departures departures; /* owned */
	bool all_started_told;
	struct flush_list flushes; /* owned: waiting for producers */
	size_t n_flushes;
	TAILQ_HEAD(, session_watch) watches; /* borrowed */

	struct session_triggers triggers;
	struct priority_boost
		boost; /* how urgently the service works for it (service/session/priority.h) */
	struct file_sink *file; /* owned; NULL without write_into_file */
	char *error; /* owned; why it ended, where that is not what was asked for */
	char *end_reason; /* owned; why it ended, in any case; NULL: it goes on */

	struct loop_timer duration, flush_tick, clear_tick, snapshot_tick, slow_start, stop_timeout,
		abandoned;

	uint64_t flushes_requested, flushes_succeeded, flushes_failed;
	enum final_flush final_flush;
};

/* Records the new state in the traces of the other sessions that want to know it. */
void session_set_state(struct session *s, enum session_state state);
/* The session is in the service's list: records the states of the others in its trace, if it wants them. */
void session_record_others(struct session *s);
const char *session_state_name(enum session_state state);

/* A session without an owner runs on; it frees itself when it ends. */
static inline bool session_is_detached(const struct session *s)
{
	return !s->owner.ops;
}

/* Detaches the session from its owner. Another consumer of the same user may attach to it by the key;
 * key NULL: none. Returns 0, -EEXIST (another detached session of the user has the key) or -ENOMEM. */
int session_detach(struct session *s, const char *key);
void session_attach(struct session *s, struct session_owner owner);
/* Returns the detached session of this user with this key, or NULL. */
struct session *session_find_detached(struct sessions *v, uid_t uid, const char *key);

void session_watch_end(struct session *s, struct session_watch *w);
void session_unwatch(struct session *s, struct session_watch *w);

/* Takes what producers wrote into the session's buffers and did not commit. */
void session_scrape(struct session *s);
/* Writes the fields of TraceStats of a session; begins no entry of a writer past max_bytes. */
void session_put_stats(void *session, struct pb_enc *e, size_t max_bytes);

/* What zero means. */
uint32_t session_flush_timeout_ms(const struct session *s);
uint32_t session_stop_timeout_ms(const struct session *s);
