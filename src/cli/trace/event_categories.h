/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>

#include "common/tracing_service_state.pb-c.h"
#include "common/track_event_descriptor.pb-c.h"

/* A category of track events that a producer has registered. Everything is borrowed from the state
 * of the service. */
struct event_category {
	const Pb__TrackEventCategory *category; /* has a name */
	const Pb__TracingServiceState__Producer *producer; /* NULL: the state does not name it */
};

/* Returns the name of the producer, "?" if the state does not name it. */
const char *event_category_program(const struct event_category *c);

/* Lists the categories of all producers, sorted by name and program. Returns 0 and sets *ret (owned
 * by the caller, free()) and *ret_n, or -ENOMEM. */
int event_categories_list(const Pb__TracingServiceState *state, struct event_category **ret,
			  size_t *ret_n);
