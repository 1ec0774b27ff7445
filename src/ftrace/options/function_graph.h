/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "ftrace/options/setup.h"

/*
 * FtraceConfig.enable_function_graph and related options: the kernel's function graph tracer,
 * whose records are ftrace/funcgraph_entry and funcgraph_exit. Since Linux 6.11 each instance can
 * have the tracer; before, only the top level (top_level.h). Function filters belong to an
 * instance. Graph roots and depth are global to the kernel and are used only if no other process
 * uses them.
 *
 * The tracer cannot be changed while the rings of its instance are open.
 */
struct function_graph {
	struct instance globals; /* the attached top level, for the global settings */
};

/* Adds the tracer's events if the config requests the tracer and the kernel has it; otherwise
 * reports. Returns 0 or -ENOMEM. */
int function_graph_select(struct event_selection *events, const struct setup *s);
/* Removes the tracer's events. */
void function_graph_deselect(struct event_selection *events);
/* Returns true for an event that the tracer writes. */
bool event_is_funcgraph(const struct event_name *e);

/* Sets the function filters and the tracer in s->instance, which must not be recording, and the
 * roots and the depth at the top level. Reports filters that match nothing and applies the others.
 * Returns 0, or -errno if functions other than those requested would be traced; then none is
 * traced. Each error is reported, except some -ENOMEM. */
int function_graph_set(struct function_graph *g, const struct setup *s);
/* Restores the global settings. Call it after the instance is removed. Zeroed is allowed. */
void function_graph_end(struct function_graph *g);
