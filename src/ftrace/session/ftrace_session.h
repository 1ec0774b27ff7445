/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "client/producer/data_source.h"
#include "ftrace/events/compat_syscalls.h"
#include "ftrace/events/event_table.h"
#include "ftrace/events/ftrace_config.h"
#include "ftrace/events/page_encode.h"
#include "ftrace/options/dynevents.h"
#include "ftrace/options/event_enable.h"
#include "ftrace/options/event_triggers.h"
#include "ftrace/options/function_graph.h"
#include "ftrace/options/setup.h"
#include "ftrace/ring/ring.h"
#include "ftrace/ring/ring_config.h"
#include "ftrace/session/ftrace_stats.h"
#include "ftrace/session/session_instance.h"
#include "ftrace/session/session_symbols.h"
#include "ftrace/session/top_level.h"
#include "ftrace/tracefs/instance.h"

#define SESSION_RINGS_MAX 4

/* The kernel objects and the record pipeline of one tracing session: its instance, the enabled
 * events, their table, the open rings, the page encoder. ftrace_source.c drives it from start to
 * stop. */
struct ftrace_session {
	struct ftrace_settings settings;
	struct setup_errors errors;
	struct instance instance; /* not made if errors.fatal is set */
	struct ring_share share; /* reservation for the instance's rings */
	struct subject groups; /* the groups that the config names */
	struct setup setup; /* input of the setup steps; its config is the session's own copy */
	struct dynevents made; /* dynamic events that the config requests */
	struct event_selection events; /* events to record */
	struct event_watch watch;
	struct event_table table;
	struct compat_syscalls *compat; /* owned; NULL: not applicable or not requested */
	struct event_triggers triggers; /* how the recording starts and pauses */
	struct session_symbols symbols;
	struct page_encoder *encoder; /* owned; NULL if errors.fatal is set */
	/* of the instance, with that encoder; not open if errors.fatal is set */
	struct ring_listener ring;
	struct top_level top; /* records that come from the top level */
	struct function_graph graph;
	/* Borrowed: all sources of records, that is, the ring above and those that setup steps
	 * added. ftrace_source.c sets their ops and ctx. */
	struct ring_listener *listeners[SESSION_RINGS_MAX];
	unsigned n_listeners;
	uint32_t buffer_kb; /* KiB of a ring that was requested of the kernel */
	uint32_t ring_kb; /* KiB of a ring, as read back after the setup */
	struct foreign_changes foreign;
	struct ftrace_stats_extra extra; /* each part of the session updates its fields */
};

/* Copies the config and reserves memory for the rings within the limits of the consumer's user;
 * changes nothing in tracefs. consumer_uid: see ds_consumer_uid. Returns 0 or -ENOMEM. */
int ftrace_session_init(struct ftrace_session *s, const struct ds_env *env, uint64_t session_id,
			uint32_t consumer_uid, const Pb__DataSourceConfig *config);
/* Makes the instance and enables the config's events in it; nothing is recorded yet. Reports
 * failures to s->errors. Call it once, after ftrace_session_init; writer is borrowed for the
 * lifetime of the session. May run in a coroutine: if that is cancelled, tracefs is restored and a
 * fatal setup error says so. */
void ftrace_session_set_up(struct ftrace_session *s, const struct ds_env *env,
			   struct writer *writer);
/* Restores tracefs, in time slices if it runs in a coroutine. Call it after ftrace_session_init,
 * even after a failed one; a second call is a no-op. No bundle may be open. */
void ftrace_session_close(struct ftrace_session *s);
