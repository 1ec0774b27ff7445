/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "ftrace/options/setup.h"

/*
 * FtraceConfig.enable_function_graph and what belongs to it: the kernel's tracer of functions, whose
 * records are ftrace/funcgraph_entry and funcgraph_exit. Since 6.11 an instance can have it; before,
 * the top level alone (top_level.h). Which functions is a matter of each instance, below which others
 * and how deep a matter of the whole kernel: that is used only where nobody else does.
 *
 * A tracer cannot be changed while the rings of its instance are open.
 */
struct function_graph {
	struct instance globals; /* the top level, lent: of the whole kernel */
};

/* Adds the tracer's events to a selection, where the config asks for it and the kernel has it at
 * all; else reports. 0 or -ENOMEM. */
int function_graph_select(struct event_selection *events, const struct setup *s);
void function_graph_deselect(struct event_selection *events);
bool function_graph_event(const struct event_name *e);

/* Can this instance have the tracer? */
bool function_graph_is_offered(const struct instance *i);

/*
 * Sets filters, roots, depth and the tracer in s->instance, whose recording is off. 0; or -errno,
 * reported: nothing is traced, as it would be other functions than those asked for. (Filters that
 * match nothing are reported, and the others count.)
 */
int function_graph_set(struct function_graph *g, const struct setup *s);
/* After the instance was removed. Zeroed is fine. */
void function_graph_end(struct function_graph *g);
