/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "config/trace_config.pb-c.h"

struct producer_port;
struct received_trigger;
struct session;

/* Callbacks of a session: to its owner, and to objects that depend on the session. */

/*
 * Data sources at work for a session: one instance for each match of a config's data source with a
 * registered one.
 *
 *	CONFIGURED --start--> STARTING --notify--> STARTED --stop--> STOPPING --notify--> STOPPED
 *	                  (will notify, else at once)          (will notify, else at once)
 */
enum instance_state {
	INSTANCE_CONFIGURED,
	INSTANCE_STARTING,
	INSTANCE_STARTED,
	INSTANCE_STOPPING,
	INSTANCE_STOPPED,
};

struct source_instance {
	TAILQ_ENTRY(source_instance) link; /* in its session */
	TAILQ_ENTRY(source_instance) of_producer; /* in its producer's list */
	struct session *session; /* borrowed: it owns us */
	uint64_t id; /* service-wide */
	enum instance_state state;
	struct producer_port *producer; /* borrowed: the instance is removed before it is freed */
	const Pb__TraceConfig__DataSource *config; /* borrowed from the session's config */
	size_t config_index; /* index of config in the list of all data sources */
	uint64_t source_serial; /* registered_source.serial */
	uint16_t buffer_id; /* the index of its buffer in the whole service */
	/* as the source was registered */
	bool will_notify_on_start, will_notify_on_stop;
	bool handles_incremental_state_clear;
	bool no_flush;
	uint64_t cleared_at; /* bytes_written of its buffer at the last ClearIncrementalState */
};

/* Callbacks to the owner of a session, a consumer. */
struct session_owner_ops {
	/* The session is DISABLED; or, for a clone, its file is written. error: NULL if there was
	 * none. May free the session. */
	void (*ended)(void *ctx, const char *error);
	void (*all_started)(void *ctx);
	void (*instance_changed)(void *ctx, const struct source_instance *i);
	/* The session should be cloned now. */
	void (*clone_due)(void *ctx, const struct received_trigger *trigger);
	/* Frees the session, because one with a higher exclusive_prio starts. */
	void (*abort)(void *ctx, const char *reason);
};

struct session_owner {
	const struct session_owner_ops *ops;
	void *ctx; /* borrowed: it owns the session */
};

/* Embedded in objects that depend on a session. */
struct session_watch {
	TAILQ_ENTRY(session_watch) link;
	/* Called before the session is freed. Must call session_unwatch(). */
	void (*session_ends)(struct session_watch *w);
};
