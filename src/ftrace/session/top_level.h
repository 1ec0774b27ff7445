/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "client/producer/data_source.h"
#include "ftrace/events/event_table.h"
#include "ftrace/events/ftrace_config.h"
#include "ftrace/options/function_graph.h"
#include "ftrace/options/setup.h"
#include "ftrace/ring/ring.h"

/*
 * Records that a session with an own instance needs from the top level, because the kernel writes
 * them nowhere else:
 *
 *	ftrace/print, raw_data	on kernels without options/copy_trace_marker
 *	ftrace/bprint, bputs	unless the session's instance has options/trace_printk_dest on
 *	function graph		on kernels without a tracer per instance
 *
 * The top level is used only while no other process uses it, and is restored afterwards. One
 * reader serves all sessions of this process.
 */
struct top_level {
	struct event_selection events; /* events that come from the top level */
	struct instance
		instance; /* attached; instance_is_made() is false if no event comes from there */
	struct event_table table;
	struct page_encoder *encoder; /* owned */
	struct ring_listener ring; /* with that encoder */
};

/* Moves the events that come from the top level out of the session's selection. Returns 0 or
 * -ENOMEM. */
int top_level_move_events(struct top_level *t, struct event_selection *events,
			  const struct setup *s);

struct top_level_options {
	const struct setup *setup; /* of the session */
	const struct ftrace_settings *settings;
	const struct ds_env *env;
	struct writer *writer; /* borrowed until top_level_close */
	struct function_graph *graph;
};

/* Opens the top level if there are such events; nothing is recorded yet. Reports failures. Returns
 * 0, -ENOMEM or -ECANCELED. */
int top_level_open(struct top_level *t, const struct top_level_options *options);
static inline bool top_level_is_open(const struct top_level *t)
{
	return t->ring.ring;
}
/* Restores the top level. Returns -EBUSY if the tracer cannot be restored because another process
 * reads the rings. Zeroed is allowed. */
int top_level_close(struct top_level *t);

/* Start and stop the recording, if the session uses the top level. For other sessions that use it,
 * the kernel goes on recording after the stop. */
void top_level_start(const struct top_level *t);
void top_level_stop(const struct top_level *t);
