/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "client/producer/data_source.h"
#include "ftrace/events/compat_syscalls.h"
#include "ftrace/events/event_table.h"
#include "ftrace/options/event_triggers.h"
#include "ftrace/options/event_enable.h"
#include "ftrace/options/function_graph.h"
#include "ftrace/tracefs/instance.h"
#include "ftrace/options/dynevents.h"
#include "ftrace/events/ftrace_config.h"
#include "ftrace/ring/ring.h"
#include "ftrace/session/ftrace_stats.h"
#include "ftrace/session/session_symbols.h"
#include "ftrace/options/setup.h"
#include "ftrace/session/top_level.h"
#include "ftrace/events/page_encode.h"

#define SESSION_RINGS_MAX 4

/*
 * All that one tracing session has of the kernel and for its records: the instance, the events that
 * are on in it, their rows, the open rings, the translator. What
 * happens in between is ftrace_source.c's.
 */
struct ftrace_session {
	struct ftrace_settings settings;
	struct setup_errors errors;
	struct instance instance; /* not made when reports.problem says why */
	struct setup setup; /* how it was set up; its config is the session's own copy */
	struct dynevents made; /* events of its own, for which the config asks */
	struct event_selection events; /* what is to be on */
	struct event_watch watch;
	struct event_table table;
	struct compat_syscalls *compat; /* owned; NULL: none can be, or are looked for */
	struct event_triggers triggers; /* how the recording begins and pauses */
	struct session_symbols symbols;
	struct page_encoder *encoder; /* owned; NULL in that case */
	struct ring_listener
		ring; /* of the instance, with that translator; not open in that case */
	struct top_level top; /* what comes from the top level */
	struct function_graph graph;
	/* Borrowed: all that records come by, the one above and those that a step of setting up has
	 * added. Their ops and ctx are ftrace_source.c's. */
	struct ring_listener *listeners[SESSION_RINGS_MAX];
	unsigned n_listeners;
	uint32_t buffer_kb; /* of a ring, as the kernel was asked for it */
	struct ftrace_stats_extra extra; /* whoever knows one of them keeps it up to date */
};

/* Reads the config, which is copied, and changes nothing. 0 or -ENOMEM. */
int ftrace_session_init(struct ftrace_session *s, const struct ds_env *env, uint64_t session_id,
			bool for_root, const Pb__FtraceConfig *config);
/*
 * Makes the instance and turns the events of the config on in it; nothing is recorded yet. What
 * cannot be had is in s->reports. Once, after ftrace_session_init; writer is borrowed for the
 * session's life. May be done on the side: given up there, it leaves tracefs as it was, and has a
 * problem that says so.
 */
void ftrace_session_set_up(struct ftrace_session *s, const struct ds_env *env,
			   struct writer *writer);
/* Leaves tracefs as it was found, in turns where it is done on the side. After ftrace_session_init,
 * even if that failed; a second time is fine; no bundle is open. */
void ftrace_session_close(struct ftrace_session *s);
