/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "client/producer/data_source.h"
#include "ftrace/events/event_table.h"
#include "ftrace/options/function_graph.h"
#include "ftrace/ring/ring.h"
#include "ftrace/events/ftrace_config.h"
#include "ftrace/options/setup.h"

/*
 * What a session that records in an instance of its own has of the top level: records that the
 * kernel puts nowhere else.
 *
 *	ftrace/print, raw_data	on kernels without options/copy_trace_marker
 *	ftrace/bprint, bputs	unless the session's instance has options/trace_printk_dest on
 *	function graph		on kernels whose instances cannot have that tracer
 *
 * It is used only while nobody else uses it (top_level.h) and is left as it was; one reader serves
 * all sessions of this process.
 */
struct top_level {
	struct event_selection events; /* that have to come from there */
	struct instance place; /* lent; not made: nothing comes from there */
	struct event_table table;
	struct page_encoder *encoder; /* owned */
	struct ring_listener ring; /* with that translator */
};

/* Moves the events that have to come from there out of the session's. 0 or -ENOMEM. */
int top_level_split(struct top_level *t, struct event_selection *events, const struct setup *s);

struct top_level_options {
	const struct setup *setup; /* of the session */
	const struct ftrace_settings *settings;
	const struct ds_env *env;
	struct writer *writer; /* borrowed until top_level_close */
	struct function_graph *graph;
};

/* Opens it, if there are such events; nothing is recorded yet. What cannot be had is reported. 0 or
 * -ENOMEM. */
int top_level_open(struct top_level *t, const struct top_level_options *options);
static inline bool top_level_is_open(const struct top_level *t)
{
	return t->ring.ring;
}
/* The top level is as it was; -EBUSY: but for the tracer, as somebody reads the rings. Zeroed is
 * fine. */
int top_level_close(struct top_level *t);

void top_level_start(const struct top_level *t);
void top_level_stop(const struct top_level *t);
