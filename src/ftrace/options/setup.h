/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "config/ftrace/ftrace_config.pb-c.h"
#include "ftrace/events/event_select.h"
#include "ftrace/tracefs/instance.h"
#include "ftrace/events/ftrace_config.h"

/*
 * What every step of setting a session up gets (ftrace_session.c has their order). A step does one
 * option of the config; what cannot be had goes to reports in words, and the other steps go on. A
 * step gives 0, or -errno where a session without it would record something else than what was
 * asked for; then reports->problem says why, and nothing is recorded.
 */
struct setup {
	const char *root; /* of tracefs; NULL: there is none for us */
	const char *proc_root;
	const char *state_root; /* see struct ds_env */
	uint64_t session_id;
	bool for_root; /* root asks for it: see ds_consumer_is_root */
	const Pb__FtraceConfig *config; /* never NULL */
	const struct instance *instance;
	struct setup_errors *errors;
	bool functions; /* the instance has the tracer of functions */
	/* The events that are asked for: of the steps after they have been selected. */
	const struct event_selection *events;
	/* They came while the session records, and are not all of its events. */
	bool later;
};
