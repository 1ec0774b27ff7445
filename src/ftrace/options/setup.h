/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "config/ftrace/ftrace_config.pb-c.h"
#include "ftrace/events/event_select.h"
#include "ftrace/events/ftrace_config.h"
#include "ftrace/tracefs/instance.h"
#include "subjects/subject.h"

/* The input of every step of a session's setup (ftrace_session.c has their order). A step applies
 * one option of the config. It reports a failure to errors, and the other steps continue. A step
 * returns 0, or -errno if the session would record something other than requested without that
 * option; then errors->fatal has the reason, and nothing is recorded. */
struct setup {
	const char *root; /* of tracefs; NULL: not available */
	const char *proc_root;
	const char *sys_root;
	const char *state_root; /* see struct ds_env */
	uint64_t session_id;
	bool for_root; /* requested by root: see ds_consumer_is_root */
	const Pb__FtraceConfig *config; /* never NULL */
	const Pb__SubjectConfig *subject; /* NULL: all threads, or those of the config */
	const struct subject *groups; /* the groups that subject's names refer to; NULL: none */
	const struct instance *instance;
	struct setup_errors *errors;
	bool functions; /* the instance has the function graph tracer */
	/* The selected events; set for the steps after the selection. */
	const struct event_selection *events;
	/* The events appeared while the session records; they are not all of its events. */
	bool later;
};
