/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/core/err.h"
#include "config/limits.h"
#include "config/trace_config.pb-c.h"
#include "service/ipc/ipc_host.h"
#include "service/output/passed_file.h"
#include "service/session/session_owner.h"

struct file_writer;
struct pb_enc;
struct sessions;
struct trace;
struct trace_buffer;

/*
 * One tracing session: a config, its trace, and the data sources that run for it.
 *
 *	session_new --> CONFIGURED --start--> STARTED --disable--> STOPPING --acks or timeout--+
 *	                    |                    |      (a source will notify)                |
 *	                    +--disable-----------+--disable (none will)------> DISABLED <-----+
 *
 * A clone of a session is CLONED for all its life: there is only a trace to read.
 *
 * A session reports to its owner when it becomes DISABLED. A detached session has no owner; it
 * frees itself when its duration has elapsed. All calls come from the loop's thread.
 */
struct session;

/* The order is that of ConcurrentSessionEvent.State, whose values begin at 1. session_state_name()
 * has the names of QueryServiceState. */
enum session_state {
	SESSION_DISABLED,
	SESSION_CONFIGURED,
	SESSION_STARTED,
	SESSION_STOPPING,
	SESSION_CLONED,
};

/* ---- life ---- */

struct session_request {
	struct session_owner owner;
	uid_t uid; /* of the consumer */
	Pb__TraceConfig *config; /* owned by the session on success; with its unknown fields */
	const uint8_t *packed; /* the same config as it came; copied */
	size_t packed_len;
	size_t config_bytes; /* in memory, for the quota */
	struct passed_file file; /* came with the config; owned by the session, even on failure */
};

/* Creates a session in CONFIGURED, without data sources yet. Returns 0, or -errno and sets e if the
 * session is refused. */
int session_new(struct sessions *sessions, const struct session_request *request,
		struct err_text *e, struct session **ret);
/* Ends the session at once and frees it. Completes its file. No-op for NULL. */
void session_free(struct session *s);

/* Sets up the data sources that match, and starts unless the config defers that. Call once. */
void session_setup_and_start(struct session *s);
/* No-op unless the session is CONFIGURED. */
void session_start(struct session *s);
/* Stops the data sources, without a flush. at_once: does not wait for acknowledgements. No-op if
 * the session is DISABLED. */
void session_disable(struct session *s, bool at_once);
/* Sets the error that the owner gets when the session ends, unless there is one. */
void session_set_error(struct session *s, const char *text);
/* Sets TraceStats.end_reason, unless it is set. session_set_error() sets it, too. */
void session_set_end_reason(struct session *s, const char *reason);

/* Replaces the producer name filters of the session's data sources by those of another config, and
 * sets up the data sources of producers that match now. Stops no data source. Returns 0, or -errno
 * with nothing changed, and sets e. */
int session_change_producers(struct session *s, const Pb__TraceConfig *with, struct err_text *e);

/* ---- owners ---- */

/* Detaches the session from its owner. Another consumer of the same user may attach to it by the
 * key; key NULL: none. Returns 0, -EEXIST (another detached session of the user has the key) or
 * -ENOMEM. */
int session_detach(struct session *s, const char *key);
/* Returns the detached session of this user with this key, or NULL. */
struct session *session_find_detached(struct sessions *sessions, uid_t uid, const char *key);
/* Gives the detached session a new owner. */
void session_attach(struct session *s, struct session_owner owner);

/* Adds a watch, which is called when the session ends. */
void session_watch(struct session *s, struct session_watch *w);
void session_unwatch(struct session *s, struct session_watch *w);

/* ---- flushes ---- */

struct flush_request {
	uint32_t timeout_ms; /* 0: the config's */
	uint64_t flags;
	/* Only data sources that write to these buffers flush; NULL: all. */
	bool (*includes)(void *ctx, uint16_t buffer_id);
	/* Called once, from the loop, with the call below. May disable or free the session. NULL is
	 * allowed. */
	void (*done)(void *ctx, const struct ipc_call *call, bool success);
	void *ctx;
	struct ipc_call call;
};

/* Begins a flush; the request is copied. Returns 0; -EINVAL (the session is not started), -EBUSY
 * (LIMIT_PENDING_FLUSHES are pending), -EDQUOT or -ENOMEM: then done is not called. */
int session_flush(struct session *s, const struct flush_request *request);
/* Calls done(false) for the requests with this ctx, now. Their flushes continue. */
void session_reject_flushes(struct session *s, const void *ctx);
/* Does not call done for the requests with this ctx. Their flushes continue. */
void session_remove_flushes(struct session *s, const void *ctx);

/* ---- properties ---- */

uint64_t session_id(const struct session *s);
uid_t session_uid(const struct session *s);
enum session_state session_state(const struct session *s);
const char *session_state_name(enum session_state state);
const Pb__TraceConfig *session_config(const struct session *s);
/* Returns the error that ended the session, or NULL. */
const char *session_error(const struct session *s);
/* Returns true in DISABLED and CLONED, unless a file is still open. */
bool session_has_ended(const struct session *s);
bool session_have_all_started(const struct session *s);

size_t session_n_instances(const struct session *s);
void session_each_instance(const struct session *s,
			   void (*fn)(void *ctx, const struct source_instance *i), void *ctx);

/* Borrowed. */
struct trace *session_trace(const struct session *s);
/* Returns false if the trace goes into a file, or the session waits for a trigger or is only for
 * clones. */
bool session_is_readable(const struct session *s);
/* Replaces buffer i of the trace by another one, also for the producers that write to it. They are
 * asked to begin a new incremental state. Returns the old buffer, which the caller then owns. */
struct trace_buffer *session_replace_buffer(struct session *s, size_t i, struct trace_buffer *with);

/* Borrowed; NULL without write_into_file. */
struct file_writer *session_file(const struct session *s);
/* Returns true while the session has a file that is not complete: session_free() would wait for
 * it. */
bool session_writes_file(const struct session *s);
/* Sets the file of a clone, which the session then owns. */
void session_adopt_file(struct session *s, struct file_writer *file);

/* Writes the fields of TraceStats of a struct session. Once max_bytes are written, it adds no more
 * writer_stats. */
void session_put_stats(void *session, struct pb_enc *e, size_t max_bytes);
/* Writes a SourceDeparture under this field for each data source that lost its producer. */
void session_put_departures(const struct session *s, uint32_t field, struct pb_enc *e);
