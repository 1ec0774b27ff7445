// SPDX-License-Identifier: Apache-2.0
#include "ftrace/options/session_limits.h"

#include "ftrace/options/atrace_categories.h"
#include "ftrace/options/event_filters.h"
#include "ftrace/options/event_triggers.h"
#include "ftrace/options/traced_cpus.h"
#include "ftrace/options/traced_tids.h"
#include "ftrace/options/tracefs_options.h"

int session_limits_set(const struct setup *s, const char *proc_root)
{
	int r;

	if (instance_is_own(s->instance))
		tracefs_options_reset(s->instance);
	tracefs_options_set(s);
	r = traced_cpus_set(s);
	return r ? r : traced_tids_set(s, proc_root);
}

int session_limits_set_events(struct event_selection *events, const struct setup *s)
{
	int r = atrace_categories_apply(events, s);

	if (!r)
		r = syscall_events_apply(events, s);
	if (!r)
		r = event_filters_apply(events, s);
	if (!r)
		r = tracefs_options_imply(events, s);
	return r ? r : event_triggers_imply(events, s);
}
